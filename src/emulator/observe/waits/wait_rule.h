// What the wait check must know of an instruction.
#pragma once

#include "emulator/core/program.h"
#include "emulator/isa/registers.h"
#include "emulator/observe/waits/wait_counts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu {

/// Registers in a row. Their numbers: operand codes of scalars, and from kVectorRows on rows of the
/// vector file.
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
constexpr unsigned kVectorRows = 128;
/// How many registers a machine has, of both kinds.
inline unsigned registersOf(const Machine &machine) { return kVectorRows + machine.vectorRows(); }
/// "v3", "a7", "s12", "vcc_lo".
std::string registerName(const Machine &machine, unsigned number);

/// Decided once for each instruction.
struct WaitRule {
  bool known = false;
  bool waits = false;
  bool toLds = false;      ///< a load whose data goes to LDS
  bool writesBack = false; ///< cache control that writes back what a cache keeps
  /// Others see by it that the wave has come so far: a barrier or its signal, an atomic operation, or
  /// a store of device scope.
  bool publishes = false;
  /// The counters that count it after it has been issued. Before gfx12, Ds and Km are one counter
  /// (lgkmcnt), and either counts a part of it. Stores with a counter of their own are not counted:
  /// nothing of a wave depends on them. Write-backs are.
  WaitCounterSet counters;
  /// Those of them whose operations it ends among in the order of issue.
  WaitCounterSet ordered;
  WaitCounts left; ///< of an instruction that waits
  std::vector<RegisterRange> reads, writes;
};

/// What LLVM says about counters and orders (SIInsertWaitcnts: which event counts where,
/// counterOutOfOrder; hasFlatLgkmVMemCountInOrder), and its operands.
WaitRule waitRule(const Program &program, const Inst &inst);

/// Whether the instruction loads to LDS.
bool loadsToLds(const Inst &inst);
/// Whether the instruction copies from LDS to memory, asynchronously.
bool copiesFromLds(const Inst &inst);

} // namespace flyemu
