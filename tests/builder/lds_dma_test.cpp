// Loads into LDS that bypass the registers: the places that lanes may have.
#include "errors_at.h"

namespace fx = flydsl;
using namespace trace_test;
using fx::_;

namespace {
/// Partitions a tile of (32, 64) halves in LDS for 256 threads that load 8 halves each.
/// `threads` and `values` are as make_tiled_copy_tv takes them.
template <class AnyLayout>
std::string partitioned(const AnyLayout &lds, const fx::Layout &threads, const fx::Layout &values,
                        int bits = 128) {
  return errorOf(
      [=](fx::Tensor a) {
        auto atom = fx::make_copy_atom(fx::rocdl::BufferLoadAsyncLDS(bits), fx::f16);
        auto thr = fx::make_tiled_copy_tv(atom, threads, values).get_slice(fx::thread_idx().x);
        auto s = fx::SharedAllocator().tensor(fx::f16, lds);
        fx::copy(atom, thr.partition_S(fx::rocdl::make_buffer_tensor(a)), thr.partition_D(s));
      },
      {tensorArg(fx::f16, {fix(32), fix(64)}, {fix(64), fix(1)}, 16)},
      {.block = {256, 1, 1}, .target = "gfx950"});
}
const fx::Layout rowMajor = fx::make_layout({32, 64}, {64, 1});
} // namespace

TEST_CASE("lanes that lie one after another in LDS") {
  CHECK(partitioned(rowMajor, fx::make_layout({32, 8}, {8, 1}), fx::make_layout({1, 8}, {8, 1})) ==
        "no error");
}

TEST_CASE("lanes whose places in LDS are not in their order are refused") {
  // The threads go down the columns first.
  CHECK_THAT(
      partitioned(rowMajor, fx::make_layout({32, 8}, {1, 32}), fx::make_layout({1, 8}, {8, 1})),
      Catch::Contains("partition_D of ") && Catch::Contains("writes lane after lane, 8 elements "
                                                            "each, but lane 1's place is 64 "
                                                            "elements after lane 0's, not 8"));
  // Rows are padded: the ninth lane begins the second one.
  CHECK_THAT(partitioned(fx::make_layout({32, 64}, {72, 1}), fx::make_layout({32, 8}, {8, 1}),
                         fx::make_layout({1, 8}, {8, 1})),
             Catch::Contains("lane 8's place is 72 elements after lane 0's, not 64"));
  // A swizzle moves the second row's chunks.
  CHECK_THAT(partitioned(fx::make_composed_layout(fx::Swizzle(3, 3, 3), rowMajor),
                         fx::make_layout({32, 8}, {8, 1}), fx::make_layout({1, 8}, {8, 1})),
             Catch::Contains("lane 8's place is 72 elements after lane 0's, not 64") &&
                 Catch::Contains("swizzle the source instead of the destination"));
  // Each thread has 8 neighbours, which a narrow load takes in four calls.
  CHECK_THAT(
      partitioned(rowMajor, fx::make_layout({32, 8}, {8, 1}), fx::make_layout({1, 8}, {8, 1}), 32),
      Catch::Contains("writes lane after lane, 2 elements each, but lane 1's place is 8 "
                      "elements after lane 0's"));
}
