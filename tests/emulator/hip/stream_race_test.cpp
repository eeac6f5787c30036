// The check of streams: each pair of operations without an order is named, and its twin with an
// order is not. The cases are run by themselves, with FLYDSL_EMULATOR_CHECK=streams.
#include "support.h"

#include <flydsl/emulator.h>

#include <atomic>
#include <functional>
#include <thread>

namespace {

constexpr int kCount = 256;
constexpr size_t kBytes = kCount * sizeof(int);

int64_t findings(std::string *newest = nullptr) {
  char text[4096] = "";
  const int64_t count = flydslEmulatorFindings(0, text, sizeof text);
  if (newest)
    *newest = text;
  return count;
}

/// Two streams that know of each other by events only, and memory for what they do.
struct Fixture {
  TestModule module;
  hipStream_t a = nullptr, b = nullptr;
  hipEvent_t event = nullptr;
  DeviceBuffer<int> x{kCount}, y{kCount}, z{kCount};
  hipFunction_t fillKernel = module.function("fill"), addKernel = module.function("add");
  int64_t before = 0;

  explicit Fixture(unsigned flagsA = hipStreamNonBlocking, unsigned flagsB = hipStreamNonBlocking) {
    HIP_OK(hipStreamCreateWithFlags(&a, flagsA));
    HIP_OK(hipStreamCreateWithFlags(&b, flagsB));
    HIP_OK(hipEventCreate(&event));
    HIP_OK(hipDeviceSynchronize());
    before = findings();
  }
  ~Fixture() {
    (void)hipDeviceSynchronize();
    (void)hipEventDestroy(event);
    (void)hipStreamDestroy(a);
    (void)hipStreamDestroy(b);
  }
  void fill(hipStream_t stream, int *out, int count = kCount) {
    HIP_OK(launch1D(fillKernel, 4, 64, stream, out, 7, count));
  }
  void add(hipStream_t stream, int *in, int *out) {
    HIP_OK(launch1D(addKernel, 4, 64, stream, in, in, out, kCount));
  }
  /// An event in `from`, for which `to` waits.
  void order(hipStream_t from, hipStream_t to) {
    HIP_OK(hipEventRecord(event, from));
    HIP_OK(hipStreamWaitEvent(to, event, 0));
  }
  int64_t found() {
    HIP_OK(hipDeviceSynchronize());
    return findings() - before;
  }
  /// The one finding has all these words.
  void mustName(const std::vector<std::string> &words) {
    REQUIRE(found() == 1);
    std::string text;
    findings(&text);
    for (const std::string &word : words)
      CHECK_THAT(text, Catch::Contains(word));
  }
};

using Step = std::function<void(Fixture &)>;
struct Pair {
  const char *name;
  Step first, second; ///< in streams a and b
  std::vector<std::string> words;
};

std::vector<Pair> pairs() {
  static std::vector<int> host(kCount);
  static int *pinned = nullptr;
  if (!pinned)
    HIP_OK(hipHostMalloc(reinterpret_cast<void **>(&pinned), kBytes, 0));
  const Step produce = [](Fixture &f) { f.fill(f.a, f.x.data); };
  const Step consume = [](Fixture &f) { f.add(f.b, f.x.data, f.y.data); };
  return {
      {"a kernel that writes, a kernel that reads",
       produce,
       consume,
       {"kernel 'fill' in stream", "writes and kernel 'add' in stream", "reads the same memory",
        "is byte 0 of allocation", "hipStreamWaitEvent", "global_store"}},
      {"a kernel that reads, a kernel that writes",
       [](Fixture &f) { f.add(f.a, f.x.data, f.y.data); },
       [](Fixture &f) { f.fill(f.b, f.x.data); },
       {"kernel 'add' in stream", "reads and kernel 'fill' in stream", "writes the same memory"}},
      {"two kernels that write",
       produce,
       [](Fixture &f) { f.fill(f.b, f.x.data); },
       {"writes and kernel 'fill' in stream", "writes the same memory"}},
      {"a kernel that writes the last element only",
       [](Fixture &f) { f.fill(f.a, f.x.data + 255, 1); },
       consume,
       {"is byte 1020 of allocation"}},
      {"a copy to the device, a kernel",
       [](Fixture &f) {
         HIP_OK(hipMemcpyAsync(f.x.data, host.data(), kBytes, hipMemcpyHostToDevice, f.a));
       },
       consume,
       {"a copy from host memory to device memory in stream", "kernel 'add'"}},
      {"a copy on the device, a kernel",
       [](Fixture &f) {
         HIP_OK(hipMemcpyAsync(f.x.data, f.z.data, kBytes, hipMemcpyDeviceToDevice, f.a));
       },
       consume,
       {"a copy from device memory to device memory in stream"}},
      {"a fill, a kernel",
       [](Fixture &f) { HIP_OK(hipMemsetAsync(f.x.data, 0, kBytes, f.a)); },
       consume,
       {"a fill (hipMemset) in stream", "kernel 'add'"}},
      {"a kernel, a copy back to pinned memory",
       produce,
       [](Fixture &f) {
         HIP_OK(hipMemcpyAsync(pinned, f.x.data, kBytes, hipMemcpyDeviceToHost, f.b));
       },
       {"kernel 'fill'", "a copy from device memory to pinned memory in stream"}},
      {"a kernel, a copy back to pageable memory",
       produce,
       [](Fixture &f) {
         HIP_OK(hipMemcpyAsync(host.data(), f.x.data, kBytes, hipMemcpyDeviceToHost, f.b));
       },
       {"a copy from device memory to host memory in stream"}},
      {"two copies to pinned memory",
       [](Fixture &f) {
         HIP_OK(hipMemcpyAsync(pinned, f.x.data, kBytes, hipMemcpyDeviceToHost, f.a));
       },
       [](Fixture &f) {
         HIP_OK(hipMemcpyAsync(pinned, f.y.data, kBytes, hipMemcpyDeviceToHost, f.b));
       },
       {"writes and a copy from device memory to pinned memory in stream"}},
      {"rows that meet in one element",
       [](Fixture &f) { HIP_OK(hipMemset2DAsync(f.x.data, 64, 0, 8, 16, f.a)); },
       [](Fixture &f) { f.fill(f.b, f.x.data + 17, 1); },
       {"is byte 68 of allocation"}},
      {"a value that a stream writes, a kernel",
       [](Fixture &f) { HIP_OK(hipStreamWriteValue32(f.a, f.x.data, 1, 0)); },
       consume,
       {"hipStreamWriteValue in stream"}},
      {"a kernel, a launch of a graph",
       produce,
       [](Fixture &f) {
         hipGraph_t graph;
         hipGraphExec_t exec;
         HIP_OK(hipStreamBeginCapture(f.b, hipStreamCaptureModeRelaxed));
         f.add(f.b, f.x.data, f.y.data);
         HIP_OK(hipStreamEndCapture(f.b, &graph));
         HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
         HIP_OK(hipGraphLaunch(exec, f.b));
         HIP_OK(hipGraphExecDestroy(exec));
         HIP_OK(hipGraphDestroy(graph));
       },
       {"kernel 'add' in a graph that runs in stream"}},
  };
}

} // namespace

