// Memory and events of two processes. Each case forks before it uses HIP, so both processes start
// their devices by themselves.
#include "support.h"
#include "time_limit.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

/// Bytes that two processes tell each other, in their order.
class Pipe {
public:
  Pipe() { REQUIRE(pipe(ends_) == 0); }
  template <class T> void tell(const T &value) const {
    if (write(ends_[1], &value, sizeof value) != sizeof value)
      _exit(90);
  }
  /// Where the other process has died, nothing comes: this process has the pipe's other end, too.
  template <class T> T hear() const {
    T value{};
    pollfd waits{ends_[0], POLLIN, 0};
    if (poll(&waits, 1, int(flydsl::testing::kTimesLonger) * 60'000) != 1)
      _exit(92);
    if (read(ends_[0], &value, sizeof value) != sizeof value)
      _exit(91);
    return value;
  }

private:
  int ends_[2];
};

/// In a child a wrong status ends the process with its line; the parent sees it as its result.
#define CHILD_OK(call)                                                                             \
  if ((call) != hipSuccess)                                                                        \
  _exit(__LINE__ % 256)
#define CHILD_EXPECT(condition)                                                                    \
  if (!(condition))                                                                                \
  _exit(__LINE__ % 256)

class Child {
public:
  template <class F> explicit Child(const F &body) {
    process_ = fork();
    if (process_ == 0) {
      body();
      _exit(0);
    }
  }
  int process() const { return process_; }
  /// 0, or the line where it went wrong.
  int result() const {
    int status = 0;
    REQUIRE(waitpid(process_, &status, 0) == process_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

private:
  pid_t process_;
};

struct TwoWay {
  Pipe toChild, toParent;
};

} // namespace

TEST_CASE("Kernels of two processes work on one memory, and their atomics count together") {
  constexpr int kWords = 300, kTurns = 200;
  const TwoWay pipes;
  const Child owner([&] {
    int *data = nullptr;
    CHILD_OK(hipMalloc(reinterpret_cast<void **>(&data), kWords * sizeof(int)));
    std::vector<int> values(kWords, 7);
    CHILD_OK(hipMemcpy(data, values.data(), kWords * sizeof(int), hipMemcpyHostToDevice));
    hipIpcMemHandle_t handle, again;
    CHILD_OK(hipIpcGetMemHandle(&handle, data));
    CHILD_OK(hipIpcGetMemHandle(&again, data));
    CHILD_EXPECT(std::memcmp(&handle, &again, sizeof handle) == 0);
    pipes.toParent.tell(handle);
    TestModule module;
    CHILD_OK(launch1D(module.function("add_for_all"), 4, 64, nullptr, data, kTurns));
    CHILD_OK(hipDeviceSynchronize());
    pipes.toParent.tell(1);
    CHILD_EXPECT(pipes.toChild.hear<int>() == 2);
    int total = 0;
    CHILD_OK(hipMemcpy(&total, data, sizeof total, hipMemcpyDeviceToHost));
    CHILD_EXPECT(total == 7 + 2 * 4 * 64 * kTurns);
    CHILD_OK(hipFree(data));
    pipes.toParent.tell(3);
    CHILD_EXPECT(pipes.toChild.hear<int>() == 4);
  });
  const auto handle = pipes.toParent.hear<hipIpcMemHandle_t>();
  int *data = nullptr, *twice = nullptr;
  HIP_OK(hipIpcOpenMemHandle(reinterpret_cast<void **>(&data), handle, 0));
  HIP_OK(hipIpcOpenMemHandle(reinterpret_cast<void **>(&twice), handle, 0));
  CHECK(data == twice);
  {
    TestModule module;
    HIP_OK(launch1D(module.function("add_for_all"), 4, 64, nullptr, data, kTurns));
    HIP_OK(hipDeviceSynchronize());
    REQUIRE(pipes.toParent.hear<int>() == 1);
    std::vector<int> values(kWords);
    HIP_OK(hipMemcpy(values.data(), data, kWords * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(values[0] == 7 + 2 * 4 * 64 * kTurns);
    CHECK(std::vector<int>(values.begin() + 1, values.end()) == std::vector<int>(kWords - 1, 7));
    // It ends where it ends in the other process.
    CHECK(hipMemset(data, 0, (kWords + 1) * sizeof(int)) == hipErrorInvalidValue);
    CHECK(hipFree(data) == hipErrorInvalidValue);
    pipes.toChild.tell(2);
    REQUIRE(pipes.toParent.hear<int>() == 3);
    // Its owner has freed it: on hardware that is undefined, here it is a fault that says so.
    HIP_OK(launch1D(module.function("add_for_all"), 1, 64, nullptr, data, 1));
    CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
    void *late = nullptr;
    CHECK(hipIpcOpenMemHandle(&late, handle, 0) == hipErrorInvalidDevicePointer);
    pipes.toChild.tell(4);
  }
  CHECK(owner.result() == 0);
  HIP_OK(hipDeviceReset()); // forgets the fault, and closes what its device has opened
  CHECK(hipIpcCloseMemHandle(data) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("Memory that another process opened is closed as often as it was opened") {
  const TwoWay pipes;
  const Child owner([&] {
    void *data = nullptr;
    CHILD_OK(hipExtMallocWithFlags(&data, 1 << 20, 3));
    hipIpcMemHandle_t handle;
    CHILD_OK(hipIpcGetMemHandle(&handle, data));
    CHILD_EXPECT(hipIpcGetMemHandle(&handle, static_cast<char *>(data) + 256) ==
                 hipErrorInvalidDevicePointer);
    void *own = nullptr;
    CHILD_EXPECT(hipIpcOpenMemHandle(&own, handle, 0) == hipErrorInvalidContext);
    pipes.toParent.tell(handle);
    CHILD_EXPECT(pipes.toChild.hear<int>() == 1);
    CHILD_OK(hipFree(data));
  });
  const auto handle = pipes.toParent.hear<hipIpcMemHandle_t>();
  void *data = nullptr;
  CHECK(hipIpcOpenMemHandle(&data, handle, 2) == hipErrorInvalidValue);
  HIP_OK(hipIpcOpenMemHandle(&data, handle, 0));
  HIP_OK(hipIpcOpenMemHandle(&data, handle, 0));
  HIP_OK(hipIpcCloseMemHandle(data));
  HIP_OK(hipMemset(data, 1, 16));
  HIP_OK(hipIpcCloseMemHandle(data));
  CHECK(hipMemset(data, 1, 16) == hipErrorInvalidValue);
  CHECK(hipIpcCloseMemHandle(data) == hipErrorInvalidValue);
  pipes.toChild.tell(1);
  CHECK(owner.result() == 0);
  CHECK(hipIpcOpenMemHandle(&data, handle, 0) == hipErrorInvalidDevicePointer); // it has ended
  hipIpcMemHandle_t none = {};
  CHECK(hipIpcOpenMemHandle(&data, none, 0) == hipErrorInvalidDevicePointer);
  // A handle of memory is none of an event.
  hipIpcEventHandle_t other;
  static_assert(sizeof other == sizeof handle);
  std::memcpy(&other, &handle, sizeof other);
  hipEvent_t event;
  CHECK(hipIpcOpenEventHandle(&event, other) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("A stream waits for an event that another process records") {
  const TwoWay pipes;
  const Child recorder([&] {
    hipEvent_t event;
    CHILD_EXPECT(hipEventCreateWithFlags(&event, hipEventInterprocess) == hipErrorInvalidValue);
    CHILD_OK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
    hipEvent_t plain;
    CHILD_OK(hipEventCreate(&plain));
    hipIpcEventHandle_t handle;
    CHILD_EXPECT(hipIpcGetEventHandle(&handle, plain) == hipErrorInvalidConfiguration);
    CHILD_OK(hipIpcGetEventHandle(&handle, event));
    CHILD_OK(hipLaunchHostFunc(
        nullptr,
        [](void *pipes) {
          CHILD_EXPECT(static_cast<const TwoWay *>(pipes)->toChild.hear<int>() == 1);
        },
        const_cast<TwoWay *>(&pipes)));
    CHILD_OK(hipEventRecord(event, nullptr));
    pipes.toParent.tell(handle);
    CHILD_OK(hipDeviceSynchronize());
    CHILD_EXPECT(pipes.toChild.hear<int>() == 2);
    // A handle that the other process made of the event that it opened.
    hipEvent_t same;
    CHILD_OK(hipIpcOpenEventHandle(&same, pipes.toChild.hear<hipIpcEventHandle_t>()));
    CHILD_OK(hipEventSynchronize(same));
  });
  const auto handle = pipes.toParent.hear<hipIpcEventHandle_t>();
  hipEvent_t event;
  HIP_OK(hipIpcOpenEventHandle(&event, handle));
  CHECK(hipEventQuery(event) == hipErrorNotReady);
  hipStream_t stream;
  HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  HIP_OK(hipStreamWaitEvent(stream, event, 0));
  CHECK(hipStreamQuery(stream) == hipErrorNotReady);
  pipes.toChild.tell(1);
  HIP_OK(hipStreamSynchronize(stream));
  HIP_OK(hipEventQuery(event));
  HIP_OK(hipEventSynchronize(event));
  pipes.toChild.tell(2);
  hipIpcEventHandle_t onward;
  HIP_OK(hipIpcGetEventHandle(&onward, event));
  pipes.toChild.tell(onward);
  CHECK(recorder.result() == 0);
  HIP_OK(hipEventDestroy(event));
  HIP_OK(hipStreamDestroy(stream));
}

TEST_CASE("A stream that waits for an event of a process that ended fails, and does not hang") {
  const TwoWay pipes;
  const Child recorder([&] {
    hipEvent_t event;
    CHILD_OK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
    CHILD_OK(hipLaunchHostFunc(
        nullptr, [](void *) { std::this_thread::sleep_for(std::chrono::hours(1)); }, nullptr));
    CHILD_OK(hipEventRecord(event, nullptr));
    hipIpcEventHandle_t handle;
    CHILD_OK(hipIpcGetEventHandle(&handle, event));
    pipes.toParent.tell(handle);
    (void)hipDeviceSynchronize();
  });
  const auto handle = pipes.toParent.hear<hipIpcEventHandle_t>();
  hipEvent_t event;
  HIP_OK(hipIpcOpenEventHandle(&event, handle));
  HIP_OK(hipStreamWaitEvent(nullptr, event, 0));
  REQUIRE(kill(recorder.process(), SIGKILL) == 0);
  CHECK(recorder.result() == 1000 + SIGKILL);
  CHECK(hipStreamSynchronize(nullptr) == hipErrorUnknown);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("Flags of allocations that HIP does not know are refused") {
  void *data = nullptr;
  CHECK(hipExtMallocWithFlags(&data, 64, 4) == hipErrorInvalidValue);
  CHECK(hipExtMallocWithFlags(&data, 64, hipMallocSignalMemory) == hipErrorInvalidValue);
  HIP_OK(hipExtMallocWithFlags(&data, 8, hipMallocSignalMemory));
  HIP_OK(hipStreamWriteValue64(nullptr, data, 5, 0));
  HIP_OK(hipStreamWaitValue64(nullptr, data, 5, hipStreamWaitValueEq, ~uint64_t(0)));
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipFree(data));
  CHECK(hipHostMalloc(&data, 64, 0x40) == hipErrorInvalidValue);
  CHECK(hipHostMalloc(&data, 64, hipHostMallocCoherent | hipHostMallocNonCoherent) ==
        hipErrorInvalidValue);
  HIP_OK(hipHostMalloc(&data, 64, hipHostMallocPortable | hipHostMallocMapped));
  HIP_OK(hipHostFree(data));
  (void)hipGetLastError();
}
