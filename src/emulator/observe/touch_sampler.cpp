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

std::optional<uint64_t> TouchSampler::lotOf(uint64_t line) {
  // By the place in its allocation: a run must give what the one before gave, wherever the host's
  // memory lies.
  const uint64_t address = line * kLine;
  if (!range_.contains(address, 1) && !memory_.find(address, range_) &&
      !memory_.find(address + kLine - 1, range_))
    return std::nullopt;
  return mixed(line - range_.base / kLine);
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
    const std::optional<uint64_t> lot = lotOf(line);
    if (!lot || *lot % kSampledLines)
      continue;
    ++now_.seen;
    // Writes go through.
    const uint64_t left = *lot / kSampledLines % TouchSample::kMostThinned;
    if (const bool hit = hits(line, !streams); (write || !hit) && left % sample_.thinned == 0)
      now_.touches.push_back({.line = line, .lot = left, .time = time, .streams = streams});
  }
}

void TouchSampler::endGroup(uint64_t cycles) {
  now_.cycles = cycles;
  kept_ += now_.touches.size();
  sample_.groups.push_back(std::move(now_));
  now_ = {};
  while (kept_ > mostKept_ && sample_.thinned < TouchSample::kMostThinned) {
    sample_.thin(2 * sample_.thinned);
    kept_ = 0;
    for (const GroupTouches &group : sample_.groups)
      kept_ += group.touches.size();
  }
}

} // namespace flyemu
