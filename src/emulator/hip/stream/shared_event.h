// An event of several processes: how often it was recorded, and which of these records were reached.
#pragma once

#include "emulator/hip/device/shared_memory.h"

#include <atomic>
#include <functional>

namespace flyemu::hip {

class SharedEvent {
public:
  SharedEvent() : memory_(SharedKind::Event, sizeof(State)) {}
  /// That of another process. Throws StatusError as SharedMemory does.
  explicit SharedEvent(const SharedHandle &handle);

  SharedHandle handle() const { return memory_.handle(); }
  /// A record is submitted; returns its number, from 1.
  uint64_t record();
  /// The record was reached.
  void reach(uint64_t number);
  /// The number of the last record, 0 before the first.
  uint64_t last() const { return state().recorded.load(std::memory_order_acquire); }
  bool reached(uint64_t number) const {
    return state().reached.load(std::memory_order_acquire) >= number;
  }
  /// Returns when that record is reached. Throws StatusError if the process that recorded last has
  /// ended before; calls \p whileWaiting now and then, which may throw.
  void wait(uint64_t number, const std::function<void()> &whileWaiting) const;

private:
  struct State {
    std::atomic<uint64_t> recorded, reached;
    std::atomic<int32_t> recorder; ///< the process of the last record
  };
  State &state() const { return *reinterpret_cast<State *>(memory_.base()); }
  SharedMemory memory_;
};

} // namespace flyemu::hip
