#include "emulator/observe/global_races.h"

#include <algorithm>

namespace flyemu {

void GlobalRaces::synchronize(uint32_t group, GroupOrder &order) {
  order.last = time_.fetch_add(1) + 1;
  // Only the first synchronization after an access orders it, so waiting loops leave no trace.
  if (!order.touched)
    return;
  order.touched = false;
  std::lock_guard lock(timesMutex_);
  times_[group].push_back(order.last);
}

bool GlobalRaces::ordered(const Touch &before, const GroupOrder &now) const {
  if (now.last <= before.time)
    return false;
  std::lock_guard lock(timesMutex_);
  auto it = times_.find(before.group);
  if (it == times_.end())
    return false;
  auto first = std::upper_bound(it->second.begin(), it->second.end(), before.time);
  return first != it->second.end() && *first < now.last;
}

const Touch *GlobalRaces::conflictOf(const History &h, const Touch &touch, const GroupOrder &order,
                                     bool write) const {
  // A read and a write are a race whatever is written; two writes may write the same value.
  for (const Touch *t : {&h.read, &h.otherRead, &h.write})
    if (t->group && t->group != touch.group && races(*t, t == &h.write, touch, write) &&
        !ordered(*t, order))
      return t;
  return nullptr;
}

void GlobalRaces::access(const Touch &touch, const GroupOrder &order, uint64_t address,
                         uint64_t bytes, bool write, const Report &report) {
  struct Conflict {
    Touch before;
    bool wrote;
    uint64_t address, bytes;
  };
  std::vector<Conflict> conflicts;
  for (uint64_t at = address, end = address + bytes; at < end;) {
    const uint64_t page = at / kPage, stop = at + std::min(end - at, kPage - at % kPage);
    Shard &shard = shards_[page % kShards];
    std::lock_guard lock(shard.mutex);
    const uint64_t base = page * kPage;
    auto known = shard.pages.find(page);
    Histories &places =
        (known == shard.pages.end() ? shard.pages.emplace(page, kPage).first : known)->second;
    places.each(at - base, stop - base, [&](History &h, uint64_t offset, uint64_t size) {
      const uint64_t here = std::max(base + offset, address);
      if (h.isForeign(touch.group))
        if (const Touch *t = conflictOf(h, touch, order, write))
          conflicts.push_back(
              {*t, t == &h.write, here, std::min(base + offset + size, end) - here});
      h.note(touch, here - address, write, h.read.group == touch.group);
    });
    at = stop;
  }
  // The reports are made outside of the locks because they may take long.
  for (const Conflict &c : conflicts)
    report(c.before, c.wrote, c.address, c.bytes);
}

} // namespace flyemu
