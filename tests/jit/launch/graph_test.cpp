// Work that is captured and replayed: by HIP's own functions, and by fx::Graph.
#include "hip_function.h"
#include "scale.h"

#include <flydsl/host/graph.h>

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

namespace {

using Catch::Contains;

/// x, y and a stream; y is 0.
struct Arrays {
  fx::DeviceArray<float> x = fx::DeviceArray<float>::random({128}, 1), y{{128}};
  fx::Stream stream;
  Arrays() { y.fill(0); }

  /// Whether y is `times` x.
  bool isTimes(double times) const {
    stream.synchronize();
    const std::vector<float> a = x.to_host(), b = y.to_host();
    bool same = true;
    for (std::size_t i = 0; i < a.size(); ++i)
      same &= b[i] == Approx(times * a[i]).margin(1e-5);
    return same;
  }
};

/// Puts one launch into the stream: y = times x + y.
auto oneLaunch(const auto &kernel, Arrays &arrays, float times, unsigned grid = 2) {
  return [&kernel, &arrays, times, grid](const fx::Stream &stream) {
    kernel(arrays.x, arrays.y, times).launch({.grid = grid, .block = axpyBlock, .stream = stream});
  };
}

} // namespace

TEST_CASE("a Graph keeps work and does all of it at each launch") {
  const auto axpy = makeAxpy("axpy_in_graph");
  Arrays arrays;
  fx::Stream side;
  fx::Event forked, joined;
  fx::Graph graph = fx::Graph::capture(arrays.stream, [&](const fx::Stream &stream) {
    oneLaunch(axpy, arrays, 1.0f)(stream);
    forked.record(stream);
    side.wait(forked);
    oneLaunch(axpy, arrays, 2.0f)(side);
    joined.record(side);
    stream.wait(joined);
    oneLaunch(axpy, arrays, 3.0f)(stream);
  });
  CHECK(arrays.isTimes(0)); // captured, not run
  CHECK(graph.size() == 3);
  graph.launch(arrays.stream);
  graph.launch(arrays.stream);
  CHECK(arrays.isTimes(12));
  fx::Graph moved = std::move(graph);
  moved.launch(side);
  side.synchronize();
  CHECK(arrays.isTimes(18));
  CHECK_THROWS_WITH(graph.launch(side), Contains("graph_test.cpp") && Contains("moved from"));
}

TEST_CASE("A Graph takes new arguments, and new work of another form") {
  const auto axpy = makeAxpy("axpy_updated"), other = makeAxpy("axpy_other");
  Arrays arrays;
  fx::Graph graph = fx::Graph::capture(arrays.stream, oneLaunch(axpy, arrays, 1.0f));
  graph.launch(arrays.stream);
  CHECK(graph.update(arrays.stream, oneLaunch(axpy, arrays, 4.0f)));
  graph.launch(arrays.stream);
  CHECK(arrays.isTimes(5));
  CHECK_FALSE(graph.update(arrays.stream, [&](const fx::Stream &stream) {
    oneLaunch(axpy, arrays, 1.0f)(stream);
    oneLaunch(other, arrays, 1.0f)(stream);
  }));
  graph.launch(arrays.stream);
  CHECK(arrays.isTimes(7));
  CHECK(graph.size() == 2);
  // An update that fails leaves the graph as it was, and the stream usable.
  struct Mine {};
  CHECK_THROWS_AS(graph.update(arrays.stream, [](const fx::Stream &) { throw Mine(); }), Mine);
  graph.launch(arrays.stream);
  CHECK(arrays.isTimes(9));
}

TEST_CASE("What a Graph can't capture is an error with the caller's line") {
  const auto axpy = makeAxpy("axpy_refused");
  Arrays arrays;
  SECTION("nothing") {
    CHECK_THROWS_WITH(fx::Graph::capture(arrays.stream, [](const fx::Stream &) {}),
                      Contains("graph_test.cpp") && Contains("nothing was put into the stream"));
  }
  SECTION("work for another stream") {
    fx::Stream other;
    CHECK_THROWS_WITH(
        fx::Graph::capture(arrays.stream,
                           [&](const fx::Stream &) { oneLaunch(axpy, arrays, 1.0f)(other); }),
        Contains("launch into the stream that the work is given"));
    other.synchronize();
    CHECK(arrays.isTimes(1)); // it ran
  }
  SECTION("a stream that is not waited for") {
    fx::Stream side;
    fx::Event forked;
    CHECK_THROWS_WITH(fx::Graph::capture(arrays.stream,
                                         [&](const fx::Stream &stream) {
                                           forked.record(stream);
                                           side.wait(forked);
                                           oneLaunch(axpy, arrays, 1.0f)(side);
                                         }),
                      Contains("ending the capture") && Contains("waited for"));
  }
  SECTION("a capture in a capture of the same stream") {
    CHECK_THROWS_WITH(fx::Graph::capture(arrays.stream,
                                         [&](const fx::Stream &stream) {
                                           fx::Graph::capture(stream,
                                                              oneLaunch(axpy, arrays, 1.0f));
                                         }),
                      Contains("beginning to capture"));
  }
  SECTION("a wait") {
    CHECK_THROWS_WITH(
        fx::Graph::capture(arrays.stream, [&](const fx::Stream &stream) { stream.synchronize(); }),
        Contains("waiting for a stream"));
  }
  SECTION("what is done at once") {
    auto refusal = [&](auto work) -> std::string {
      try {
        fx::Graph::capture(arrays.stream, [&](const fx::Stream &stream) {
          oneLaunch(axpy, arrays, 1.0f)(stream);
          work();
        });
      } catch (const fx::RuntimeError &error) {
        return error.what();
      }
      return "no error";
    };
    const std::string later = " while a graph is captured would be done at once, and not when the "
                              "graph is launched";
    const std::string copied = refusal([&] { arrays.y.to_host(); });
    CHECK_THAT(copied, Contains("graph_test.cpp") && Contains("a copy from the device" + later));
    CHECK_THAT(refusal([&] { arrays.y.fill(1); }), Contains("a copy to the device" + later));
    CHECK_THAT(refusal([&] { arrays.y.poison(); }), Contains("filling memory" + later));
    CHECK_THAT(refusal([] { fx::DeviceArray<float> array({4}); }),
               Contains("graph_test.cpp") && Contains("an allocation" + later));
    const std::string launched =
        refusal([&] { axpy(arrays.x, arrays.y, 1.0f).launch({.grid = 2, .block = axpyBlock}); });
    CHECK_THAT(launched, Contains("graph_test.cpp") &&
                             Contains("axpy_refused: a launch on the default stream" + later) &&
                             Contains(".stream = the stream that the work is given"));
    arrays.y.to_host(); // behind the capture, all of it is fine
  }
  SECTION("an exception of the work") {
    struct Mine {};
    CHECK_THROWS_AS(fx::Graph::capture(arrays.stream, [](const fx::Stream &) { throw Mine(); }),
                    Mine);
  }
  // The stream is as usable as before.
  fx::Graph graph = fx::Graph::capture(arrays.stream, oneLaunch(axpy, arrays, 1.0f));
  arrays.y.fill(0);
  graph.launch(arrays.stream);
  CHECK(arrays.isTimes(1));
}
