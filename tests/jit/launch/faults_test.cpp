// The description of a kernel's fault that the program which catches the error reads, whichever
// call returns it.
#include "hip_function.h"

#include <flydsl/flydsl.h>
#include <flydsl/host/graph.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

namespace fx = flydsl;

namespace {
const fx::Kernel reaches_far{
    "reaches_far", [](fx::Tensor x, fx::Int32 far) { x(fx::thread_idx().x + far) = 1.0f; }};
const fx::Kernel traps{"traps", [](fx::Tensor x) {
                         fx::rocdl::inline_asm("s_trap 2", "", {});
                         x(fx::thread_idx().x) = 0.0f;
                       }};

std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const fx::RuntimeError &error) {
    CHECK(error.code() != 0);
    return error.what();
  }
  return "no error";
}

/// The second device, for a fault loses it; reset at the end. Kernels have line tables.
struct DeviceToLose {
  DeviceToLose() {
    setenv("FLYDSL_DEBUG_ENABLE_DEBUG_INFO", "1", 1);
    REQUIRE(fx::Device::count() == 2);
    device.make_current();
  }
  ~DeviceToLose() {
    unsetenv("FLYDSL_DEBUG_ENABLE_DEBUG_INFO");
    device.reset();
    fx::Device(0).make_current();
  }
  fx::Device device{1};
};
} // namespace

TEST_CASE("every call that meets a fault tells its kernel, its place and the allocation") {
  DeviceToLose lost;
  auto x = fx::DeviceArray<float>::random({64}, 1);
  std::vector<float> host(64);
  fx::Stream stream;
  fx::Event event;

  // A graph, made while the device is well, and whose kernel is the one that faults.
  hipGraph_t graph;
  hipGraphExec_t executable;
  REQUIRE(HIP(hipStreamBeginCapture)(stream.native(), hipStreamCaptureModeThreadLocal) ==
          hipSuccess);
  reaches_far(x, 60).launch({.block = 64, .stream = stream});
  REQUIRE(HIP(hipStreamEndCapture)(stream.native(), &graph) == hipSuccess);
  REQUIRE(HIP(hipGraphInstantiate)(&executable, graph, nullptr, nullptr, 0) == hipSuccess);
  REQUIRE(HIP(hipGraphLaunch)(executable, stream.native()) == hipSuccess);
  event.record(stream);

  const std::pair<const char *, std::function<void()>> calls[] = {
      {"waiting for a stream", [&] { stream.synchronize(); }},
      {"asking a stream", [&] { (void)stream.idle(); }},
      {"waiting for an event", [&] { event.synchronize(); }},
      {"asking whether an event", [&] { (void)event.reached(); }},
      {"recording an event", [&] { event.record(stream); }},
      {"launching kernel reaches_far on device 1",
       [&] { reaches_far(x, 0).launch({.block = 64, .stream = stream}); }},
      {"copying to the device", [&] { x.copy_from(host); }},
      {"copying from the device", [&] { (void)x.to_host(); }},
      {"filling device memory", [&] { x.poison(); }},
      {"waiting for device 1", [&] { lost.device.synchronize(); }},
  };
  for (const auto &[doing, call] : calls) {
    const std::string text = errorOf(call);
    INFO(text);
    CHECK_THAT(text, Catch::Contains(doing));
    CHECK_THAT(text, Catch::Contains("hipErrorIllegalAddress"));
    CHECK_THAT(text, Catch::Contains("kernel 'reaches_far'"));
    CHECK_THAT(text, Catch::Contains("workgroup (0, 0, 0), wave 0, lane 4"));
    CHECK_THAT(text, Catch::Contains("0 bytes past the end of allocation"));
    CHECK_THAT(text, Catch::Contains("source: ") && Catch::Contains("faults_test.cpp:18"));
  }

  // The other device is well.
  fx::Device(0).make_current();
  fx::DeviceArray<float> y({64});
  y.fill(2);
  CHECK(y.to_host() == std::vector<float>(64, 2.0f));
  lost.device.make_current();
  CHECK(HIP(hipGraphExecDestroy)(executable) == hipSuccess);
  CHECK(HIP(hipGraphDestroy)(graph) == hipSuccess);
}

TEST_CASE("a trap names its kernel and line; after a reset it is forgotten") {
  {
    DeviceToLose lost;
    fx::DeviceArray<float> x({64});
    traps(x).launch({.block = 64});
    const std::string text = errorOf([&] { (void)x.to_host(); });
    CHECK_THAT(text, Catch::Contains("hipErrorLaunchFailure") &&
                         Catch::Contains("kernel 'traps'") && Catch::Contains("trap") &&
                         Catch::Contains("faults_test.cpp:20"));
  }
  fx::Device(1).make_current();
  fx::DeviceArray<float> x({64});
  x.fill(3);
  CHECK(x.to_host() == std::vector<float>(64, 3.0f));
  fx::Device(0).make_current();
}

