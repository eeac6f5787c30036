// The seam for another vendor, by a made-up one: what the public API does is the same over it.
#include "host_vendor.h"
#include "jit/compile/backends/backends.h"
#include "runtime/current_driver.h"

#include <flydsl/flydsl.h>
#include <flydsl/host/stats.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace fx = flydsl;
using fx::_;

namespace {

/// Registers processor, backend and driver before anything of the library is used.
const bool registered = [] {
  unsetenv("FLYDSL_RUNTIME_KIND");
  unsetenv("ARCH");
  const bool added = host_vendor::addProcessor();
  flydsl::jit::registerBackend(host_vendor::backend());
  flydsl::runtime::registerDriver(host_vendor::openDriver);
  return added;
}();

/// C = A + B, as the first sample has it: tiles of vector copies, masked at the border.
auto vectorAdd() {
  return fx::Kernel{"vector_add",
                    [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledCopy tiled_copy) {
                      auto tid = fx::thread_idx().x;
                      auto [bid_m, bid_n, bid_z] = fx::block_idx();
                      auto shape = A.shape();                     // (M, N)
                      auto idC = fx::make_identity_tensor(shape); // (M, N) -> (m, n)

                      auto tile = tiled_copy.tile_mn();
                      auto gA = fx::flat_divide(A, tile)(_, _, bid_m, bid_n);   // (TM, TN)
                      auto gB = fx::flat_divide(B, tile)(_, _, bid_m, bid_n);   // (TM, TN)
                      auto gC = fx::flat_divide(C, tile)(_, _, bid_m, bid_n);   // (TM, TN)
                      auto cC = fx::flat_divide(idC, tile)(_, _, bid_m, bid_n); // (TM, TN)

                      auto thr = tiled_copy.get_slice(tid);
                      auto tA = thr.partition_S(gA), tB = thr.partition_S(gB);    // (V, m, n)
                      auto tC = thr.partition_D(gC);                              // (V, m, n)
                      auto tcC = thr.partition_S(cC)(fx::make_coord(0, _), _, _); // (1, m, n)

                      auto rA = fx::make_fragment_like(tA), rB = fx::make_fragment_like(tB),
                           rC = fx::make_fragment_like(tC);                 // (V, m, n)
                      auto pred = fx::make_fragment_like(tcC, fx::boolean); // (1, m, n)
                      for (int i = 0; i < fx::size(pred).value(); ++i)
                        pred(i) = fx::elem_less(tcC(i), shape);

                      auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
                      fx::copy(atom, tA, rA, {.pred = pred});
                      fx::copy(atom, tB, rB, {.pred = pred});
                      rC.store(rA.load() + rB.load());
                      fx::copy(atom, rC, tC, {.pred = pred});
                    }};
}

} // namespace

TEST_CASE("a kernel runs on another vendor's device through the public API") {
  REQUIRE(registered);
  const fx::Device device = fx::Device::current();
  CHECK(device.arch() == host_vendor::kProcessor);
  CHECK(device.target().vendor() == fx::Vendor::other);
  CHECK(device.warp_size() == 1);
  CHECK_FALSE(device.is_emulator());

  const std::int64_t M = 100, N = 1000;
  auto tiled_copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                           fx::make_ordered_layout({8, 16}, {1, 0}),
                                           fx::make_ordered_layout({1, 4}, {0, 1}));
  auto A = fx::DeviceArray<float>::random({M, N}, 1), B = fx::DeviceArray<float>::random({M, N}, 2);
  fx::DeviceArray<float> C({M, N});
  C.poison();
  auto matrix = [&](float *data) {
    return fx::TensorArg(fx::tensor(data, {M, N}, {N, 1}).mark_layout_dynamic(1, 4));
  };

  const auto kernel = vectorAdd();
  fx::Stream stream;
  fx::Event before, after;
  before.record(stream);
  const unsigned long ranBefore = host_vendor::workItemsRun();
  auto launch = [&](const auto &with) {
    with(matrix(A.data()), matrix(B.data()), matrix(C.data()), tiled_copy)
        .launch({.grid = {(M + 7) / 8, (N + 63) / 64}, .block = 128, .stream = stream});
  };
  launch(kernel);
  after.record(stream);
  stream.synchronize();
  CHECK(after.milliseconds_since(before) >= 0);
  CHECK(host_vendor::workItemsRun() - ranBefore == 13 * 16 * 128);
  const auto a = A.to_host(), b = B.to_host(), c = C.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    wrong += c[i] != a[i] + b[i];
  CHECK(wrong == 0);

  // The code is in the cache's directory.
  const char *const directory = std::getenv("FLYDSL_RUNTIME_CACHE_DIR");
  REQUIRE(directory); // CTest sets it
  const std::filesystem::path cache = directory;
  CHECK_FALSE(std::filesystem::is_empty(cache));

  // A second launch takes the loaded kernel; a second kernel object finds the compiled one.
  const auto compiles = fx::stats().compiles;
  launch(kernel);
  launch(vectorAdd());
  CHECK(fx::stats().compiles == compiles);
  const fx::Executable again =
      vectorAdd()(matrix(A.data()), matrix(B.data()), matrix(C.data()), tiled_copy)
          .compile({.block = 128});
  CHECK(again.cache_tier() == fx::CacheTier::memory);
  CHECK(again.target() == host_vendor::kProcessor);
  CHECK_THAT(again.isa(), Catch::Contains("vector_add:") && Catch::Contains("ret"));
}

TEST_CASE("what another vendor's target does not have is refused") {
  const fx::Kernel waves{"waves", [](fx::Tensor out) { out(0) = 1.0f; }, {.waves_per_eu = 2}};
  fx::DeviceArray<float> out({1});
  CHECK_THROWS_WITH(waves(out).launch({.grid = 1, .block = 1}),
                    Catch::Contains("the host's CPU has no waves"));

  const fx::Kernel product{"product", [](fx::Tensor out) {
                             (void)fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 4, fx::f32));
                           }};
  CHECK_THROWS_WITH(product(out).launch({.grid = 1, .block = 1}), Catch::Contains("host1"));
}

TEST_CASE("AMD's processors are compiled for beside another vendor's") {
  const fx::Kernel one{"one", [](fx::Tensor out) { out(fx::thread_idx().x) = 1.0f; }};
  fx::DeviceArray<float> out({64});
  const fx::Executable amd = one(out).compile({.block = 64, .arch = "gfx942"});
  CHECK(amd.target() == "gfx942");
  CHECK_THAT(amd.isa(), Catch::Contains("s_endpgm"));
  one(out).launch({.grid = 1, .block = 64});
  CHECK(out.to_host() == std::vector<float>(64, 1.0f));
}

TEST_CASE("registering too late or twice is an error") {
  (void)fx::Device::current();
  CHECK_THROWS_WITH(flydsl::runtime::registerDriver(host_vendor::openDriver),
                    Catch::Contains("after a device was used"));
  CHECK_THROWS_WITH(flydsl::jit::registerBackend(host_vendor::backend()),
                    Catch::Contains("a vendor that has one"));
  CHECK_FALSE(host_vendor::addProcessor());
}
