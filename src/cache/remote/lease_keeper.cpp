#include "cache/remote/lease_keeper.h"

#include "support/process_use.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

namespace flydsl::cache {

static void keep(const std::stop_token &stop, std::chrono::milliseconds period, int most,
                 const std::function<bool()> &renew) {
  std::mutex mutex; // nobody else has it: only a stop ends a wait early
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  for (int i = 0; i < most; ++i) {
    wake.wait_for(lock, stop, period, [] { return false; });
    if (stop.stop_requested() || !renew())
      return;
  }
}

LeaseKeeper::LeaseKeeper(std::chrono::milliseconds period, int most, std::function<bool()> renew) {
  try {
    thread_ = std::jthread([period, most, renew = std::move(renew)](const std::stop_token &stop) {
      keep(stop, period, most, renew);
    });
  } catch (const std::system_error &) {
  }
}

LeaseKeeper::~LeaseKeeper() {
  if (support::lostByFork() && thread_.joinable())
    thread_.detach();
}

} // namespace flydsl::cache
