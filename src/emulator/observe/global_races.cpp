#include "emulator/observe/global_races.h"

#include <algorithm>
#include <bit>

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

void GlobalRaces::access(const Owner &owner, const GroupOrder &order, const LaneAccess &a,
                         const Report &report) {
  struct Conflict {
    Touch before;
    bool wrote;
    uint64_t lanes, address, bytes;
  };
  std::vector<Conflict> conflicts;
  Touch touch;
  touch.inst = owner.inst;
  touch.group = owner.group;
  touch.time = now();
  std::unique_lock<std::mutex> lock;
  uint64_t page = ~uint64_t(0);
  Histories *places = nullptr;
  for (unsigned k = 0, lanes = 0; k < a.count; k += lanes) {
    lanes = a.isRun() ? a.count : a.runLength(k);
    touch.who =
        Touch::of(owner.wave, a.lane[k], owner.atomic,
                  lanes > 1 ? static_cast<unsigned>(std::countr_zero(a.bytes)) : Touch::kOneLane);
    const uint64_t address = a.at[k], end = address + uint64_t(lanes) * a.bytes;
    for (uint64_t at = address; at < end;) {
      if (at / kPage != page) { // lanes stay on a page as a rule, and its lock is kept
        page = at / kPage;
        Shard &shard = shards_[page % kShards];
        lock = {};
        lock = std::unique_lock(shard.mutex);
        auto known = shard.pages.find(page);
        if (known == shard.pages.end())
          known = shard.pages.emplace(page, kPage).first;
        places = &known->second;
      }
      const uint64_t stop = std::min(end, (page + 1) * kPage), base = page * kPage;
      places->each(at - base, stop - base, [&](History &h, uint64_t offset, uint64_t size) {
        const uint64_t here = std::max(base + offset, address);
        if (h.isForeign(touch.group))
          if (const Touch *t = conflictOf(h, touch, order, a.write)) {
            const uint64_t bytes = std::min(base + offset + size, end) - here;
            const uint64_t first = (here - address) >> touch.shift(),
                           last = (here - address + bytes - 1) >> touch.shift();
            conflicts.push_back({*t, t == &h.write,
                                 ~uint64_t(0) >> (63 - (last - first)) << (a.lane[k] + first), here,
                                 bytes});
          }
        h.note(touch, here - address, a.write, h.read.group == touch.group);
      });
      at = stop;
    }
  }
  if (lock)
    lock.unlock();
  // The reports are made outside of the locks because they may take long.
  for (const Conflict &c : conflicts)
    report(c.before, c.wrote, c.lanes, c.address, c.bytes);
}

} // namespace flyemu