TEST_CASE("Two streams without an event race, and with one they do not", "[.streams]") {
  for (const Pair &pair : pairs()) {
    INFO(pair.name);
    {
      Fixture f;
      pair.first(f);
      pair.second(f);
      f.mustName(pair.words);
    }
    {
      Fixture f;
      pair.first(f);
      f.order(f.a, f.b);
      pair.second(f);
      CHECK(f.found() == 0);
    }
    {
      Fixture f;
      pair.first(f);
      HIP_OK(hipStreamSynchronize(f.a));
      pair.second(f);
      CHECK(f.found() == 0);
    }
    {
      Fixture f;
      pair.first(f);
      HIP_OK(hipEventRecord(f.event, f.a));
      HIP_OK(hipEventSynchronize(f.event));
      pair.second(f);
      CHECK(f.found() == 0);
    }
  }
}

TEST_CASE("A race is found when the first operation has long ended", "[.streams]") {
  Fixture f;
  f.fill(f.a, f.x.data);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  f.add(f.b, f.x.data, f.y.data);
  f.mustName({"kernel 'fill'", "kernel 'add'"});
}

TEST_CASE("An event that was recorded before the producer orders nothing", "[.streams]") {
  Fixture f;
  f.fill(f.a, f.z.data);
  HIP_OK(hipEventRecord(f.event, f.a));
  f.fill(f.a, f.x.data);
  HIP_OK(hipStreamWaitEvent(f.b, f.event, 0));
  f.add(f.b, f.x.data, f.y.data);
  f.mustName({"kernel 'fill'", "the event was recorded too early"});
}

TEST_CASE("An event that was recorded anew orders what comes before its last record",
          "[.streams]") {
  Fixture f;
  HIP_OK(hipEventRecord(f.event, f.a));
  f.fill(f.a, f.x.data);
  f.order(f.a, f.b);
  f.add(f.b, f.x.data, f.y.data);
  CHECK(f.found() == 0);
}

