// A pre-decoded instruction.
#pragma once

#include <cstdint>

namespace flyemu {

struct Wave; // what handlers work on; this room knows no more of it
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
  ImmWide, ///< 64 bits in the code, `index` dwords after the instruction's first
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
  Tensor, ///< gfx1250: the tensor data mover; src[0] to src[2] and soffset: the descriptor's groups
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
  kWideScope = 512,    ///< memory: what it does is seen beyond the workgroup
  kSystemScope = 1024, ///< memory, of targets that say so: and beyond the device
  kScaleOffset = 2048, ///< memory: the register offset counts what a lane or the wave moves
  kStreams = 4096,     ///< memory: caches beyond the lanes' own need not keep the lines (nt, slc)
};

/// Dpp, Dpp8 and Sdwa: how the lanes or parts of the first operands are rearranged before the base
/// operation runs.
enum class Permute : uint8_t { None, Dpp, Dpp8, Sdwa };

/// A DPP word: which lane each lane reads.
struct DppControl {
  uint16_t control;
  uint8_t banks : 4, rows : 4; ///< masks of those that are on
  bool zero;                   ///< bound_ctrl: a lane without a source reads zero
  bool fetchInactive;          ///< lanes that are off are sources too
};

/// A DPP8 word.
struct Dpp8Control {
  uint32_t selectors; ///< three bits for each lane of a group of eight
  bool fetchInactive;
};

/// An SDWA word: parts of registers. 0-3 are bytes, 4 and 5 words.
constexpr uint8_t kWholeDword = 6;
struct SdwaControl {
  uint8_t result, sources[2];
  uint8_t unused; ///< what becomes of the result's other bits: 0 zeros, 1 the sign, 2 kept
};

/// What a matrix instruction has beside operands.
struct MatrixControl {
  uint8_t cbsz, abid, blgp; ///< broadcasts and patterns, or the formats of A and B
  uint8_t partOfA, partOfB; ///< with scales: the byte; on gfx1250 the half of the wave
};

struct MemoryRows {
  uint8_t address = 0, data = 0, second = 0, result = 0;
};

/// 96 bytes. One entry for each dword of code, so that a program counter is an index.
struct Inst {
  Handler fn = nullptr;
  const OpDef *op = nullptr;
  Operand dst; ///< vector or scalar destination
  union {
    Operand mask = {};  ///< vector instructions: the scalar destination of a mask (VOP3B, VOPC)
    Operand scalarData; ///< scalar memory: destination or data
    Operand scaleB;     ///< matrix instructions with scales: that of B
  };
  Operand src[3]; ///< memory: src[0] address, src[1] data, src[2] scalar address or descriptor
  union {
    Operand soffset = {}; ///< buffers: the scalar offset
    Operand scaleA;       ///< matrix instructions with scales: that of A
  };
  int32_t offset = 0; ///< the immediate. Memory: added to the address; branches: target minus this
                      ///< one, in dwords
  uint16_t flags = 0;
  uint8_t dwords = 0; ///< size; 0: no instruction starts here
  Enc enc = Enc::Invalid;
  uint8_t omod = 0;
  uint8_t opsel = 0, opselHi = 0; ///< one bit for each source, bit 3 of opsel: destination
  Permute permute = Permute::None;
  /// Of memory instructions: the vector dwords of address, data, second data and result; 0 where
  /// the instruction has none, whatever is in the field.
  MemoryRows rows;
  union {
    uint64_t noControl = 0;
    DppControl dpp;       ///< Permute::Dpp
    Dpp8Control dpp8;     ///< Permute::Dpp8
    SdwaControl sdwa;     ///< Permute::Sdwa
    MatrixControl matrix; ///< Class::Mfma
    uint8_t bufferFormat; ///< Trait::TypedBuffer
    uint8_t truthTable;   ///< Trait::TruthTable: a bit for each value of three bits
  };
  union {
    Handler base = nullptr; ///< with a permute: the operation itself
    const void *plan;       ///< matrix instructions: their matrix::MatrixPlan
  };
};
static_assert(sizeof(Inst) == 96);

} // namespace flyemu