TEST_CASE("a fault without line tables says how the line is had") {
  DeviceToLose lost;
  unsetenv("FLYDSL_DEBUG_ENABLE_DEBUG_INFO");
  const fx::Kernel far{"far_without_lines",
                       [](fx::Tensor x) { x(fx::thread_idx().x + 1000) = 1.0f; }};
  fx::DeviceArray<float> x({64});
  far(x).launch({.block = 64});
  CHECK_THAT(errorOf([&] { lost.device.synchronize(); }),
             Catch::Contains("hipErrorIllegalAddress") &&
                 Catch::Contains("FLYDSL_DEBUG_ENABLE_DEBUG_INFO=1") &&
                 !Catch::Contains("source: "));
}

TEST_CASE("after a reset the device works again, and what it had is gone") {
  fx::Device device(1);
  device.make_current();
  const fx::Kernel fill{"fill_after_reset",
                        [](fx::Tensor x, fx::Int32 at) { x(fx::thread_idx().x + at) = 5.0f; }};
  fx::DeviceArray<float> x({64});
  fx::Stream stream;
  fx::Graph graph = fx::Graph::capture(stream, [&](const fx::Stream &captured) {
    fill(x, 0).launch({.block = 64, .stream = captured});
  });
  graph.launch(stream);
  stream.synchronize();
  fill(x, 1 << 20).launch({.block = 64, .stream = stream});
  CHECK_THAT(errorOf([&] { device.synchronize(); }), Catch::Contains("hipErrorIllegalAddress"));
  CHECK_THAT(errorOf([&] { fill(x, 0).launch({.block = 64, .stream = stream}); }),
             Catch::Contains("hipErrorIllegalAddress"));

  device.reset();
  CHECK_THROWS_WITH(stream.synchronize(), Catch::Contains("whose device was reset"));
  CHECK_THROWS_WITH(graph.launch({}), Catch::Contains("a Graph is used whose device was reset"));
  CHECK_THROWS_WITH(x.to_host(), Catch::Contains("the array's device was reset"));
  CHECK_THROWS_WITH(fill(x, 0).launch({.block = 64}), Catch::Contains("argument 0: the array's"));
  fx::DeviceArray<float> y({64});
  y.fill(1);
  fx::Stream again;
  fill(y, 0).launch({.block = 64, .stream = again}); // the kernel that was loaded before
  again.synchronize();
  CHECK(y.to_host() == std::vector<float>(64, 5.0f));
  {
    // The old array goes; the new one, which may be at its address, stays.
    fx::DeviceArray<float> gone = std::move(x);
  }
  CHECK(y.to_host() == std::vector<float>(64, 5.0f));
  fx::Device(0).make_current();
}

TEST_CASE("a forgotten block and forgotten shared memory are errors") {
  const fx::Kernel reverse{"reverse_dynamic", [](fx::Tensor x) {
                             auto i = fx::thread_idx().x;
                             fx::SharedAllocator shared(fx::SharedPlacement::dynamic);
                             auto s = shared.allocate<fx::Array<fx::Float32, 64>>().view();
                             s(i) = x(i);
                             fx::gpu::barrier();
                             x(i) = s(63 - i);
                           }};
  auto x = fx::DeviceArray<float>::random({64}, 1);
  auto expected = x.to_host();
  std::reverse(expected.begin(), expected.end());
  CHECK_THROWS_WITH(reverse(x).launch({.grid = 1, .smem = 256}),
                    Catch::Contains("kernel reverse_dynamic: the launch gives no block"));
  CHECK_THROWS_WITH(reverse(x).launch({.grid = 1, .block = 64}),
                    Catch::Contains("it uses 256 bytes of dynamic shared memory or more, the "
                                    "launch gives 0; .smem = 256 is the least"));
  reverse(x).launch({.grid = 1, .block = 64, .smem = 256});
  CHECK(x.to_host() == expected);

  // Memory that the kernel takes without saying how much.
  const fx::Kernel raw{"raw_dynamic", [](fx::Tensor x) {
                         auto s =
                             fx::make_view(fx::get_dyn_shared(fx::f32), fx::make_layout(64, 1));
                         s(fx::thread_idx().x) = 1.0f;
                         x(fx::thread_idx().x) = s(fx::thread_idx().x);
                       }};
  CHECK_THROWS_WITH(raw(x).launch({.block = 64}), Catch::Contains(".smem = 4 is the least"));
  raw(x).launch({.block = 64, .smem = 256});
  CHECK(x.to_host() == std::vector<float>(64, 1.0f));
}

TEST_CASE("a refused call says why") {
  CHECK_THAT(errorOf([] { fx::DeviceArray<float> x({std::int64_t(1) << 45}); }),
             Catch::Contains("hipErrorOutOfMemory (2): out of memory: "));
}
