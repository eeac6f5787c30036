#include "emulator/hip/stream/shared_event.h"

#include "emulator/hip/status.h"
#include "support/process.h"

#include <chrono>
#include <thread>
#include <unistd.h>

namespace flyemu::hip {

SharedEvent::SharedEvent(const SharedHandle &handle)
    : memory_(handle, SharedKind::Event) {
  if (memory_.size() != sizeof(State))
    fail(hipErrorInvalidValue, "the event's handle is of another version of the emulator");
}

uint64_t SharedEvent::record() {
  state().recorder.store(getpid(), std::memory_order_release);
  return state().recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
}

void SharedEvent::reach(uint64_t number) {
  std::atomic<uint64_t> &reached = state().reached;
  uint64_t before = reached.load(std::memory_order_acquire);
  while (before < number && !reached.compare_exchange_weak(before, number))
    ;
}

void SharedEvent::wait(uint64_t number, const std::function<void()> &whileWaiting) const {
  for (unsigned turn = 0; !reached(number); ++turn) {
    whileWaiting();
    const int recorder = state().recorder.load(std::memory_order_acquire);
    if (turn % 1024 == 1023 && !flydsl::support::isAlive(recorder) && !reached(number))
      fail(hipErrorUnknown, "an event is waited for that process " + std::to_string(recorder) +
                                " recorded, and that process has ended before it came there");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

} // namespace flyemu::hip
