// Follows values that was never written through a wave's scalar registers, bit by bit.
#pragma once

#include "emulator/core/wave.h"
#include "emulator/isa/traits.h"
#include "emulator/observe/function_ref.h"

#include <array>
#include <vector>

namespace flyemu {

/// What the check must know of an instruction: how undefined bits go through it, from its row, and
/// what it reads and writes, from LLVM's tables. Decided once.
struct ScalarRule {
  bool known = false;       ///< decided already
  Flow flow = Flow::None;   ///< of scalar instructions
  Flow pair = Flow::Any;    ///< of vector ones whose result is a pair of registers
  Logic logic = Logic::And; ///< of Flow::Logic, SaveExec and WriteExec
  bool readsDestination = false, writesDestination = false, readsScc = false, writesScc = false;
  // Of vector arithmetic:
  bool laneMove = false; ///< a lane of a register goes to a scalar one, or comes from it
  bool carryOut = false; ///< writes a mask beside its result
  bool readsVcc = false, writesExec = false;
  bool swaps = false;    ///< two registers
  bool lowAlone = false; ///< the result's low half does not depend on the operands' high halves
};

/// The undefined bits of one wave's scalar registers. They move with values; they matter in
/// addresses, in stored data and where they decide about a branch. As long as a defined bit settles
/// a result, the others do not count: compilers combine masks whose bits of inactive lanes nobody
/// has written.
class ScalarInit {
public:
  /// It is called with a description of the mistake.
  using Report = FunctionRef<void(const std::string &what)>;

  /// The registers that a wave starts with have values; the others have none.
  void begin(const Wave &wave);
  /// A scalar instruction, before it runs.
  void before(const Wave &wave, const Inst &inst, const ScalarRule &rule, const Report &report);

  /// Returns true if an operand has undefined bits; false for operands that are no scalar register.
  bool undefined(const Wave &wave, const Operand &operand, unsigned dwords) const {
    return bits(wave, operand, dwords) != 0;
  }
  /// The undefined bits of one or two dwords.
  uint64_t bits(const Wave &wave, const Operand &operand, unsigned dwords) const;
  /// The lanes whose bit of a mask is undefined.
  uint64_t lanes(const Wave &wave, unsigned index) const;
  void setLanes(const Wave &wave, unsigned index, uint64_t lanes);
  void set(unsigned index, uint32_t bits) {
    if (index < bits_.size())
      bits_[index] = bits;
  }

private:
  void write(const Wave &wave, const Operand &to, unsigned dwords, uint64_t bits);
  void arithmetic(const Wave &wave, const Inst &inst, const ScalarRule &rule);
  void logic(const Wave &wave, const Inst &inst, const ScalarRule &rule);
  void memory(const Wave &wave, const Inst &inst, const ScalarRule &rule, const Report &report);
  void branch(const Wave &wave, const Inst &inst, const ScalarRule &rule, const Report &report);

  std::array<uint32_t, 136> bits_ = {};
  bool scc_ = false;
};

/// The rule of an instruction that has an operation; `effects` are what LLVM says of it (McEffect).
ScalarRule scalarRule(const Inst &inst, unsigned effects);

} // namespace flyemu
