// What this process's requests of the fleet's cache came to.
#pragma once

#include <atomic>
#include <cstdint>

namespace flydsl::cache {

struct RemoteCounters {
  std::atomic<std::uint64_t> hits{0}, misses{0}, stores{0}, rejected{0}, failures{0}, skipped{0};
  std::atomic<std::uint64_t> bytes{0}, microseconds{0};
};

/// The counters of the process, of all its tiers.
RemoteCounters &remoteCounters();

} // namespace flydsl::cache
