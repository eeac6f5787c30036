// The counters of the process, and the list of its subscribers.
#include "jit/launch/events.h"

#include "cache/remote/counters.h"
#include "support/log.h"
#include "support/process_use.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace flydsl::jit {
namespace {

struct Registry {
  std::mutex countersMutex;
  Stats stats;
  // Shared while a callback runs, so that a subscription's end waits for it.
  std::shared_mutex subscribersMutex;
  std::map<std::uint64_t, std::function<void(const EventInfo &)>> subscribers;
  std::uint64_t nextId = 1;
};

/// Never destroyed: subscriptions may be objects with static storage.
Registry &registry() {
  static Registry &made = *new Registry;
  return made;
}

void count(Stats &stats, const EventInfo &event) {
  switch (event.kind) {
  case EventInfo::Kind::traced:
    ++stats.traces;
    stats.trace_milliseconds += event.milliseconds;
    break;
  case EventInfo::Kind::compiled:
    ++stats.compiles;
    stats.bytes_compiled += event.bytes;
    stats.compile_milliseconds += event.milliseconds;
    break;
  case EventInfo::Kind::memory_hit:
    ++stats.memory_hits;
    break;
  case EventInfo::Kind::disk_hit:
    ++stats.disk_hits;
    stats.bytes_from_disk += event.bytes;
    stats.disk_milliseconds += event.milliseconds;
    break;
  case EventInfo::Kind::remote_hit:
    break; // the fleet's cache counts by itself, requests for other things too
  case EventInfo::Kind::loaded:
    ++stats.loads;
    stats.load_milliseconds += event.milliseconds;
    break;
  case EventInfo::Kind::failed:
    ++stats.failures;
    break;
  }
}

} // namespace

void report(const EventInfo &event) {
  Registry &all = registry();
  {
    std::lock_guard<std::mutex> lock(all.countersMutex);
    count(all.stats, event);
  }
  std::shared_lock<std::shared_mutex> lock(all.subscribersMutex);
  for (const auto &[id, told] : all.subscribers) {
    try {
      told(event);
    } catch (const std::exception &error) {
      support::log().error("an event callback threw: {}", error.what());
    } catch (...) {
      support::log().error("an event callback threw");
    }
  }
}

} // namespace flydsl::jit

FLYDSL_NAMESPACE_BEGIN

Stats stats() {
  support::enterLibrary();
  jit::Registry &all = jit::registry();
  std::lock_guard<std::mutex> lock(all.countersMutex);
  Stats stats = all.stats;
  const cache::RemoteCounters &remote = cache::remoteCounters();
  stats.remote_hits = remote.hits;
  stats.remote_misses = remote.misses;
  stats.remote_stores = remote.stores;
  stats.remote_rejected = remote.rejected;
  stats.remote_failures = remote.failures;
  stats.remote_skipped = remote.skipped;
  stats.bytes_from_remote = remote.bytes;
  stats.remote_milliseconds = static_cast<double>(remote.microseconds) / 1000;
  return stats;
}

EventSubscription on_event(std::function<void(const EventInfo &)> told) {
  support::enterLibrary();
  jit::Registry &all = jit::registry();
  std::unique_lock<std::shared_mutex> lock(all.subscribersMutex);
  const std::uint64_t id = all.nextId++;
  all.subscribers.emplace(id, std::move(told));
  return EventSubscription(id);
}

EventSubscription::~EventSubscription() {
  if (!id_ || support::lostByFork())
    return;
  jit::Registry &all = jit::registry();
  std::unique_lock<std::shared_mutex> lock(all.subscribersMutex);
  all.subscribers.erase(id_);
}

FLYDSL_NAMESPACE_END
