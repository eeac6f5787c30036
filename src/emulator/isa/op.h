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

struct OpDef {
  std::string_view name;
  Handler fn = nullptr;
  Class cls = Class::Other;
  Type dst = Type::None;
  Type src[3] = {Type::None, Type::None, Type::None};
  uint32_t info = 0;   ///< what the handler makes of it: sizes, kinds, shapes
  uint32_t traits = 0; ///< Trait
  Cost cost = Cost::Full;
  Flow flow = Flow::Any;
  Logic logic = Logic::And;
  Literal literal = Literal::None;
  uint8_t waits = 0; ///< WaitFor

  bool has(uint32_t trait) const { return traits & trait; }
  /// Whether it computes in double precision.
  bool isDouble() const {
    return dst == Type::F64 || src[0] == Type::F64 || src[1] == Type::F64 || src[2] == Type::F64;
  }

  // A row with one more fact: `lane<F32, F32>("v_exp_f32", exp2).costs(Cost::Transcendental)`.
  // They run when the tables are compiled, so that no code of one host level gets into another.
  consteval OpDef with(uint32_t more) const {
    OpDef d = *this;
    d.traits |= more;
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
  consteval OpDef waitsFor(uint8_t counters) const {
    OpDef d = *this;
    d.waits = counters;
    return d;
  }
};

/// OpDef::info of loads and stores: bytes of each lane, and what becomes of a part of a dword.
enum MemoryInfo : uint32_t {
  kBytesMask = 0xff,
  kSigned = 0x100,
  kD16 = 0x200,      ///< the low half of the register, the other half kept
  kD16High = 0x400,  ///< the high half
  kLdsTarget = 0x800 ///< the data goes to LDS
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
