// A pre-decoded instruction.
#pragma once

#include <cstdint>

namespace flyemu {

struct Wave;
struct Inst;
struct OpDef;

/// Executes one instruction for one wave.
using Handler = void (*)(Wave &, const Inst &);

enum class Kind : uint8_t {
  None,
  Vgpr,    ///< index: row of the vector file; accumulation register i is row 256 + i
  Sgpr,    ///< index: scalar operand code 0-127 (VCC, TTMP, M0, EXEC at their codes)
  Imm,     ///< value; sign-extended for 64-bit operands
  ImmZero, ///< value; zero-extended for 64-bit operands
  ImmHigh, ///< value is the high half of a 64-bit operand, the low half is 0
  ImmPi,   ///< 1 / (2 pi) as a double
  Special, ///< index: operand code 235-253 (apertures, VCCZ, EXECZ, SCC)
};

enum OperandFlag : uint8_t {
  kNeg = 1,
  kAbs = 2,
  kHigh = 4,  ///< 16-bit operand from the upper half
  kSext = 8,  ///< SDWA: sign-extend the selected part
  kNegHi = 16 ///< packed: negate the upper element
};

struct Operand {
  Kind kind = Kind::None;
  uint8_t flags = 0;
  uint16_t index = 0;
  uint32_t value = 0;

  bool isVgpr() const { return kind == Kind::Vgpr; }
};

enum class Enc : uint8_t {
  Invalid,
  Sop2,
  Sopk,
  Sop1,
  Sopc,
  Sopp,
  Smem,
  Vop1,
  Vop2,
  Vopc,
  Vop3,
  Vop3p,
  Vopd,
  Vinterp,
  Ds,
  Flat,
  Global,
  Scratch,
  Mubuf,
  Mtbuf,
};

enum InstFlag : uint16_t {
  kClamp = 1,
  kKeepHigh = 2, ///< a 16-bit result leaves the other half of the register as it was
  kGlc = 4,      ///< atomics: return the old value
  kOffen = 8,
  kIdxen = 16,
  kToLds = 32,
  kSaddr = 64,  ///< flat family: src[2] is the scalar address
  kVaddr = 128, ///< scratch: src[0] is used
  kGds = 256,
  kDpp8 = 512,
  kTfe = 1024,
};

/// Dpp and Sdwa: how the lanes of the first operands are rearranged before the base operation runs.
enum class Permute : uint8_t { None, Dpp, Sdwa };

struct MemoryRows {
  uint8_t address = 0, data = 0, second = 0, result = 0;
};

/// 96 bytes. One entry for each dword of code, so that a program counter is an index.
struct Inst {
  Handler fn = nullptr;
  const OpDef *op = nullptr;
  Operand dst;        ///< vector or scalar destination
  Operand sdst;       ///< VOP3B, VOPC: the scalar (mask) destination
  Operand src[4];     ///< memory: src[0] address, src[1] data, src[2] scalar address or descriptor,
                      ///< src[3] soffset
  int32_t offset = 0; ///< memory: immediate offset; branches: target minus this, in dwords;
                      ///< SOPP/SOPK: the immediate
  uint16_t flags = 0;
  uint8_t dwords = 0; ///< size; 0: no instruction starts here
  Enc enc = Enc::Invalid;
  uint8_t omod = 0;
  uint8_t opsel = 0, opselHi = 0; ///< one bit for each source, bit 3 of opsel: destination
  Permute permute = Permute::None;
  uint16_t dppCtrl = 0;
  uint8_t dppMasks = 0; ///< bank mask in bits 0-3, row mask in bits 4-7
  uint8_t dppFlags = 0; ///< 1: bound_ctrl (zero), 2: fetch inactive
  /// Of memory instructions: the vector dwords of address, data, second data and result; 0 where
  /// the instruction has none, whatever is in the field.
  MemoryRows rows;
  uint32_t sdwa =
      0; ///< dst_sel 0-2, dst_unused 3-4, src0_sel 5-7, src1_sel 8-10; DPP8: the selectors
  union {
    Handler base = nullptr; ///< with a permute: the operation itself
    const void *plan;       ///< matrix instructions: their matrix::MatrixPlan
  };
};

} // namespace flyemu
