// Streams: asynchrony, order within and between, the default stream's rules, host functions, bad
// handles.
#include "support.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace {

/// Holds a stream until it is opened, and tells whether the stream got there.
struct Gate {
  std::atomic<bool> reached{false}, open{false};
  static void wait(void *self) {
    auto *gate = static_cast<Gate *>(self);
    gate->reached = true;
    while (!gate->open)
      std::this_thread::yield();
  }
  void close(hipStream_t stream) { HIP_OK(hipLaunchHostFunc(stream, wait, this)); }
};

struct TwoStreams {
  hipStream_t a, b;
  explicit TwoStreams(unsigned flags = hipStreamDefault) {
    HIP_OK(hipStreamCreateWithFlags(&a, flags));
    HIP_OK(hipStreamCreateWithFlags(&b, flags));
  }
  ~TwoStreams() {
    (void)hipStreamDestroy(a);
    (void)hipStreamDestroy(b);
  }
};

void pauseBriefly() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

} // namespace

TEST_CASE("Calls return before the work is done; query and synchronize tell") {
  TwoStreams streams;
  Gate gate;
  gate.close(streams.a);
  CHECK(hipStreamQuery(streams.a) == hipErrorNotReady);
  CHECK(hipPeekAtLastError() == hipSuccess); // "not ready" is no error
  CHECK(hipStreamQuery(streams.b) == hipSuccess);
  gate.open = true;
  HIP_OK(hipStreamSynchronize(streams.a));
  CHECK(hipStreamQuery(streams.a) == hipSuccess);
}

TEST_CASE("A stream runs in order, whatever the operations are") {
  TestModule module;
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  DeviceBuffer<int> a(256), b(256);
  std::vector<int> seen;
  HIP_OK(hipMemsetAsync(a.data, 0, 1024, stream));
  for (int i = 1; i <= 20; ++i) {
    HIP_OK(launch1D(module.function("fill"), 4, 64, stream, a.data, i, 256));
    HIP_OK(launch1D(module.function("add"), 4, 64, stream, a.data, i == 1 ? a.data : b.data, b.data,
                    256));
  }
  HIP_OK(hipStreamSynchronize(stream));
  CHECK(b.read() == std::vector<int>(256, 1 + 20 * 21 / 2));
  HIP_OK(hipStreamDestroy(stream));
}

TEST_CASE("Streams run beside each other") {
  TwoStreams streams;
  Gate first, second;
  first.close(streams.a);
  second.close(streams.b);
  for (int i = 0; i < 1000 && !(first.reached && second.reached); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(first.reached);
  CHECK(second.reached);
  first.open = second.open = true;
  HIP_OK(hipDeviceSynchronize());
}

TEST_CASE("An event makes one stream wait for another") {
  TwoStreams streams;
  Gate gate, behind;
  hipEvent_t event;
  HIP_OK(hipEventCreate(&event));
  gate.close(streams.a);
  HIP_OK(hipEventRecord(event, streams.a));
  HIP_OK(hipStreamWaitEvent(streams.b, event, 0));
  behind.open = true;
  behind.close(streams.b);
  pauseBriefly();
  CHECK_FALSE(behind.reached);
  CHECK(hipEventQuery(event) == hipErrorNotReady);
  gate.open = true;
  HIP_OK(hipStreamSynchronize(streams.b));
  CHECK(behind.reached);
  CHECK(hipEventQuery(event) == hipSuccess);
  HIP_OK(hipEventDestroy(event));
}

TEST_CASE("The default stream waits for blocking streams, and they for it") {
  TwoStreams blocking;
  TwoStreams loose(hipStreamNonBlocking);
  Gate first, second, third, beside;
  first.close(blocking.a);
  second.close(nullptr); // behind the first
  third.open = true;
  third.close(blocking.b); // behind the second
  beside.open = true;
  beside.close(loose.a); // waits for nobody
  HIP_OK(hipStreamSynchronize(loose.a));
  CHECK(beside.reached);
  pauseBriefly();
  CHECK_FALSE(second.reached);
  CHECK_FALSE(third.reached);
  first.open = true;
  while (!second.reached)
    std::this_thread::yield();
  pauseBriefly();
  CHECK_FALSE(third.reached);
  second.open = true;
  HIP_OK(hipDeviceSynchronize());
  CHECK(third.reached);
}

TEST_CASE("Callbacks get the stream, the status and their data") {
  struct Seen {
    hipStream_t stream = nullptr;
    hipError_t status = hipErrorUnknown;
  } seen;
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipStreamAddCallback(
      stream,
      [](hipStream_t s, hipError_t status, void *data) {
        *static_cast<Seen *>(data) = {s, status};
      },
      &seen, 0));
  HIP_OK(hipStreamSynchronize(stream));
  CHECK(seen.stream == stream);
  CHECK(seen.status == hipSuccess);
  HIP_OK(hipStreamDestroy(stream));
}

