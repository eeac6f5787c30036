#include "emulator/observe/races/lds_races.h"

#include <algorithm>
#include <bit>

namespace flyemu {

void LdsRaces::clear() {
  for (std::vector<uint32_t> &part : parts_)
    part.assign((bytes_ + 15) >> kMostShift << (kMostShift - shift_), 0);
  shadow_ = {{parts_[kWriteKey].data(), parts_[kWriteDetail].data()},
             {parts_[kReadKey].data(), parts_[kReadDetail].data()},
             {parts_[kOtherKey].data(), parts_[kOtherDetail].data()}};
  time_ = 1;
}

void LdsRaces::beginGroup(uint32_t group, uint64_t bytes) {
  group_ = group;
  if (bytes != bytes_) {
    bytes_ = bytes;
    clear();
  } else {
    barrier();
  }
}

void LdsRaces::barrier() {
  if (++time_ > kLastTime)
    clear();
}

void LdsRaces::refine(unsigned shift) {
  std::array<std::vector<uint32_t>, kParts> old;
  old.swap(parts_);
  const unsigned finer = shift_ - shift;
  const uint32_t time = time_;
  shift_ = shift;
  clear();
  time_ = time;
  for (unsigned p = 0; p < kParts; ++p)
    for (size_t k = 0; k < parts_[p].size(); ++k)
      parts_[p][k] = old[p][k >> finer];
}

void LdsRaces::access(uint32_t inst, unsigned wave, const LaneAccess &a, const Report &report) {
  const uint64_t ends = a.ends | a.bytes | uint64_t(1) << kMostShift;
  if (const auto shift = static_cast<unsigned>(std::countr_zero(ends)); shift < shift_)
    refine(shift);
  const uint32_t key = LdsTouches::keyOf(time_, wave, a.atomic);
  const unsigned each = a.bytes >> shift_;
  if (a.isRun()) {
    const unsigned laneShift = a.count > 1 ? static_cast<unsigned>(std::countr_zero(each)) : 31;
    if (!laneLoops().noteRow(shadow_, a.at(0) >> shift_, size_t(a.count) * each, key,
                             inst << 6 | a.lane(0), laneShift, a.write))
      accessPlaces(inst, key, a, report);
    return;
  }
  uint32_t first[64];
  a.offsets(first, shift_);
  if (!laneLoops().notePlaces(shadow_, first, a.lanes(), a.count, each, key, inst << 6, a.write))
    accessPlaces(inst, key, a, report);
}

void LdsRaces::accessPlaces(uint32_t inst, uint32_t key, const LaneAccess &a,
                            const Report &report) {
  auto touch = [&](uint32_t k, uint32_t detail) {
    Touch t;
    t.inst = detail >> 6;
    t.group = group_;
    t.time = k >> LdsTouches::kTimeShift;
    t.who = Touch::of(k >> 1 & 255, detail & 63, k & 1 ? Touch::kAtomic : 0, Touch::kOneLane);
    return t;
  };
  for (unsigned lane = 0; lane < a.count; ++lane) {
    const uint32_t detail = inst << 6 | a.lane(lane);
    const Touch now = touch(key, detail);
    for (unsigned d = 0; d < a.bytes >> shift_; ++d) {
      const uint64_t place = (a.at(lane) >> shift_) + d;
      // Reads come first: a write after them is a race whatever it writes.
      for (const LdsTouches *t : {&shadow_.read, &shadow_.otherRead, &shadow_.write}) {
        const bool wrote = t == &shadow_.write;
        if (!(a.write || wrote) || !isByOther(t->key[place], key))
          continue;
        const Touch before = touch(t->key[place], t->detail[place]);
        if (!races(before, wrote, now, a.write))
          continue;
        report(before, wrote, a.lane(lane), place << shift_, uint64_t(1) << shift_);
        break;
      }
      const LdsTouches &touched = a.write ? shadow_.write : shadow_.read;
      if (!a.write && isByOther(touched.key[place], key)) {
        shadow_.otherRead.key[place] = touched.key[place];
        shadow_.otherRead.detail[place] = touched.detail[place];
      }
      touched.key[place] = key;
      touched.detail[place] = detail;
    }
  }
}

} // namespace flyemu
