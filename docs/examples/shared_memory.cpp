// Examples of docs/shared-memory.md.
#include "example.h"

#include <cmath>

namespace {

// region: reverse
const fx::Kernel reverse{"reverse", [](fx::Tensor x, fx::Tensor y) {
  struct Storage {
    fx::Array<fx::Float32, 256, 16> values; // 256 floats, aligned to 16 bytes
  };
  auto shared = fx::SharedAllocator().allocate<Storage>();
  auto s = shared.values.view(); // a tensor of 256

  auto tid = fx::thread_idx().x;
  auto first = fx::block_idx().x * 256;
  s(tid) = x(first + tid);
  fx::gpu::barrier(); // all have written before one reads
  y(first + tid) = s(255 - tid);
}};
// endregion

// region: computed
/// y = x[255 - i], for any type of elements.
const fx::Kernel reverse_any{"reverse_any", [](fx::Tensor x, fx::Tensor y) {
  fx::SharedAllocator shared;
  auto s = shared.tensor(x.dtype(), fx::make_layout(256)); // (256)
  auto tid = fx::thread_idx().x;
  s(tid) = x(tid);
  fx::gpu::barrier();
  y(tid) = s(255 - tid);
}};
// endregion

// region: overlay
/// y = x reversed, and the sum of each four neighbours after it. The halves are not needed any
/// more when the sums come.
const fx::Kernel two_phases{"two_phases", [](fx::Tensor x, fx::Tensor y) {
  fx::SharedAllocator shared;
  auto [halves, sums] = shared.overlay({{fx::f16, fx::make_layout(256)},   // (256)
                                        {fx::f32, fx::make_layout(256)}}); // (256)
  auto tid = fx::thread_idx().x;
  halves(tid) = x(tid).to(fx::f16);
  fx::gpu::barrier();
  fx::Numeric opposite = halves(255 - tid).to(fx::f32);
  fx::gpu::barrier(); // the last read of the halves, then the first write of the sums
  sums(tid) = opposite;
  fx::gpu::barrier();
  fx::Numeric sum =
      sums(tid / 4 * 4) + sums(tid / 4 * 4 + 1) + sums(tid / 4 * 4 + 2) + sums(tid / 4 * 4 + 3);
  y(tid) = opposite;
  y(256 + tid) = sum;
}};
// endregion

// region: transpose
/// y = x^T, in tiles of 32 x 32, with 8 rows of 32 threads. `layout` places the tile in shared
/// memory.
template <class AnyLayout>
void transpose_tile(fx::Tensor x, fx::Tensor y, const AnyLayout &layout) {
  constexpr int T = 32, rows = 8;
  fx::SharedAllocator allocator;
  auto memory = allocator.allocate(fx::cosize(layout).value() * 4).recast(fx::f32);
  auto s = fx::make_view(memory, layout); // (T, T)

  auto [bm, bn, bz] = fx::block_idx();
  auto row = fx::thread_idx().x / T, column = fx::thread_idx().x % T;
  auto gx = fx::flat_divide(x, {T, T})(_, _, bm, bn); // (T, T)
  auto gy = fx::flat_divide(y, {T, T})(_, _, bn, bm); // (T, T)
  for (int i = 0; i < T; i += rows)
    s(row + i, column) = gx(row + i, column);
  fx::gpu::barrier();
  for (int i = 0; i < T; i += rows)
    gy(row + i, column) = s(column, row + i);
}

const fx::Kernel plain{"transpose_plain", [](fx::Tensor x, fx::Tensor y) {
  transpose_tile(x, y, fx::make_layout({32, 32}, {32, 1}));
}};
const fx::Kernel padded{"transpose_padded", [](fx::Tensor x, fx::Tensor y) {
  transpose_tile(x, y, fx::make_layout({32, 32}, {33, 1}));
}};
const fx::Kernel swizzled{"transpose_swizzled", [](fx::Tensor x, fx::Tensor y) {
  transpose_tile(
      x, y, fx::make_composed_layout(fx::Swizzle(5, 0, 5), fx::make_layout({32, 32}, {32, 1})));
}};
// endregion

// region: dynamic
const fx::Kernel histogram{"histogram", [](fx::Tensor x, fx::Tensor counts, fx::Int32 bins) {
  auto memory = fx::get_dyn_shared(fx::i32);                // as much as the launch asks for
  auto s = fx::make_view(memory, fx::make_layout(bins, 1)); // (bins)
  auto tid = fx::thread_idx().x;
  for (fx::Int32 b : fx::range(tid, bins, 64))
    s(b) = 0;
  fx::gpu::barrier();
  for (fx::Int32 i : fx::range(tid, x.shape()[0], 64))
    fx::atomic(fx::AtomicOp::add, memory + x(i), fx::Int32(1), "workgroup");
  fx::gpu::barrier();
  for (fx::Int32 b : fx::range(tid, bins, 64))
    counts(b) = s(b);
}};
// endregion

// region: stages
/// y[i] = x[i] + x[i + 1] for rows of 64, a row after the other: while a row is worked on from one
/// half of the shared memory, the next one goes into the other half.
const fx::Kernel neighbours{"neighbours", [](fx::Tensor x, fx::Tensor y) {
  struct Storage {
    fx::Array<fx::Float32, 2 * 64> rows;
  };
  auto shared = fx::SharedAllocator().allocate<Storage>();
  auto s = shared.rows.view(fx::make_layout({64, 2}, {1, 64})); // (64, stages)
  auto tid = fx::thread_idx().x;
  fx::Int32 M(x.shape()[0]);

  s(tid, 0) = x(0, tid);
  fx::gpu::barrier();
  for (fx::Int32 row : fx::range(M)) {
    auto stage = row % 2;
    fx::if_(row + 1 < M, [&] { s(tid, 1 - stage) = x(row + 1, tid); });
    y(row, tid) = s(tid, stage) + s((tid + 1) % 64, stage);
    fx::gpu::barrier(); // the next row is whole, and this one is not needed any more
  }
}};
// endregion

/// Cycles that the launch lost to bank conflicts of the LDS; -1 on a GPU, which does not count
/// them.
template <class Kernel> double transposes(const Kernel &kernel) {
  auto x = fx::DeviceArray<float>::random({64, 96}, 1);
  fx::DeviceArray<float> y({96, 64});
  y.poison();
  double lost = -1;
  // region: conflicts
  auto launch = [&] { kernel(x, y).launch({.grid = {2, 3}, .block = 256}); };
  fx::Device device = fx::Device::current();
  if (device.is_emulator())
    lost = double(device.count_launches(launch).at(0)["SQ_LDS_BANK_CONFLICT"]);
  else
    launch();
  // endregion
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t m = 0; m < 64; ++m)
    for (std::size_t n = 0; n < 96; ++n)
      REQUIRE(out[n * 64 + m] == in[m * 96 + n]);
  return lost;
}

} // namespace

