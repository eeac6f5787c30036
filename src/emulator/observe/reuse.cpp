#include "emulator/observe/reuse.h"

#include "emulator/core/line_set.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace flyemu {

namespace {

/// A cache of lines that forgets the one that was used least recently.
class Cache {
public:
  /// `sampled`: one of so many lines comes here.
  Cache(uint64_t bytes, uint64_t sampled)
      : most_(static_cast<uint32_t>(std::max<uint64_t>(bytes / kLine / sampled, 1))) {}

  /// Whether it has a line; it has it afterwards if it `keeps` it.
  bool hits(uint64_t line, bool keeps) {
    if (!keeps)
      return places_.contains(line);
    const auto [at, fresh] = places_.try_emplace(line, kNone);
    if (!fresh) {
      unlink(at->second);
      pushFront(at->second);
      return true;
    }
    uint32_t place = static_cast<uint32_t>(entries_.size());
    if (place == most_) {
      place = last_;
      unlink(place);
      places_.erase(entries_[place].line);
    } else {
      entries_.emplace_back();
    }
    entries_[place].line = line;
    places_[line] = place;
    pushFront(place);
    return false;
  }

private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Entry {
    uint64_t line = 0;
    uint32_t newer = kNone, older = kNone;
  };

  void unlink(uint32_t place) {
    const Entry &e = entries_[place];
    (e.newer == kNone ? first_ : entries_[e.newer].older) = e.older;
    (e.older == kNone ? last_ : entries_[e.older].newer) = e.newer;
  }
  void pushFront(uint32_t place) {
    entries_[place].newer = kNone;
    entries_[place].older = first_;
    (first_ == kNone ? last_ : entries_[first_].newer) = place;
    first_ = place;
  }

  uint32_t most_;
  uint32_t first_ = kNone, last_ = kNone;
  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, uint32_t> places_;
};

/// A touch of the launch, by the time of its die.
struct Event {
  uint64_t time, line;
  bool streams;
  uint32_t order; ///< of its workgroup, which decides between touches of one time
  uint32_t die;
  uint32_t touch; ///< its number among those of its workgroup
};

/// All touches in the order of their times.
std::vector<Event> eventsOf(const std::vector<GroupTouches> &groups, const CacheShape &shape) {
  std::vector<const GroupTouches *> ordered;
  size_t count = 0;
  for (const GroupTouches &group : groups) {
    ordered.push_back(&group);
    count += group.touches.size();
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const auto *a, const auto *b) { return a->group < b->group; });
  // The ends of what a die runs, the earliest on top.
  using Ends = std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>>;
  std::vector<Ends> running(shape.dies);
  std::vector<Event> events;
  events.reserve(count);
  for (size_t i = 0; i < ordered.size(); ++i) {
    const GroupTouches &group = *ordered[i];
    const auto die = static_cast<uint32_t>(group.group % shape.dies);
    Ends &ends = running[die];
    uint64_t start = 0;
    if (ends.size() >= shape.residentOfDie) {
      start = ends.top();
      ends.pop();
    }
    ends.push(start + group.cycles);
    uint32_t number = 0;
    for (const SampledTouch &touch : group.touches)
      events.push_back({start + touch.time, touch.line, touch.streams != 0,
                        static_cast<uint32_t>(i), die, number++});
  }
  // What a group touches at one time stays in its order.
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.time, a.order, a.touch) < std::tie(b.time, b.order, b.touch);
  });
  return events;
}

} // namespace

Reuse reuseOf(const TouchSample &sample, const CacheShape &shape) {
  Reuse reuse;
  for (const GroupTouches &group : sample.groups)
    reuse.seen += group.seen;
  const uint64_t sampled = kSampledLines * sample.thinned;
  std::vector<Cache> l2(shape.dies, Cache(shape.l2Bytes, sampled));
  Cache lastLevel(shape.lastLevelBytes, sampled);
  std::unordered_set<uint64_t> distinct;
  for (const Event &event : eventsOf(sample.groups, shape)) {
    ++reuse.ofL2;
    if (l2[event.die].hits(event.line, !event.streams))
      continue;
    ++reuse.l2Misses;
    distinct.insert(event.line);
    if (!shape.lastLevelBytes || !lastLevel.hits(event.line, !event.streams))
      ++reuse.ofMemory;
  }
  reuse.distinct = distinct.size();
  for (uint64_t *count : {&reuse.ofL2, &reuse.l2Misses, &reuse.ofMemory, &reuse.distinct})
    *count *= sample.thinned; // those that are left stand for the others
  return reuse;
}

} // namespace flyemu
