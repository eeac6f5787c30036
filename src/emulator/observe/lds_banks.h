// The cycles that LDS takes for an access of a wave.
#pragma once

#include "emulator/observe/lds_phases.h"

#include <array>
#include <cstdint>
#include <vector>

namespace flyemu {

struct BankCycles {
  uint64_t active = 0;    ///< cycles of the access
  uint64_t conflicts = 0; ///< those of them that conflicts of banks cost
};

/// LDS serves the lanes of an access in phases; among the lanes of a phase, the distinct dwords of
/// one bank take a cycle each. Collects the dwords of one access, then counts.
class LdsBanks {
public:
  void touch(unsigned lane, uint64_t address, unsigned bytes, bool write, bool atomic);
  bool empty() const { return !lanes_; }
  /// Counts, and forgets the access.
  BankCycles take(const Machine &machine);

private:
  /// Dwords of one address of a lane.
  struct Run {
    uint32_t first, count;
    uint32_t next; ///< the lane's run before this one; 0 for none, else its index + 1
  };
  /// An access as it was counted: what decides about its cycles, with places from the first one on.
  struct Counted {
    uint64_t lanes = 0;
    const LdsService *service = nullptr;
    std::vector<Run> runs;
    BankCycles cycles;
  };
  const LdsService &service(const Machine &machine);
  BankCycles count(const LdsService &service);
  /// Where a like access may have been kept, and whether it is one.
  Counted &kept(const LdsService &service, uint32_t base);
  bool isLike(const Counted &counted, const LdsService &service, uint32_t base) const;

  uint64_t lanes_ = 0;            ///< that have touched something
  std::array<uint32_t, 64> last_; ///< of each lane in `lanes_`: the index + 1 of its last run
  std::vector<Run> runs_;
  uint32_t end_ = 0; ///< of the dwords that are touched
  unsigned bytes_ = 0;
  bool write_ = false, atomic_ = false, pair_ = false;
  /// Per dword of LDS, the phase that has touched it last; grows with what is touched.
  std::vector<uint32_t> seen_;
  uint32_t phase_ = 0;
  /// What was found last: most accesses of a program are alike.
  const Machine *machine_ = nullptr;
  std::array<std::array<const LdsService *, 4>, 5> known_{};
  /// Loops make the same accesses again, by other stages of their buffers.
  std::vector<Counted> counted_ = std::vector<Counted>(kCounted);
  static constexpr size_t kCounted = 256; ///< a power of two
};

} // namespace flyemu