TEST_CASE("shared memory: a block exchanges values", "[shared]") {
  auto x = fx::DeviceArray<float>::random({512}, 1);
  fx::DeviceArray<float> y({512});
  y.poison();
  reverse(x, y).launch({.grid = 2, .block = 256});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < 512; ++i)
    REQUIRE(out[i] == in[i / 256 * 256 + 255 - i % 256]);
}

TEST_CASE("shared memory: computed types and sizes", "[shared]") {
  std::vector<int> values(256);
  for (std::size_t i = 0; i < 256; ++i)
    values[i] = int(i * 3);
  auto x = fx::DeviceArray<int>::from_host(values, {256});
  fx::DeviceArray<int> y({256});
  y.poison();
  reverse_any(x, y).launch({.block = 256});
  const auto out = y.to_host();
  for (std::size_t i = 0; i < 256; ++i)
    REQUIRE(out[i] == values[255 - i]);
}

TEST_CASE("shared memory: two phases on the same bytes", "[shared]") {
  auto x = fx::DeviceArray<float>::random({256}, 1);
  fx::DeviceArray<float> y({512});
  y.poison();
  auto compiled = two_phases(x, y).compile({.block = 256});
  CHECK(compiled.shared_bytes() == 1024);
  compiled(x, y).launch({.block = 256});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < 256; ++i)
    REQUIRE(out[i] == float(fx::half_t(in[255 - i])));
  for (std::size_t i = 0; i < 256; ++i)
    REQUIRE(out[256 + i] ==
            out[i / 4 * 4] + out[i / 4 * 4 + 1] + out[i / 4 * 4 + 2] + out[i / 4 * 4 + 3]);
}

TEST_CASE("shared memory: more than there is", "[shared]") {
  // region: too-much
  const fx::Kernel too_much{"too_much", [](fx::Tensor x) {
    fx::SharedAllocator allocator;
    auto a = allocator.allocate<fx::Array<fx::Float16, 128 * 128>>().view();
    auto b = allocator.allocate<fx::Array<fx::Float16, 256 * 128>>().view();
    auto tid = fx::thread_idx().x;
    a(tid) = x(tid);
    b(tid) = x(tid);
    fx::gpu::barrier();
    x(tid) = a(255 - tid) + b(255 - tid);
  }};
  // endregion
  fx::half_t *unknown = nullptr;
  example::expectOutput("shared-too-much.txt", example::messageOf<fx::TraceError>([&] {
    too_much(fx::tensor(unknown, {256})).compile({.block = 256, .arch = "gfx942"});
  }));
}

TEST_CASE("shared memory: bank conflicts", "[shared]") {
  const double in_one_bank = transposes(plain), in_padded = transposes(padded);
  if (fx::Device device = fx::Device::current(); device.is_emulator() && device.arch() == "gfx942")
    CHECK((in_one_bank == 2976 && in_padded == 192)); // as the guide says
  CHECK((in_one_bank == -1 || in_one_bank > 10 * in_padded));
  CHECK(transposes(swizzled) <= 0);
}

TEST_CASE("shared memory: as much as the launch says", "[shared]") {
  std::vector<int> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = int(i * i % 37);
  auto x = fx::DeviceArray<int>::from_host(values, {1000});
  fx::DeviceArray<int> counts({37});
  counts.poison();
  // region: dynamic-launch
  const int bins = 37;
  histogram(x, counts, bins).launch({.block = 64, .smem = bins * sizeof(int)});
  // endregion
  std::vector<int> expected(37);
  for (int v : values)
    ++expected[std::size_t(v)];
  CHECK(counts.to_host() == expected);
}

TEST_CASE("shared memory: stages", "[shared]") {
  auto x = fx::DeviceArray<float>::random({9, 64}, 4);
  fx::DeviceArray<float> y({9, 64});
  y.poison();
  neighbours(x, y).launch({.block = 64});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < out.size(); ++i)
    REQUIRE(out[i] == in[i] + in[i / 64 * 64 + (i + 1) % 64]);
}
