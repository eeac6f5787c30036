#include "jit/launch/events.h"

#include "support/log.h"

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
  jit::Registry &all = jit::registry();
  std::lock_guard<std::mutex> lock(all.countersMutex);
  return all.stats;
}

EventSubscription on_event(std::function<void(const EventInfo &)> told) {
  jit::Registry &all = jit::registry();
  std::unique_lock<std::shared_mutex> lock(all.subscribersMutex);
  const std::uint64_t id = all.nextId++;
  all.subscribers.emplace(id, std::move(told));
  return EventSubscription(id);
}

EventSubscription::~EventSubscription() {
  if (!id_)
    return;
  jit::Registry &all = jit::registry();
  std::unique_lock<std::shared_mutex> lock(all.subscribersMutex);
  all.subscribers.erase(id_);
}

FLYDSL_NAMESPACE_END
