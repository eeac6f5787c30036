// Events: states, times, flags.
#include "support.h"

#include <atomic>
#include <chrono>
#include <thread>

TEST_CASE("An event that was never recorded counts as done, and has no time") {
  hipEvent_t a, b;
  HIP_OK(hipEventCreate(&a));
  HIP_OK(hipEventCreate(&b));
  HIP_OK(hipEventQuery(a));
  HIP_OK(hipEventSynchronize(a));
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, a, b) == hipErrorInvalidHandle);
  HIP_OK(hipEventDestroy(a));
  HIP_OK(hipEventDestroy(b));
  CHECK(hipEventDestroy(a) == hipErrorInvalidHandle);
  (void)hipGetLastError();
}

TEST_CASE("A record that is refused leaves an event of several processes as it was") {
  hipEvent_t event;
  HIP_OK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipEventRecord(event, nullptr) == hipErrorStreamCaptureImplicit);
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
  // It waits for nothing: no record is under way.
  HIP_OK(hipEventQuery(event));
  HIP_OK(hipEventSynchronize(event));
  HIP_OK(hipEventRecord(event, nullptr));
  HIP_OK(hipEventSynchronize(event));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipEventDestroy(event));
  (void)hipGetLastError();
}

TEST_CASE("Elapsed time is that of the work between") {
  hipEvent_t start, stop;
  HIP_OK(hipEventCreate(&start));
  HIP_OK(hipEventCreate(&stop));
  HIP_OK(hipEventRecord(start, nullptr));
  std::atomic<bool> asked = false; // the time, before there is one
  HIP_OK(hipLaunchHostFunc(
      nullptr,
      [](void *asked) {
        while (!*static_cast<std::atomic<bool> *>(asked))
          std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
      },
      &asked));
  HIP_OK(hipEventRecord(stop, nullptr));
  float ms = -1;
  CHECK(hipEventElapsedTime(&ms, start, stop) == hipErrorNotReady);
  asked = true;
  HIP_OK(hipEventSynchronize(stop));
  HIP_OK(hipEventElapsedTime(&ms, start, stop));
  CHECK(ms >= 29);
  CHECK(ms < 5000);
  HIP_OK(hipEventElapsedTime(&ms, stop, start));
  CHECK(ms <= -29);
  HIP_OK(hipEventDestroy(start));
  HIP_OK(hipEventDestroy(stop));
}

TEST_CASE("A second record moves the event") {
  hipEvent_t event;
  HIP_OK(hipEventCreate(&event));
  HIP_OK(hipEventRecord(event, nullptr));
  HIP_OK(hipEventSynchronize(event));
  static std::atomic<bool> open;
  open = false;
  HIP_OK(hipLaunchHostFunc(
      nullptr,
      [](void *) {
        while (!open)
          std::this_thread::yield();
      },
      nullptr));
  HIP_OK(hipEventRecord(event, nullptr));
  CHECK(hipEventQuery(event) == hipErrorNotReady);
  open = true;
  HIP_OK(hipEventSynchronize(event));
  HIP_OK(hipEventDestroy(event));
}

TEST_CASE("Events without timing refuse to tell the time; unknown flags are refused") {
  hipEvent_t event;
  HIP_OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  HIP_OK(hipEventRecord(event, nullptr));
  HIP_OK(hipEventSynchronize(event));
  float ms;
  CHECK(hipEventElapsedTime(&ms, event, event) == hipErrorInvalidHandle);
  HIP_OK(hipEventDestroy(event));
  CHECK(hipEventCreateWithFlags(&event, 0x100) == hipErrorInvalidValue);
  CHECK(hipEventCreateWithFlags(&event, hipEventInterprocess) == hipErrorInvalidValue);
  (void)hipGetLastError();
}