TEST_CASE("Flags and priorities come back; unknown flags are refused") {
  hipStream_t stream;
  int least = 0, greatest = 0, priority = 9;
  unsigned flags = 9;
  HIP_OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest < least);
  HIP_OK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest - 5));
  HIP_OK(hipStreamGetPriority(stream, &priority));
  CHECK(priority == greatest);
  HIP_OK(hipStreamGetFlags(stream, &flags));
  CHECK(flags == hipStreamNonBlocking);
  HIP_OK(hipStreamDestroy(stream));
  CHECK(hipStreamCreateWithFlags(&stream, 64) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("Stale and wild handles are errors") {
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipStreamDestroy(stream));
  CHECK(hipStreamSynchronize(stream) == hipErrorInvalidHandle);
  CHECK(hipStreamDestroy(stream) == hipErrorInvalidHandle);
  CHECK(hipStreamQuery(reinterpret_cast<hipStream_t>(0x1234)) == hipErrorInvalidHandle);
  CHECK(hipEventRecord(reinterpret_cast<hipEvent_t>(0x10), nullptr) == hipErrorInvalidHandle);
  CHECK(hipModuleUnload(reinterpret_cast<hipModule_t>(0x10)) == hipErrorInvalidHandle);
  CHECK(hipGraphDestroy(reinterpret_cast<hipGraph_t>(0x10)) == hipErrorInvalidHandle);
  (void)hipGetLastError();
}

TEST_CASE("A destroyed stream finishes its work first") {
  DeviceBuffer<int> a(1024);
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  for (int i = 0; i < 50; ++i)
    HIP_OK(hipMemsetD32Async(reinterpret_cast<hipDeviceptr_t>(a.data), i, 1024, stream));
  HIP_OK(hipStreamDestroy(stream));
  CHECK(a.read() == std::vector<int>(1024, 49));
}

TEST_CASE("Each thread has its own per-thread stream") {
  Gate gate;
  gate.close(hipStreamPerThread);
  hipError_t elsewhere = hipErrorUnknown;
  std::thread([&] { elsewhere = hipStreamQuery(hipStreamPerThread); }).join();
  CHECK(elsewhere == hipSuccess);
  CHECK(hipStreamQuery(hipStreamPerThread) == hipErrorNotReady);
  gate.open = true;
  HIP_OK(hipStreamSynchronize(hipStreamPerThread));
}

TEST_CASE("A stream waits for a value in memory, and writes one") {
  TwoStreams streams(hipStreamNonBlocking);
  DeviceBuffer<uint32_t> flag(1);
  Gate behind;
  HIP_OK(hipMemset(flag.data, 0, 4));
  HIP_OK(hipStreamWaitValue32(streams.a, flag.data, 3, hipStreamWaitValueGte, 0xFFFFFFFF));
  behind.open = true;
  behind.close(streams.a);
  pauseBriefly();
  CHECK_FALSE(behind.reached);
  HIP_OK(hipStreamWriteValue32(streams.b, flag.data, 3, 0));
  HIP_OK(hipStreamSynchronize(streams.a));
  CHECK(behind.reached);
}

TEST_CASE("Many threads use many streams at once") {
  TestModule module;
  hipFunction_t fill = module.function("fill");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        hipStream_t stream;
        int *p, back = 0, value = t * 100 + round, count = 64;
        void *arguments[] = {&p, &value, &count};
        wrong += hipStreamCreate(&stream) != hipSuccess;
        wrong += hipMalloc(reinterpret_cast<void **>(&p), 256) != hipSuccess;
        wrong += hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr) !=
                 hipSuccess;
        wrong += hipMemcpyAsync(&back, p + 63, 4, hipMemcpyDeviceToHost, stream) != hipSuccess;
        wrong += hipStreamSynchronize(stream) != hipSuccess || back != value;
        wrong += hipFree(p) != hipSuccess;
        wrong += hipStreamDestroy(stream) != hipSuccess;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

// With HIP_LAUNCH_BLOCKING=1.
TEST_CASE("A launch returns when its kernel has ended where HIP_LAUNCH_BLOCKING says so",
          "[.blocking]") {
  TwoStreams streams;
  TestModule module;
  DeviceBuffer<int> values(64);
  Gate gate;
  gate.close(streams.a);
  std::thread opener([&] {
    pauseBriefly();
    gate.open = true;
  });
  HIP_OK(launch1D(module.function("fill"), 1, 64, streams.a, values.data, 7, 64));
  const hipError_t after = hipStreamQuery(streams.a);
  opener.join();
  CHECK(after == hipSuccess);
  CHECK(values.read() == std::vector<int>(64, 7));
}
