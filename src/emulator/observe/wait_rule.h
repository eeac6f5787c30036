// What the wait check must know of an instruction.
#pragma once

#include "emulator/core/program.h"
#include "emulator/isa/registers.h"
#include "emulator/observe/wait_counts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu {

/// Registers in a row: rows of the vector file, and from kScalarRows on operand codes of scalars.
struct RegisterRange {
  uint16_t first = 0;
  uint8_t count = 0;
  uint8_t halves = kBoth; ///< which 16 bits of a register
  static constexpr uint8_t kLow = 1, kHigh = 2, kBoth = 3;

  bool overlaps(const RegisterRange &o) const {
    return first < o.first + o.count && o.first < first + count && halves & o.halves;
  }
  uint32_t mask() const {
    return (halves & kLow ? 0xffffu : 0) | (halves & kHigh ? 0xffff0000u : 0);
  }
};
constexpr unsigned kScalarRows = kVgprRows;
constexpr unsigned kAllRows = kScalarRows + 128;
/// "v3", "a7", "s12", "vcc_lo".
std::string registerName(unsigned row);

/// The counters of operations under way, as bits. Before gfx12, LDS and scalar memory share one
/// (lgkmcnt). Stores with a counter of their own are not among them: nothing of a wave depends on
/// them.
enum WaitCounter : uint8_t { kCountVector = 1, kCountLds = 2, kCountScalar = 4 };

/// Decided once for each instruction.
struct WaitRule {
  bool known = false;
  bool waits = false;
  bool toLds = false;   ///< a load whose data goes to LDS
  uint8_t counters = 0; ///< WaitCounter: where it is under way after it has been issued
  /// In which of these counters it ends in the order of issue, among all that do.
  uint8_t ordered = 0;
  WaitCounts left; ///< of an instruction that waits
  std::vector<RegisterRange> reads, writes;
};

/// What LLVM says about counters and orders (SIInsertWaitcnts: which event counts where,
/// counterOutOfOrder; hasFlatLgkmVMemCountInOrder), and its operands.
WaitRule waitRule(const Program &program, const Inst &inst);

/// Whether the instruction loads to LDS.
bool loadsToLds(const Inst &inst);

} // namespace flyemu
