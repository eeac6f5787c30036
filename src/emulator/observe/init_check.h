// Follows values that was never written through a workgroup's registers, scratch and LDS.
#pragma once

#include "emulator/core/group.h"
#include "emulator/core/probe.h"
#include "emulator/core/program.h"
#include "emulator/observe/function_ref.h"
#include "emulator/observe/lane_access.h"
#include "emulator/observe/scalar_init.h"

#include <array>
#include <string>
#include <vector>

namespace flyemu {

/// A register's undefined lanes move with it: through arithmetic and scratch, and from scalar
/// registers and into them. They matter where they become an address, data in memory that others
/// see, or the condition of a branch.
class InitCheck {
public:
  /// It is called with a description of the mistake and the lanes that have it.
  using Report = FunctionRef<void(const std::string &what, uint64_t lanes)>;

  explicit InitCheck(const Program &program) : program_(program) {}

  void beginGroup(const Group &group);
  /// Whether an instruction is to be shown to before(): others, such as waits, move no values.
  bool concerns(const Inst &inst) {
    return inst.op && (inst.enc != Enc::Sopp || ruleOf(inst).flow != Flow::None);
  }
  /// Before the instruction runs.
  void before(const Wave &wave, const Inst &inst, const Report &report);
  /// A scalar load has brought bits without a value into a scalar register.
  void scalarLoaded(const Wave &wave, unsigned index, uint32_t bits) {
    waves_[wave.index].scalars.set(index, bits);
  }
  /// Whether an access inside of the workgroup's LDS needs no report; notes it if so.
  bool accessLds(const LaneAccess &access);
  /// A store by flat addresses that go to no scratch.
  void storeFlat(const Wave &wave, const Inst &inst, uint64_t lanes, const Report &report);
  /// One lane's access, before it happens.
  void access(const Wave &wave, const Inst &inst, unsigned lane, Space space, uint64_t address,
              unsigned bytes, bool write, bool atomic, const Report &report);

private:
  struct WaveState {
    std::vector<uint64_t> undefined; ///< of each row: lanes without a value
    std::vector<uint64_t> scratch;   ///< likewise of each dword of scratch
    ScalarInit scalars;
  };
  /// Lanes of an operand, of `rows` dwords, that EXEC has on and that have no value.
  uint64_t undefinedOf(const Wave &wave, const WaveState &state, const Operand &operand,
                       unsigned rows) const;
  const ScalarRule &ruleOf(const Inst &inst);
  /// The undefined lanes of each register of a pair whose registers are made of operands' registers
  /// one by one; both, where the instruction does not say how (Flow::Any).
  std::array<uint64_t, 2> pairOf(const Wave &wave, const Inst &inst, const WaveState &state) const;
  /// The sums of a matrix instruction.
  void matrix(const Wave &wave, const Inst &inst, WaveState &state) const;
  void arithmetic(const Wave &wave, const Inst &inst, WaveState &state);
  /// Moves one lane between vector and scalar registers.
  void laneMove(const Wave &wave, const Inst &inst, WaveState &state);
  void memory(const Wave &wave, const Inst &inst, WaveState &state, const Report &report);

  const Program &program_;
  std::vector<WaveState> waves_;
  std::vector<uint8_t> lds_;      ///< 1: bytes that somebody has written
  std::vector<ScalarRule> rules_; ///< by instruction
};

} // namespace flyemu