TEST_CASE("Events order through a third stream", "[.streams]") {
  Fixture f;
  hipStream_t third;
  HIP_OK(hipStreamCreateWithFlags(&third, hipStreamNonBlocking));
  f.fill(f.a, f.x.data);
  f.order(f.a, third);
  f.order(third, f.b);
  f.add(f.b, f.x.data, f.y.data);
  CHECK(f.found() == 0);
  HIP_OK(hipStreamDestroy(third));
}

TEST_CASE("The default stream orders blocking streams, and not the others", "[.streams]") {
  {
    Fixture f(hipStreamDefault, hipStreamDefault);
    f.fill(f.a, f.x.data);
    f.add(nullptr, f.x.data, f.y.data);
    f.add(f.b, f.y.data, f.z.data);
    CHECK(f.found() == 0);
  }
  {
    Fixture f(hipStreamDefault, hipStreamDefault);
    f.fill(f.a, f.x.data);
    f.add(f.b, f.x.data, f.y.data);
    f.mustName({"kernel 'fill'", "kernel 'add'"});
  }
  {
    Fixture f(hipStreamNonBlocking);
    f.fill(nullptr, f.x.data);
    f.add(f.a, f.x.data, f.y.data);
    f.mustName({"kernel 'fill' in the default stream", "hipStreamNonBlocking"});
  }
  {
    Fixture f;
    f.fill(hipStreamPerThread, f.x.data);
    f.add(nullptr, f.x.data, f.y.data);
    CHECK(f.found() == 0);
  }
  {
    Fixture f;
    f.fill(hipStreamPerThread, f.x.data);
    f.add(f.a, f.x.data, f.y.data);
    f.mustName({"kernel 'fill'"});
  }
}

TEST_CASE("Reads alone are no race, nor are writes of different bytes", "[.streams]") {
  Fixture f;
  f.add(f.a, f.x.data, f.y.data);
  f.add(f.b, f.x.data, f.z.data);
  CHECK(f.found() == 0);
  f.fill(f.a, f.x.data, 128);
  f.fill(f.b, f.x.data + 128, 128);
  CHECK(f.found() == 0);
}

TEST_CASE("A copy that waits orders what comes after it", "[.streams]") {
  Fixture f;
  std::vector<int> host(kCount);
  f.fill(f.a, f.x.data);
  HIP_OK(hipMemcpyWithStream(host.data(), f.z.data, kBytes, hipMemcpyDeviceToHost, f.a));
  f.add(f.b, f.x.data, f.y.data);
  CHECK(f.found() == 0);
}

TEST_CASE("What a host function tells the host orders what the host then does", "[.streams]") {
  Fixture f;
  std::atomic<bool> done{false};
  f.fill(f.a, f.x.data);
  HIP_OK(hipLaunchHostFunc(
      f.a, [](void *flag) { *static_cast<std::atomic<bool> *>(flag) = true; }, &done));
  while (!done)
    std::this_thread::yield();
  f.add(f.b, f.x.data, f.y.data);
  CHECK(f.found() == 0);
}

TEST_CASE("Nodes of a graph without an edge race, and with one they do not", "[.streams]") {
  for (const bool edge : {false, true}) {
    Fixture f;
    int *x = f.x.data, *y = f.y.data, value = 7, count = kCount;
    void *fillArguments[] = {&x, &value, &count, nullptr};
    void *addArguments[] = {&x, &x, &y, &count, nullptr};
    hipKernelNodeParams fill = {}, add = {};
    fill.func = f.fillKernel, add.func = f.addKernel;
    fill.gridDim = add.gridDim = dim3(4);
    fill.blockDim = add.blockDim = dim3(64);
    fill.kernelParams = fillArguments, add.kernelParams = addArguments;
    hipGraph_t graph;
    hipGraphNode_t first, second;
    hipGraphExec_t exec;
    HIP_OK(hipGraphCreate(&graph, 0));
    HIP_OK(hipGraphAddKernelNode(&first, graph, nullptr, 0, &fill));
    HIP_OK(hipGraphAddKernelNode(&second, graph, edge ? &first : nullptr, edge, &add));
    HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_OK(hipGraphLaunch(exec, f.a));
    HIP_OK(hipGraphLaunch(exec, f.a)); // one launch comes after the other
    if (edge)
      CHECK(f.found() == 0);
    else
      f.mustName({"kernel 'fill' in a graph", "kernel 'add' in a graph", "no edge of the graph",
                  "hipGraphAddDependencies"});
    HIP_OK(hipGraphExecDestroy(exec));
    HIP_OK(hipGraphDestroy(graph));
  }
}

