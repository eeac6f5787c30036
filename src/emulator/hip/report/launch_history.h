// The counted launches of a device: the last ones are kept for whoever asks.
#pragma once

#include <flydsl/emulator.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>

namespace flyemu::hip {

class LaunchHistory {
public:
  /// Begins or ends counting; false for an end without a beginning.
  bool count(bool enable);
  bool counting() const { return counting_.load(std::memory_order_acquire) > 0; }

  /// Keeps a launch, whose index it sets.
  void add(flydslEmulatorLaunch launch);
  uint64_t size() const;
  /// False if the launch does not exist or is kept no more.
  bool get(uint64_t index, flydslEmulatorLaunch &launch) const;

  /// Findings of checks are counted in launches that are not.
  void noteFinding(const std::string &message);
  /// How many there were, and the newest one.
  uint64_t findings(std::string &newest) const;

private:
  static constexpr size_t kMost = 1024;
  std::atomic<int> counting_{0};
  mutable std::mutex mutex_;
  std::deque<flydslEmulatorLaunch> launches_;
  uint64_t size_ = 0;
  uint64_t findings_ = 0;
  std::string newestFinding_;
};

} // namespace flyemu::hip
