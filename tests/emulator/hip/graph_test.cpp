// Graphs: capture with forks, nodes made by hand, replay, update, and calls that invalidate a
// capture.
#include "support.h"

#include <atomic>
#include <flydsl/emulator.h>

namespace {

struct CaptureStream {
  hipStream_t stream;
  CaptureStream() { HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking)); }
  ~CaptureStream() { (void)hipStreamDestroy(stream); }
  operator hipStream_t() const { return stream; }
};

struct Executable {
  hipGraphExec_t exec = nullptr;
  explicit Executable(hipGraph_t graph) {
    HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  }
  ~Executable() { (void)hipGraphExecDestroy(exec); }
  void run(hipStream_t stream) {
    HIP_OK(hipGraphLaunch(exec, stream));
    HIP_OK(hipStreamSynchronize(stream));
  }
};

} // namespace

TEST_CASE("A captured sequence runs nothing at first, and then as often as asked") {
  TestModule module;
  CaptureStream stream;
  DeviceBuffer<int> a(64), sum(64);
  HIP_OK(hipMemset(sum.data, 0, 256));
  HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  hipStreamCaptureStatus status;
  HIP_OK(hipStreamIsCapturing(stream, &status));
  CHECK(status == hipStreamCaptureStatusActive);
  HIP_OK(launch1D(module.function("fill"), 1, 64, stream, a.data, 5, 64));
  HIP_OK(launch1D(module.function("add"), 1, 64, stream, a.data, sum.data, sum.data, 64));
  HIP_OK(hipMemsetAsync(a.data, 0, 256, stream));
  hipGraph_t graph;
  HIP_OK(hipStreamEndCapture(stream, &graph));
  HIP_OK(hipStreamIsCapturing(stream, &status));
  CHECK(status == hipStreamCaptureStatusNone);
  CHECK(sum.read() == std::vector<int>(64, 0));

  size_t count = 0;
  HIP_OK(hipGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 3);
  Executable exec(graph);
  HIP_OK(hipGraphDestroy(graph));
  for (int i = 1; i <= 3; ++i) {
    exec.run(stream);
    CHECK(sum.read() == std::vector<int>(64, 5 * i));
    CHECK(a.read() == std::vector<int>(64, 0));
  }
}

