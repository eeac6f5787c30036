// Capture into a HIP graph and replay.
#include "hip_function.h"
#include "scale.h"

namespace fx = flydsl;

TEST_CASE("launches are captured into a graph and replayed") {
  REQUIRE(fx::Device::count() > 0); // loads it
  const auto axpy = makeAxpy("axpy_graph");
  auto x = fx::DeviceArray<float>::random({128}, 1);
  fx::DeviceArray<float> y({128});
  y.fill(0);
  fx::Stream stream;

  hipGraph_t graph;
  hipGraphExec_t executable;
  REQUIRE(HIP(hipStreamBeginCapture)(stream.native(), hipStreamCaptureModeThreadLocal) ==
          hipSuccess);
  // The first call of this kernel: compiling and loading go on while the stream captures.
  axpy(x, y, 1.0f).launch({.grid = 2, .block = axpyBlock, .stream = stream});
  axpy(x, y, 2.0f).launch({.grid = 2, .block = axpyBlock, .stream = stream});
  REQUIRE(HIP(hipStreamEndCapture)(stream.native(), &graph) == hipSuccess);
  for (float value : y.to_host())
    CHECK(value == 0); // captured, not run

  REQUIRE(HIP(hipGraphInstantiate)(&executable, graph, nullptr, nullptr, 0) == hipSuccess);
  for (int i = 0; i < 3; ++i)
    REQUIRE(HIP(hipGraphLaunch)(executable, stream.native()) == hipSuccess);
  stream.synchronize();
  const std::vector<float> a = x.to_host(), b = y.to_host();
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(b[i] == Approx(9.0 * a[i]).margin(1e-5));
  CHECK(HIP(hipGraphExecDestroy)(executable) == hipSuccess);
  CHECK(HIP(hipGraphDestroy)(graph) == hipSuccess);
}
