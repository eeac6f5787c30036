// The operation tables: one OpDef for each base mnemonic.
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

/// Finds the definition of a base mnemonic in the tables of the level that this machine runs; null
/// if there is none.
const OpDef *findOp(std::string_view mnemonic);

} // namespace flyemu
