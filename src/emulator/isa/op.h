// What an operation is: its name, its handler and the types of its operands. The tables of
// operations stand in emulator/ops.
#pragma once

#include "emulator/isa/inst.h"

#include <string_view>

namespace flyemu {

/// What an operand holds; tells the decoder how a constant expands and checks how many registers it
/// covers.
enum class Type : uint8_t {
  None,
  B16,
  F16,
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

/// Counter classes.
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
  uint32_t info = 0; ///< what the handler makes of it: sizes, kinds, shapes
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
