#include "emulator/observe/races/global_races.h"

#include <algorithm>
#include <bit>

namespace flyemu {

void GlobalRaces::release(GroupOrder &order) {
  if (!order.touched)
    return; // waiting loops leave no trace
  order.touched = false;
  order.released = tick();
}

void GlobalRaces::publish(uint32_t group, GroupOrder &order) {
  if (releaseBy_ == ReleaseBy::Access)
    return;
  if (releaseBy_ == ReleaseBy::Publication)
    release(order);
  const uint32_t at = tick(); // later than what anybody has seen so far, for the write itself
  if (order.released == order.published)
    return;
  order.published = order.released;
  std::lock_guard lock(publicationsMutex_);
  publications_[group].push_back({order.published, at});
}

void GlobalRaces::look(GroupOrder &order) {
  // Where no publication has a time, the accesses themselves are compared with it.
  order.seen = releaseBy_ == ReleaseBy::Access ? tick() : now();
}

GlobalRaces::Missing GlobalRaces::orderOf(const Touch &before, bool wrote, const Touch &touch,
                                          bool writes, const GroupOrder &order) const {
  if (before.group == touch.group) {
    const auto &times = order.synchronized;
    return before.time < order.barrier ||
                   (times[before.wave()] > before.time && times[touch.wave()] > before.time)
               ? Missing::Nothing
               : Missing::Barrier;
  }
  const bool publishesItself = wrote && before.atomic();
  const std::optional<uint32_t> at = publicationOf(before, publishesItself);
  if (!at)
    return Missing::Publication;
  if (order.seen < *at)
    return Missing::Look;
  // No cache keeps an old value from a write that comes after an atomic one.
  const bool needsAcquire = !touch.atomic() && !(publishesItself && writes);
  return !needsAcquire || order.acquired >= *at ? Missing::Nothing : Missing::Acquire;
}

std::optional<uint32_t> GlobalRaces::publicationOf(const Touch &touch, bool publishesItself) const {
  if (releaseBy_ == ReleaseBy::Access)
    return touch.time + 1;
  if (publishesItself)
    return touch.time; // publish() gave it a time of its own
  std::lock_guard lock(publicationsMutex_);
  const auto of = publications_.find(touch.group);
  if (of == publications_.end())
    return std::nullopt;
  const auto first =
      std::upper_bound(of->second.begin(), of->second.end(), touch.time,
                       [](uint32_t time, const Publication &p) { return time < p.covers; });
  return first == of->second.end() ? std::nullopt : std::optional(first->at);
}

const Touch *GlobalRaces::conflictOf(const History &h, const Touch &touch, const GroupOrder &order,
                                     bool write, Missing &missing) const {
  // A read and a write are a race whatever is written; two writes may write the same value.
  for (const Touch *t : {&h.read, &h.otherRead, &h.write})
    if (t->group && t->owner() != touch.owner() && races(*t, t == &h.write, touch, write) &&
        (missing = orderOf(*t, t == &h.write, touch, write, order)) != Missing::Nothing)
      return t;
  return nullptr;
}

void GlobalRaces::access(const Owner &owner, const GroupOrder &order, const LaneAccess &a,
                         const Report &report) {
  struct Conflict {
    Touch before;
    bool wrote;
    Missing missing;
    uint64_t lanes, address, bytes;
  };
  std::vector<Conflict> conflicts;
  Touch touch;
  touch.inst = owner.inst;
  touch.group = owner.group;
  touch.time = now();
  touch.who = owner.wave;
  const uint32_t self = touch.owner();
  std::unique_lock<std::mutex> lock;
  constexpr uint64_t kPage = HistoryPages::kPage;
  uint64_t page = ~uint64_t(0);
  Histories *places = nullptr;
  auto goTo = [&](uint64_t address) { // lanes stay on a page as a rule, and its lock is kept
    if (address / kPage == page)
      return;
    page = address / kPage;
    Shard &shard = shards_[page % kShards];
    lock = {};
    lock = std::unique_lock(shard.mutex);
    places = &shard.pages.at(page);
  };
  // Of lanes from the k-th on, which begin at `address`: their bytes [from, to) at the place `h`.
  auto note = [&](History &h, unsigned k, uint64_t address, uint64_t from, uint64_t to) {
    Missing missing = Missing::Nothing;
    if (h.owner != 0 && h.owner != self)
      if (const Touch *t = conflictOf(h, touch, order, a.write, missing)) {
        const uint64_t first = (from - address) >> touch.shift(),
                       last = (to - 1 - address) >> touch.shift();
        conflicts.push_back({*t, t == &h.write, missing,
                             ~uint64_t(0) >> (63 - (last - first)) << (a.lane(k) + first), from,
                             to - from});
      }
    h.note(touch, from - address, a.write);
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
        if (History *h = places->placeOf(self, at % kPage, shift)) {
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
    report(c.before, c.wrote, c.missing, c.lanes, c.address, c.bytes);
}

} // namespace flyemu
