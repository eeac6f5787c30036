#include "emulator/observe/lds_banks.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace flyemu {

namespace {
/// No LDS has more dwords. Accesses beyond them count as distinct.
constexpr uint32_t kMostDwords = 1 << 17;
} // namespace

BankCycles LdsBanks::take(unsigned banks) {
  auto byLane = [](const Run &a, const Run &b) { return a.lane < b.lane; };
  if (!std::is_sorted(runs_.begin(), runs_.end(), byLane))
    std::sort(runs_.begin(), runs_.end(), byLane);
  unsigned ofLane = 0;
  uint32_t end = 0;
  for (const Run &run : runs_) {
    ofLane += run.lane == runs_[0].lane ? run.count : 0;
    if (run.first < kMostDwords)
      end = std::max(end, std::min(run.first + run.count, kMostDwords));
  }
  if (seen_.size() < end)
    seen_.resize(end);
  // A power of two lanes at a time.
  const int shift = std::bit_width(std::max(1u, banks / ofLane)) - 1;
  BankCycles cycles;
  for (size_t i = 0; i < runs_.size();) {
    const uint32_t phase = runs_[i].lane >> shift;
    if (++group_ == 0) { // once in 2^32 groups
      std::fill(seen_.begin(), seen_.end(), 0);
      group_ = 1;
    }
    uint8_t perBank[64] = {};
    for (; i < runs_.size() && runs_[i].lane >> shift == phase; ++i)
      for (uint32_t d = runs_[i].first, past = d + runs_[i].count; d != past; ++d) {
        const bool known = d < end;
        perBank[d & (banks - 1)] += !known || seen_[d] != group_;
        if (known)
          seen_[d] = group_;
      }
    const unsigned most = *std::max_element(std::begin(perBank), std::end(perBank));
    cycles.active += most;
    cycles.conflicts += most - 1;
  }
  runs_.clear();
  return cycles;
}

} // namespace flyemu
