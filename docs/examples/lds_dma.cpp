// Examples of docs/lds-dma.md.
#include "example.h"

#include <flydsl/rocdl/schedule.h>
#include <flydsl/rocdl/tensor_gather.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <sstream>

namespace {
constexpr int threads = 256;

// region: ring
/// y[i] = the sum of x[i] over all tiles of 256 threads x width, where a thread adds what the
/// thread opposite of it has loaded. While a tile is read, the two after it are under way.
const fx::Kernel sum_tiles{
    "sum_tiles", [](fx::Tensor x, fx::Tensor y, fx::Int32 tiles, fx::Constexpr<int> width) {
  constexpr int stages = 3;
  auto tid = fx::thread_idx().x;
  auto tile = fx::make_layout({width, threads}); // (width, threads)

  fx::SharedAllocator shared;
  std::vector<fx::Tensor> stage;
  for (int s = 0; s < stages; ++s)
    stage.push_back(shared.tensor(fx::f32, tile));

  auto from = fx::rocdl::make_buffer_tensor(x, {.max_size = false}).iter();
  auto atom = fx::make_copy_atom(fx::rocdl::BufferCopyLDS(32 * width), fx::f32);
  auto fill = [&](int s, fx::Int32 number) {
    auto own = from + (number * threads + tid) * width;
    fx::copy(atom, fx::make_view(own, fx::make_layout(width)), stage[s](_, tid));
  };

  auto sum = fx::make_rmem_tensor(width, fx::f32);
  sum.fill(0.0f);
  for (int s = 0; s < stages - 1; ++s)
    fill(s, fx::Int32(s));
  for (fx::Int32 first : fx::range(0, tiles, stages))
    for (int s = 0; s < stages; ++s) {
      // One load may still be under way, the next tile's, and no read of the tile before.
      fx::rocdl::s_waitcnt({.vmcnt = stages - 2, .lgkmcnt = 0});
      fx::rocdl::s_barrier(); // what holds of this wave holds of all
      fill((s + stages - 1) % stages, first + (s + stages - 1));
      sum.store(sum.load() + stage[s](_, threads - 1 - tid).load());
    }
  fx::make_view(y.iter() + tid * width, fx::make_layout(width)).store(sum.load());
}};
// endregion

/// The waits, barriers and loads into LDS behind the first branch: those of the loop.
std::string loopOf(const fx::Executable &kernel) {
  std::istringstream isa(kernel.isa());
  std::string text;
  bool inLoop = false;
  for (std::string line; std::getline(isa, line);) {
    line = line.substr(0, line.find("//"));
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(line.find_last_not_of(" \t") + 1);
    const auto begins = [&](const char *name) { return line.rfind(name, 0) == 0; };
    if (inLoop &&
        (begins("s_waitcnt vmcnt") || begins("s_barrier") || begins("buffer_load") ||
         begins("ds_read") || begins("v_readfirstlane") || line.find(" m0,") != line.npos))
      text += line + "\n";
    inLoop |= begins("s_cbranch");
  }
  return text;
}
} // namespace

TEST_CASE("loads into LDS: a ring of three stages", "[lds-dma]") {
  // region: width
  const fx::Target target = fx::Device::current().target();
  const int width = target.has(fx::feature::buffer_to_lds_wide) ? 4  // gfx950: 16 bytes a lane
                    : target.has(fx::feature::buffer_to_lds)    ? 1  // gfx90a, gfx942: 4 bytes
                                                                : 0; // no such loads
  // endregion
  if (!width)
    return;
  const int tiles = 7, elements = threads * width;
  auto x = fx::DeviceArray<float>::random({tiles * elements}, 3);
  fx::DeviceArray<float> y({elements});
  y.poison();
  sum_tiles(x, y, tiles, width).launch({.block = threads});
  const auto in = x.to_host(), out = y.to_host();
  for (int i = 0; i < elements; ++i) {
    float sum = 0;
    for (int t = 0; t < tiles; ++t)
      sum += in[std::size_t((t * threads + threads - 1 - i / width) * width + i % width)];
    REQUIRE(out[std::size_t(i)] == sum);
  }
}

namespace {
/// As long as it lives, kernels are compiled without what the emulator's checks add to them, such as
/// gaps between arrays: the page shows the code that a GPU gets. The devices keep their checks.
class WithoutChecks {
public:
  WithoutChecks() {
    (void)fx::Device::current();
    if (const char *checks = std::getenv(kVariable))
      checks_ = checks;
    unsetenv(kVariable);
  }
  ~WithoutChecks() {
    if (!checks_.empty())
      setenv(kVariable, checks_.c_str(), 1);
  }
  WithoutChecks(const WithoutChecks &) = delete;

private:
  static constexpr const char *kVariable = "FLYDSL_EMULATOR_CHECK";
  std::string checks_;
};
} // namespace

TEST_CASE("loads into LDS: the waits of the ring", "[lds-dma]") {
  const WithoutChecks plain;
  float *none = nullptr;
  auto compiled = sum_tiles(fx::tensor(none, {7168}), fx::tensor(none, {1024}), 7, 4)
                      .compile({.block = threads, .arch = "gfx950"});
  example::expectOutput("lds-dma-loop.txt", loopOf(compiled));
}

TEST_CASE("loads into LDS: refused elsewhere", "[lds-dma]") {
  float *none = nullptr;
  const auto refusal = [&](const char *arch) {
    return example::messageOf<fx::TraceError>([&] {
      sum_tiles(fx::tensor(none, {7168}), fx::tensor(none, {1024}), 7, 4)
          .compile({.block = threads, .arch = arch});
    });
  };
  example::expectOutput("lds-dma-refused.txt", refusal("gfx1201"));
}

namespace {
// region: gather
/// Row i of y is row ids[i] of x, from one wave of 32 lanes that takes 16 rows at a time.
const fx::Kernel lookup{
    "lookup", [](fx::Tensor x, fx::Tensor ids, fx::Tensor y) {
  constexpr int rows = 16, columns = 32;
  fx::SharedAllocator shared;
  auto lds = shared.tensor(fx::f32, fx::make_layout({rows, columns}, {columns, 1}));
  auto [block, tile, unused] = fx::block_idx();
  fx::Int32 lane = fx::thread_idx().x;
  fx::Int32 id = ids(block * rows + fx::min(lane, rows - 1)); // lane i: the number of row i
  auto numbers = fx::rocdl::tensor_rows(id, rows);            // to scalar registers
  fx::rocdl::tensor_load_gather(x, numbers, tile, lds);       // two instructions of 8 rows
  fx::rocdl::s_wait_tensorcnt(0);
  fx::gpu::barrier();
  fx::rocdl::tensor_store_from_lds(lds, y, {block, tile});
  fx::rocdl::s_wait_tensorcnt(0);
}};
// endregion
} // namespace

TEST_CASE("rows by their numbers", "[lds-dma]") {
  const auto x = fx::DeviceArray<float>::random({40, 64}, 3);
  std::vector<std::int32_t> order;
  for (int i = 0; i < 32; ++i)
    order.push_back(i * 7 % 40);
  const auto ids = fx::DeviceArray<std::int32_t>::from_host(order, {32});
  fx::DeviceArray<float> y({32, 64});
  y.poison();
  if (!fx::Device::current().target().has(fx::feature::tensor_mover)) {
    (void)lookup(x, ids, y).compile({.block = 32, .arch = "gfx1250"});
    return;
  }
  lookup(x, ids, y).launch({.grid = {2, 2}, .block = 32});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < out.size(); ++i)
    REQUIRE(out[i] == in[std::size_t(order[i / 64]) * 64 + i % 64]);
}
