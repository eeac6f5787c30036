#include "emulator/hip/report/launch_history.h"

namespace flyemu::hip {

bool LaunchHistory::count(bool enable) {
  std::lock_guard lock(mutex_);
  const int now = counting_.load() + (enable ? 1 : -1);
  if (now < 0)
    return false;
  counting_.store(now);
  return true;
}

void LaunchHistory::add(flydslEmulatorLaunch launch) {
  std::lock_guard lock(mutex_);
  launch.index = size_++;
  launches_.push_back(launch);
  if (launches_.size() > kMost)
    launches_.pop_front();
}

uint64_t LaunchHistory::size() const {
  std::lock_guard lock(mutex_);
  return size_;
}

bool LaunchHistory::get(uint64_t index, flydslEmulatorLaunch &launch) const {
  std::lock_guard lock(mutex_);
  const uint64_t first = size_ - launches_.size();
  if (index < first || index >= size_)
    return false;
  launch = launches_[index - first];
  return true;
}

void LaunchHistory::noteFinding(const std::string &message) {
  std::lock_guard lock(mutex_);
  ++findings_;
  newestFinding_ = message;
}

uint64_t LaunchHistory::findings(std::string &newest) const {
  std::lock_guard lock(mutex_);
  newest = newestFinding_;
  return findings_;
}

} // namespace flyemu::hip
