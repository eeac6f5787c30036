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
  auto goTo = [&](uint64_t address) { // lanes stay on a page as a rule, and its lock is kept
    if (address / kPage == page)
      return;
    page = address / kPage;
    Shard &shard = shards_[page % kShards];
    lock = {};
    lock = std::unique_lock(shard.mutex);
    auto known = shard.pages.find(page);
    if (known == shard.pages.end())
      known = shard.pages.emplace(page, kPage).first;
    places = &known->second;
  };
  // Of lanes from the k-th on, which begin at `address`: their bytes [from, to) at the place `h`.
  auto note = [&](History &h, unsigned k, uint64_t address, uint64_t from, uint64_t to) {
    if (h.owner != 0 && h.owner != touch.group)
      if (const Touch *t = conflictOf(h, touch, order, a.write)) {
        const uint64_t first = (from - address) >> touch.shift(),
                       last = (to - 1 - address) >> touch.shift();
        conflicts.push_back({*t, t == &h.write,
                             ~uint64_t(0) >> (63 - (last - first)) << (a.lane(k) + first), from,
                             to - from});
      }
    h.note(touch, from - address, a.write, h.read.group == touch.group);
  };
  // Lanes of few bytes, apart from each other or together in less than a line, are noted each for
  // itself. For them, places are pieces of a line.
  const bool fits =
      std::has_single_bit(a.bytes) && a.bytes <= 16 && !(a.ends & (a.bytes - 1)) && a.count > 1;
  const bool apart = fits && static_cast<unsigned>(std::popcount(a.starts)) >= a.count;
  const auto shift = static_cast<unsigned>(std::countr_zero(a.bytes));
  const uint32_t oneLane = Touch::of(owner.wave, 0, owner.kind, Touch::kOneLane);
  for (unsigned k = 0, lanes = 0; k < a.count; k += lanes) {
    lanes = a.isRun() || apart ? a.count : a.runLength(k);
    const uint64_t address = a.at(k), end = address + uint64_t(lanes) * a.bytes;
    if (apart || (fits && end - address < Histories::kLine)) {
      const uint32_t inst = touch.inst, group = touch.group, time = touch.time;
      const bool write = a.write;
      for (unsigned one = k; one < k + lanes; ++one) {
        const uint64_t at = a.at(one);
        goTo(at);
        const uint32_t who = oneLane | a.lane(one) << 8;
        if (History *h = places->placeOf(group, at % kPage, shift)) {
          Touch &t = write ? h->write : h->read;
          t.inst = inst;
          t.group = group;
          t.time = time;
          t.who = who;
          continue;
        }
        touch.who = who;
        const Histories::Pieces pieces = places->pieces(at % kPage, a.bytes);
        const uint64_t size = uint64_t(1) << pieces.shift;
        for (uint64_t from = at; from < at + a.bytes; from += size)
          note(pieces.first[(from - at) >> pieces.shift], one, at, from, from + size);
      }
      continue;
    }
    touch.who =
        Touch::of(owner.wave, a.lane(k), owner.kind,
                  lanes > 1 ? static_cast<unsigned>(std::countr_zero(a.bytes)) : Touch::kOneLane);
    for (uint64_t at = address, stop = 0; at < end; at = stop) {
      goTo(at);
      const uint64_t base = page * kPage;
      stop = base + std::min(end - base, kPage); // base + kPage of the last page is 0
      places->each(at - base, stop - base, [&](History &h, uint64_t offset, uint64_t size) {
        note(h, k, address, std::max(base + offset, address),
             base + std::min(offset + size, end - base));
      });
    }
  }
  if (lock)
    lock.unlock();
  // The reports are made outside of the locks because they may take long.
  for (const Conflict &c : conflicts)
    report(c.before, c.wrote, c.lanes, c.address, c.bytes);
}

} // namespace flyemu
