// One thing per device, made when it is first asked for, and kept.
#pragma once

#include "runtime/driver/driver.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace flydsl::runtime {

/// The lock for changes of what readers see without one. A change takes no time, so one lock serves
/// all.
std::mutex &publishing();

/// A slot for each device. Readers take no lock: what is published stays for as long as this lives.
template <class T> class PerDevice {
public:
  /// For devices 0 to `count` - 1. Where devices are not counted yet, kMaxDevices is enough.
  explicit PerDevice(int count)
      : slots_(new std::atomic<const T *>[static_cast<std::size_t>(count)]()) {}

  /// Null until something is published for the device.
  const T *find(int device) const {
    return slots_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  }
  /// Keeps `made`, unless another thread was faster: the first one stays and is returned.
  const T &publish(int device, std::shared_ptr<const T> made) {
    std::lock_guard<std::mutex> lock(publishing());
    std::atomic<const T *> &slot = slots_[static_cast<std::size_t>(device)];
    if (const T *first = slot.load(std::memory_order_relaxed))
      return *first;
    owned_.push_back(std::move(made));
    slot.store(owned_.back().get(), std::memory_order_release);
    return *owned_.back();
  }

private:
  std::unique_ptr<std::atomic<const T *>[]> slots_;
  std::vector<std::shared_ptr<const T>> owned_;
};

} // namespace flydsl::runtime
