#include "emulator/observe/touch_sampler.h"

#include "emulator/core/line_set.h"

#include <algorithm>

namespace flyemu {

namespace {

/// Mixes the bits of a number (the finaliser of MurmurHash3).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

} // namespace

uint64_t vectorCacheBytes(const Machine &machine) {
  return machine.processor->family == flydsl::Family::cdna2 ? 16 << 10 : 32 << 10;
}

void TouchSampler::beginGroup(const Machine &machine, uint64_t group) {
  nearLines_ = vectorCacheBytes(machine) / kLine / kSampledLines;
  near_.clear();
  now_ = GroupTouches();
  now_.group = group;
}

bool TouchSampler::isSampled(uint64_t line) {
  // By the place in its allocation: a run must give what the one before gave, wherever the host's
  // memory lies.
  const uint64_t address = line * kLine;
  if (!range_.contains(address, 1) && !memory_.find(address, range_) &&
      !memory_.find(address + kLine - 1, range_))
    return false;
  return mixed(line - range_.base / kLine) % kSampledLines == 0;
}

bool TouchSampler::hits(uint64_t line, bool keeps) {
  const auto at = std::find(near_.rbegin(), near_.rend(), line);
  const bool hit = at != near_.rend();
  if (!keeps)
    return hit;
  if (hit)
    near_.erase(std::prev(at.base()));
  else if (near_.size() == nearLines_)
    near_.erase(near_.begin());
  near_.push_back(line); // the newest is the last
  return hit;
}

void TouchSampler::touched(std::span<const uint64_t> lines, uint64_t time, bool write,
                           bool streams) {
  for (const uint64_t line : lines) {
    if (!isSampled(line))
      continue;
    ++now_.seen;
    // Writes go through.
    if (const bool hit = hits(line, !streams); write || !hit)
      now_.touches.push_back({.line = line, .time = time, .streams = streams});
  }
}

void TouchSampler::endGroup(uint64_t cycles) {
  now_.cycles = cycles;
  groups_.push_back(std::move(now_));
  now_ = {};
}

} // namespace flyemu
