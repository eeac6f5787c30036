// What an operation is: its name, its handler and the types of its operands. The tables of
// operations stand in emulator/ops.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/traits.h"

#include <string_view>

namespace flyemu {

/// What an operand holds; tells the decoder how a constant expands and checks how many registers it
/// covers.
enum class Type : uint8_t {
  None,
  B16,
  F16,
  BF16,
  F16Pair,  ///< two halves in a register; an inline constant is the lower one
  BF16Pair, ///< the same of bfloats
  B32,
  F32,
  B64,
  F64,
  B96,
  B128,
  B256,
  B512,
  B1024,
  Mask
};

/// The class that the counters count an instruction in.
enum class Class : uint8_t {
  Other,
  Valu,
  Mfma,
  Salu,
  Smem,
  VmemRead,
  VmemWrite,
  Lds,
  Branch,
  Message
};

/// Which bits of a register hold what a memory instruction moves, if that is less than a register.
enum class RegisterPart : uint8_t {
  Whole, ///< a load clears or sign-extends the others
  Low,   ///< the low half; the other one is kept (D16)
  High,  ///< the high half; the other one is kept (D16_HI)
};

/// What each lane of a memory instruction moves; in scalar memory, what the instruction moves.
struct Transfer {
  uint8_t bytes = 0;      ///< of memory; of each of LDS's pairs; 0 where `components` counts
  uint8_t components = 0; ///< elements of a buffer's format
  uint16_t pairUnit = 0;  ///< LDS's pairs: the bytes by which their two offsets count
  RegisterPart part = RegisterPart::Whole;
  bool isSigned = false; ///< what is less than a register is sign-extended
  bool toLds = false;    ///< what is loaded goes to LDS
  /// A copy between memory and LDS at an LDS address of each lane, in src[1], which is counted by
  /// asynccnt (gfx1250). Other loads to LDS have the lanes' places side by side, from M0 on.
  bool isAsync = false;

  /// Whether the halves of a register have values of their own.
  constexpr bool byHalves() const { return part != RegisterPart::Whole; }
  /// Whether one half of the register alone is loaded or stored.
  constexpr bool isHalf() const { return byHalves() && (bytes ? bytes < 4 : components == 1); }

  constexpr Transfer asSigned() const {
    Transfer t = *this;
    t.isSigned = true;
    return t;
  }
  constexpr Transfer low() const {
    Transfer t = *this;
    t.part = RegisterPart::Low;
    return t;
  }
  constexpr Transfer high() const {
    Transfer t = *this;
    t.part = RegisterPart::High;
    return t;
  }
  constexpr Transfer intoLds() const {
    Transfer t = *this;
    t.toLds = true;
    return t;
  }
  constexpr Transfer asAsync() const {
    Transfer t = *this;
    t.isAsync = true;
    return t;
  }
};
constexpr Transfer moves(uint8_t bytes) { return {.bytes = bytes}; }
constexpr Transfer movesPair(uint8_t bytes, uint16_t unit) {
  return {.bytes = bytes, .pairUnit = unit};
}
constexpr Transfer movesComponents(uint8_t count) { return {.components = count}; }

struct OpDef {
  std::string_view name;
  Handler fn = nullptr;
  Class cls = Class::Other;
  Type dst = Type::None;
  Type src[3] = {Type::None, Type::None, Type::None};
  Transfer transfer = {}; ///< of memory instructions
  TraitSet traits = {};
  Cost cost = Cost::Full;
  Flow flow = Flow::Any;
  Logic logic = Logic::And;
  Literal literal = Literal::None;
  WaitFor waits = {};
  uint8_t relations = 0;   ///< scalar comparisons of floats: the relations that hold (ops/scalar)
  uint16_t conversion = 0; ///< scaled conversions: the row of their table
  uint32_t flops = 0;      ///< matrix instructions: operations on floats, or on integers

  bool has(Trait trait) const { return traits.has(trait); }
  bool hasAny(TraitSet any) const { return traits.hasAny(any); }
  /// Whether it computes in double precision.
  bool isDouble() const {
    return dst == Type::F64 || src[0] == Type::F64 || src[1] == Type::F64 || src[2] == Type::F64;
  }

  // A row with one more fact: `lane<F32, F32>("v_exp_f32", exp2).costs(Cost::Transcendental)`.
  // They run when the tables are compiled, so that no code of one host level gets into another.
  consteval OpDef with(TraitSet more) const {
    OpDef d = *this;
    d.traits.add(more);
    return d;
  }
  consteval OpDef costs(Cost c) const {
    OpDef d = *this;
    d.cost = c;
    return d;
  }
  consteval OpDef flows(Flow f, Logic function = Logic::And) const {
    OpDef d = *this;
    d.flow = f;
    d.logic = function;
    return d;
  }
  consteval OpDef constant(Literal place) const {
    OpDef d = *this;
    d.literal = place;
    return d;
  }
  consteval OpDef waitsFor(WaitCounterSet counters) const {
    OpDef d = *this;
    d.waits = {WaitForm::Number, counters};
    return d;
  }
  consteval OpDef waitsBy(WaitForm form) const {
    OpDef d = *this;
    d.waits = {form, {}};
    return d;
  }
};

/// A table of one file.
struct OpTable {
  const OpDef *begin = nullptr;
  const OpDef *end = nullptr;
};

/// True for an operand that is half of a register, the upper one where op_sel says so.
inline bool is16(Type t) { return t == Type::B16 || t == Type::F16 || t == Type::BF16; }

inline unsigned dwordsOf(Type t) {
  switch (t) {
  case Type::None:
    return 0;
  case Type::B64:
  case Type::F64:
  case Type::Mask:
    return 2;
  case Type::B96:
    return 3;
  case Type::B128:
    return 4;
  case Type::B256:
    return 8;
  case Type::B512:
    return 16;
  case Type::B1024:
    return 32;
  default:
    return 1;
  }
}

} // namespace flyemu
