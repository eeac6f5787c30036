// The numbers of registers: scalar operand codes that all targets share, rows of the vector file,
// and the apertures of the flat address space.
#pragma once

#include <cstdint>

namespace flyemu {

/// Lanes of a row of the vector file. Waves of 32 lanes use the first half.
constexpr unsigned kLanes = 64;

// Rows of the vector file: the registers (Machine::vectorRows), then temporary rows.
constexpr unsigned kAccRow = 256; ///< the first accumulation register, on targets with such
constexpr unsigned kBankRows = 256; ///< registers that an instruction's fields can tell apart
constexpr unsigned kTempRows = 8; ///< rows that permutes and dual instructions use
constexpr unsigned kDualTemp = 6; ///< that of a dual instruction's first half: its old destination

// Scalar operand codes (ISA manuals, "Scalar Operands").
/// Where writes to NULL go: behind the scalar registers.
constexpr unsigned kNullSink = 128;
constexpr unsigned kVcc = 106, kTtmp = 108, kExec = 126;
// Those of sources that are no registers: inline constants and what the wave's state tells.
constexpr unsigned kIntegerZero = 128, kLastPositive = 192, kLastNegative = 208;
constexpr unsigned kSharedBaseCode = 235, kSharedLimitCode = 236;
constexpr unsigned kPrivateBaseCode = 237, kPrivateLimitCode = 238;
constexpr unsigned kFirstFloat = 240, kLastFloat = 247, kOneOverTwoPi = 248;
constexpr unsigned kScratchBaseLowCode = 230, kScratchBaseHighCode = 231; ///< gfx1250
constexpr unsigned kWideLiteralCode = 254;                                ///< gfx1250
constexpr unsigned kVcczCode = 251, kExeczCode = 252, kSccCode = 253, kLiteralCode = 255;
constexpr unsigned kFirstVgprCode = 256;

/// Apertures of LDS and scratch in the flat address space: the upper 32 bits of such an address.
constexpr uint64_t kSharedAperture = 0x0001000000000000ull;
constexpr uint64_t kPrivateAperture = 0x0002000000000000ull;
/// gfx1250 has no such aperture: flat addresses of scratch are this base, the lane in bits 52 to
/// 56, and the lane's offset (LLVM, SITargetLowering::lowerADDRSPACECAST). No memory is there.
constexpr uint64_t kScratchBase = 0x0400000000000000ull;
constexpr unsigned kScratchLaneShift = 52;

} // namespace flyemu