TEST_CASE("A captured event makes the edge that its stream waits for", "[.streams]") {
  for (const bool early : {false, true}) {
    Fixture f;
    hipEvent_t join;
    hipGraph_t graph;
    hipGraphExec_t exec;
    HIP_OK(hipEventCreate(&join));
    HIP_OK(hipStreamBeginCapture(f.a, hipStreamCaptureModeRelaxed));
    if (early)
      f.order(f.a, f.b);
    f.fill(f.a, f.x.data);
    if (!early)
      f.order(f.a, f.b);
    f.add(f.b, f.x.data, f.y.data);
    HIP_OK(hipEventRecord(join, f.b));
    HIP_OK(hipStreamWaitEvent(f.a, join, 0));
    HIP_OK(hipStreamEndCapture(f.a, &graph));
    HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_OK(hipGraphLaunch(exec, f.a));
    if (early)
      f.mustName({"no edge of the graph"});
    else
      CHECK(f.found() == 0);
    HIP_OK(hipGraphExecDestroy(exec));
    HIP_OK(hipGraphDestroy(graph));
    HIP_OK(hipEventDestroy(join));
  }
}

TEST_CASE("Memory of a stream's pool is used in its order", "[.streams]") {
  for (const bool ordered : {true, false}) {
    INFO("ordered " << ordered);
    {
      Fixture f;
      int *p = nullptr;
      HIP_OK(hipMallocAsync(reinterpret_cast<void **>(&p), kBytes, f.a));
      if (ordered)
        f.order(f.a, f.b);
      f.fill(f.b, p);
      if (ordered)
        CHECK(f.found() == 0);
      else
        f.mustName({"hipMallocAsync in stream", "kernel 'fill'"});
      HIP_OK(hipFree(p));
    }
    {
      Fixture f;
      int *p = nullptr;
      HIP_OK(hipMalloc(reinterpret_cast<void **>(&p), kBytes));
      f.fill(f.a, p);
      if (ordered)
        f.order(f.a, f.b);
      HIP_OK(hipFreeAsync(p, ordered ? f.b : f.a));
      CHECK(f.found() == 0);
    }
  }
}

TEST_CASE("Memory that another stream still uses may not be freed", "[.streams]") {
  Fixture f;
  int *p = nullptr;
  HIP_OK(hipMalloc(reinterpret_cast<void **>(&p), kBytes));
  f.fill(f.a, p);
  std::this_thread::sleep_for(std::chrono::milliseconds(50)); // it has run; nothing says that
  HIP_OK(hipFreeAsync(p, f.b));
  f.mustName({"kernel 'fill'", "hipFreeAsync in stream"});
}

TEST_CASE("A long row of operations keeps little and finds what is at its end", "[.streams]") {
  Fixture f;
  for (int i = 0; i < 2000; ++i) {
    f.fill(f.a, f.x.data);
    f.add(f.a, f.x.data, f.z.data);
  }
  f.add(f.b, f.z.data, f.y.data);
  f.mustName({"kernel 'add'"});
}

TEST_CASE("Large copies are compared page by page", "[.streams]") {
  Fixture f;
  constexpr size_t kLarge = size_t(64) << 20;
  DeviceBuffer<char> p(kLarge), q(kLarge);
  f.before = findings();
  HIP_OK(hipMemsetAsync(p.data, 0, kLarge, f.a));
  HIP_OK(hipMemcpyAsync(q.data, p.data + kLarge / 2, kLarge / 2, hipMemcpyDeviceToDevice, f.b));
  f.mustName({"is byte " + std::to_string(kLarge / 2) + " of allocation"});
}

TEST_CASE("A value that a stream waits for orders what comes before it", "[.streams]") {
  for (const bool waits : {true, false}) {
    Fixture f;
    uint32_t *flag = nullptr;
    HIP_OK(hipHostMalloc(reinterpret_cast<void **>(&flag), sizeof *flag, 0));
    *flag = 0;
    if (waits)
      HIP_OK(hipStreamWaitValue32(f.b, flag, 1, hipStreamWaitValueEq, ~0u));
    f.add(f.b, f.x.data, f.y.data);
    f.fill(f.a, waits ? f.x.data : f.y.data);
    HIP_OK(hipStreamWriteValue32(f.a, flag, 1, 0));
    if (waits)
      CHECK(f.found() == 0);
    else
      f.mustName({"kernel 'add'", "kernel 'fill'"});
    HIP_OK(hipHostFree(flag));
  }
}