TEST_CASE("A capture follows events into other streams and back") {
  TestModule module;
  CaptureStream main, side;
  DeviceBuffer<int> a(64), b(64), c(64);
  hipEvent_t fork, join;
  HIP_OK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
  HIP_OK(hipEventCreateWithFlags(&join, hipEventDisableTiming));
  HIP_OK(hipStreamBeginCapture(main, hipStreamCaptureModeGlobal));
  HIP_OK(hipEventRecord(fork, main));
  HIP_OK(hipStreamWaitEvent(side, fork, 0));
  HIP_OK(launch1D(module.function("fill"), 1, 64, main, a.data, 2, 64));
  HIP_OK(launch1D(module.function("fill"), 1, 64, side, b.data, 3, 64));
  HIP_OK(hipEventRecord(join, side));
  HIP_OK(hipStreamWaitEvent(main, join, 0));
  HIP_OK(launch1D(module.function("add"), 1, 64, main, a.data, b.data, c.data, 64));
  hipGraph_t graph;
  HIP_OK(hipStreamEndCapture(main, &graph));
  size_t edges = 0, roots = 0;
  HIP_OK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  HIP_OK(hipGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(edges == 2);
  CHECK(roots == 2);
  Executable(graph).run(main);
  CHECK(c.read() == std::vector<int>(64, 5));
  CHECK(hipEventSynchronize(fork) == hipErrorCapturedEvent);
  HIP_OK(hipGraphDestroy(graph));
  HIP_OK(hipEventDestroy(fork));
  HIP_OK(hipEventDestroy(join));
  (void)hipGetLastError();
}

TEST_CASE("What cannot be captured spoils the capture and says so") {
  CaptureStream stream, side;
  hipGraph_t graph = nullptr;
  SECTION("waiting for the capturing stream") {
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    CHECK(hipStreamSynchronize(stream) == hipErrorStreamCaptureUnsupported);
    CHECK(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
  }
  SECTION("allocating") {
    void *p;
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    CHECK(hipMalloc(&p, 4) == hipErrorStreamCaptureUnsupported);
    CHECK(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
  }
  SECTION("a fork that never comes back") {
    hipEvent_t fork;
    HIP_OK(hipEventCreate(&fork));
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    HIP_OK(hipEventRecord(fork, stream));
    HIP_OK(hipStreamWaitEvent(side, fork, 0));
    HIP_OK(hipLaunchHostFunc(side, [](void *) {}, nullptr));
    CHECK(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureUnjoined);
    HIP_OK(hipEventDestroy(fork));
  }
  SECTION("the default stream") {
    CHECK(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal) ==
          hipErrorStreamCaptureUnsupported);
  }
  SECTION("work in the default stream that would wait") {
    hipStream_t blocking;
    HIP_OK(hipStreamCreate(&blocking));
    HIP_OK(hipStreamBeginCapture(blocking, hipStreamCaptureModeGlobal));
    CHECK(hipLaunchHostFunc(nullptr, [](void *) {}, nullptr) == hipErrorStreamCaptureImplicit);
    CHECK(hipStreamEndCapture(blocking, &graph) == hipErrorStreamCaptureInvalidated);
    HIP_OK(hipStreamDestroy(blocking));
  }
  SECTION("ending what was not begun") {
    CHECK(hipStreamEndCapture(stream, &graph) == hipErrorIllegalState);
  }
  CHECK(graph == nullptr);
  HIP_OK(hipStreamSynchronize(stream));
  (void)hipGetLastError();
}

TEST_CASE("A graph made by hand: every kind of node, in the order of its edges") {
  TestModule module;
  hipGraph_t graph;
  HIP_OK(hipGraphCreate(&graph, 0));
  DeviceBuffer<int> a(64), b(64);
  std::vector<int> back(64);
  static int hostValue;
  hostValue = 0;

  hipMemsetParams fill = {};
  fill.dst = a.data;
  fill.elementSize = 4;
  fill.value = 7;
  fill.width = 64;
  fill.height = 1;
  hipGraphNode_t fillNode, kernelNode, copyNode, hostNode, emptyNode;
  HIP_OK(hipGraphAddMemsetNode(&fillNode, graph, nullptr, 0, &fill));

  int *pa = a.data, *pb = b.data;
  int count = 64;
  void *arguments[] = {&pa, &pa, &pb, &count};
  hipKernelNodeParams kernel = {};
  kernel.func = module.function("add");
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(64);
  kernel.kernelParams = arguments;
  HIP_OK(hipGraphAddKernelNode(&kernelNode, graph, &fillNode, 1, &kernel));
  HIP_OK(hipGraphAddMemcpyNode1D(&copyNode, graph, &kernelNode, 1, back.data(), b.data, 256,
                                 hipMemcpyDeviceToHost));
  hipHostNodeParams host = {[](void *data) { hostValue = static_cast<int *>(data)[63]; },
                            back.data()};
  HIP_OK(hipGraphAddHostNode(&hostNode, graph, nullptr, 0, &host));
  HIP_OK(hipGraphAddDependencies(graph, &copyNode, &hostNode, 1));
  HIP_OK(hipGraphAddEmptyNode(&emptyNode, graph, &hostNode, 1));

  Executable exec(graph);
  exec.run(nullptr);
  CHECK(back == std::vector<int>(64, 14));
  CHECK(hostValue == 14);

  SECTION("parameters change in the executable alone") {
    fill.value = 10;
    HIP_OK(hipGraphExecMemsetNodeSetParams(exec.exec, fillNode, &fill));
    exec.run(nullptr);
    CHECK(hostValue == 20);
    Executable untouched(graph);
    untouched.run(nullptr);
    CHECK(hostValue == 14);
  }
  SECTION("parameters can be read back") {
    hipKernelNodeParams got = {};
    HIP_OK(hipGraphKernelNodeGetParams(kernelNode, &got));
    CHECK(got.func == kernel.func);
    CHECK(got.blockDim.x == 64);
    CHECK(*static_cast<int *>(got.kernelParams[3]) == 64);
    hipGraphNodeType type;
    HIP_OK(hipGraphNodeGetType(copyNode, &type));
    CHECK(type == hipGraphNodeTypeMemcpy1D);
  }
  SECTION("an update takes over what fits and refuses what does not") {
    hipGraph_t changed;
    HIP_OK(hipGraphClone(&changed, graph));
    hipGraphNode_t twin, errorNode;
    hipGraphExecUpdateResult result;
    HIP_OK(hipGraphNodeFindInClone(&twin, fillNode, changed));
    fill.value = 1;
    HIP_OK(hipGraphMemsetNodeSetParams(twin, &fill));
    HIP_OK(hipGraphExecUpdate(exec.exec, changed, &errorNode, &result));
    CHECK(result == hipGraphExecUpdateSuccess);
    exec.run(nullptr);
    CHECK(hostValue == 2);
    HIP_OK(hipGraphAddEmptyNode(&twin, changed, nullptr, 0));
    CHECK(hipGraphExecUpdate(exec.exec, changed, &errorNode, &result) ==
          hipErrorGraphExecUpdateFailure);
    CHECK(result == hipGraphExecUpdateErrorTopologyChanged);
    HIP_OK(hipGraphDestroy(changed));
  }
  SECTION("a child graph runs inside its parent") {
    hipGraph_t parent;
    HIP_OK(hipGraphCreate(&parent, 0));
    hipGraphNode_t child;
    HIP_OK(hipGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
    hostValue = 0;
    Executable(parent).run(nullptr);
    CHECK(hostValue == 14);
    HIP_OK(hipGraphDestroy(parent));
  }
  SECTION("a cycle is refused when instantiated") {
    HIP_OK(hipGraphAddDependencies(graph, &emptyNode, &fillNode, 1));
    hipGraphExec_t none;
    CHECK(hipGraphInstantiate(&none, graph, nullptr, nullptr, 0) == hipErrorInvalidValue);
  }
  HIP_OK(hipGraphDestroy(graph));
  CHECK(hipGraphAddEmptyNode(&emptyNode, graph, nullptr, 0) == hipErrorInvalidHandle);
  (void)hipGetLastError();
}

TEST_CASE("Branches of a graph run at the same time") {
  TestModule module("cooperative.gfx942.co");
  hipFunction_t pingPong = module.function("ping_pong");
  hipGraph_t graph;
  HIP_OK(hipGraphCreate(&graph, 0));
  constexpr int pairs = 4;
  DeviceBuffer<int> words(2 * pairs);
  hipMemsetParams clear = {};
  clear.dst = words.data;
  clear.elementSize = 4;
  clear.width = 2 * pairs;
  clear.height = 1;
  hipGraphNode_t root;
  HIP_OK(hipGraphAddMemsetNode(&root, graph, nullptr, 0, &clear));
  // Each kernel waits for its partner, which is in a branch of its own; a quarter of them in a
  // child.
  hipGraph_t child;
  HIP_OK(hipGraphCreate(&child, 0));
  std::vector<hipGraphNode_t> ends;
  int rounds = 20;
  for (int i = 0; i < 2 * pairs; ++i) {
    int *mine = words.data + i, *other = words.data + (i ^ 1);
    void *arguments[] = {&mine, &other, &rounds};
    hipKernelNodeParams kernel = {};
    kernel.func = pingPong;
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    hipGraphNode_t node;
    if (i < 2) {
      HIP_OK(hipGraphAddKernelNode(&node, child, nullptr, 0, &kernel));
    } else {
      HIP_OK(hipGraphAddKernelNode(&node, graph, &root, 1, &kernel));
      ends.push_back(node);
    }
  }
  hipGraphNode_t inner, copy;
  HIP_OK(hipGraphAddChildGraphNode(&inner, graph, &root, 1, child));
  ends.push_back(inner);
  std::vector<int> back(2 * pairs);
  HIP_OK(hipGraphAddMemcpyNode1D(&copy, graph, ends.data(), ends.size(), back.data(), words.data,
                                 8 * pairs, hipMemcpyDeviceToHost));
  Executable exec(graph);
  for (int replay = 0; replay < 3; ++replay) {
    back.assign(2 * pairs, 0);
    exec.run(nullptr);
    CHECK(back == std::vector<int>(2 * pairs, rounds));
  }
  HIP_OK(hipGraphDestroy(child));
  HIP_OK(hipGraphDestroy(graph));
}

TEST_CASE("A graph of more branches than there are threads, and an empty child, keep their order") {
  hipGraph_t graph, child;
  HIP_OK(hipGraphCreate(&graph, 0));
  HIP_OK(hipGraphCreate(&child, 0));
  static std::atomic<int> before, after;
  before = after = 0;
  std::vector<hipGraphNode_t> wide(300);
  hipHostNodeParams count = {[](void *) { ++before; }, nullptr};
  for (hipGraphNode_t &node : wide)
    HIP_OK(hipGraphAddHostNode(&node, graph, nullptr, 0, &count));
  hipGraphNode_t middle, last;
  HIP_OK(hipGraphAddChildGraphNode(&middle, graph, wide.data(), wide.size(), child));
  hipHostNodeParams look = {[](void *) { after = before.load(); }, nullptr};
  HIP_OK(hipGraphAddHostNode(&last, graph, &middle, 1, &look));
  Executable(graph).run(nullptr);
  CHECK(before == 300);
  CHECK(after == 300);
  HIP_OK(hipGraphDestroy(child));
  HIP_OK(hipGraphDestroy(graph));
}

TEST_CASE("A fault ends what other branches and streams wait for") {
  TestModule module("cooperative.gfx942.co"), kernels;
  DeviceBuffer<int> words(2);
  words.write({0, 0});
  int *mine = words.data, *other = words.data + 1, *null = nullptr;
  int rounds = 1;
  void *waiting[] = {&mine, &other, &rounds};
  CaptureStream main, side;
  hipEvent_t event;
  HIP_OK(hipEventCreate(&event));
  const bool asGraph = GENERATE(false, true);
  hipGraph_t graph = nullptr;
  if (asGraph) {
    HIP_OK(hipStreamBeginCapture(main, hipStreamCaptureModeRelaxed));
    HIP_OK(hipEventRecord(event, main));
    HIP_OK(hipStreamWaitEvent(side, event, 0));
  } else {
    HIP_OK(hipStreamWaitValue32(nullptr, mine, 7, hipStreamWaitValueEq, ~0u));
  }
  HIP_OK(hipModuleLaunchKernel(module.function("ping_pong"), 1, 1, 1, 1, 1, 1, 0, main, waiting,
                               nullptr));
  HIP_OK(launch1D(kernels.function("fill"), 1, 64, side, null, 1, 64));
  if (asGraph) {
    HIP_OK(hipEventRecord(event, side));
    HIP_OK(hipStreamWaitEvent(main, event, 0));
    HIP_OK(hipStreamEndCapture(main, &graph));
    Executable exec(graph);
    HIP_OK(hipGraphLaunch(exec.exec, main));
    CHECK(hipStreamSynchronize(main) == hipErrorIllegalAddress);
    HIP_OK(hipGraphDestroy(graph));
  }
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains("kernel 'fill'"));
  HIP_OK(hipEventDestroy(event));
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("Bad node parameters are refused and the graph stays as it was") {
  TestModule module;
  hipGraph_t graph;
  HIP_OK(hipGraphCreate(&graph, 0));
  hipGraphNode_t node;
  hipMemsetParams fill = {};
  fill.elementSize = 3;
  CHECK(hipGraphAddMemsetNode(&node, graph, nullptr, 0, &fill) == hipErrorInvalidValue);
  hipKernelNodeParams kernel = {};
  kernel.func = module.function("fill");
  kernel.gridDim = dim3(0);
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &kernel) == hipErrorInvalidConfiguration);
  CHECK(hipGraphAddHostNode(&node, graph, nullptr, 0, nullptr) == hipErrorInvalidValue);
  size_t count = 9;
  HIP_OK(hipGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 0);
  HIP_OK(hipGraphDestroy(graph));
  (void)hipGetLastError();
}
