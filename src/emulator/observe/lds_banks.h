// The cycles that LDS takes for an access of a wave.
#pragma once

#include <cstdint>
#include <vector>

namespace flyemu {

struct BankCycles {
  uint64_t active = 0;    ///< cycles of the access
  uint64_t conflicts = 0; ///< those of them that conflicts of banks cost
};

/// LDS serves as many neighbouring lanes at once as its banks have bytes for; among these, the
/// distinct dwords of one bank take a cycle each. Collects the dwords of one access, then counts.
class LdsBanks {
public:
  void touch(unsigned lane, uint64_t address, unsigned bytes) {
    const uint64_t first = address / 4, last = (address + bytes - 1) / 4;
    runs_.push_back({lane, static_cast<uint32_t>(first), static_cast<uint32_t>(last - first + 1)});
  }
  bool empty() const { return runs_.empty(); }
  /// Counts, and forgets the access. `banks` is a power of two, at most 64.
  BankCycles take(unsigned banks);

private:
  /// Dwords of one lane.
  struct Run {
    uint32_t lane, first, count;
  };
  std::vector<Run> runs_; ///< by lane, as a rule
  /// Per dword of LDS, the group of lanes that has touched it last; grows with what is touched.
  std::vector<uint32_t> seen_;
  uint32_t group_ = 0;
};

} // namespace flyemu
