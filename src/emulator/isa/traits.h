// What an operation is to those who look at instructions without running them: the decoder, the
// checks, the cycle estimate. Each row of the operation tables says these facts itself; what
// LLVM's tables say of an opcode (loads, stores, implicit registers) is McEffect in isa/mc.h.
#pragma once

#include <cstdint>

namespace flyemu {

/// Facts of an operation, as bits of OpDef::traits.
enum Trait : uint32_t {
  // For the decoder:
  kCarryMask = 1u << 0,       ///< VOP3 has a scalar destination for a mask beside the vector one
  kScalarResult = 1u << 1,    ///< a vector instruction whose destination is a scalar register
  kTruthTable = 1u << 2,      ///< VOP3's modifier fields hold a function of three bits
  kClearsHigh = 1u << 3,      ///< a 16-bit result of VOP3 clears the register's other half on gfx9
  kTypedBuffer = 1u << 4,     ///< the format is in the instruction (MTBUF)
  kNoAddress = 1u << 5,       ///< a memory instruction whose vector operands are data alone
  kGlobalSync = 1u << 6,      ///< the global wave sync, which shares its bit with global data share
  kAccSource = 1u << 7,       ///< src[0] is an accumulation register, whatever the fields say
  kAccResult = 1u << 8,       ///< so is the destination
  kNumberSource = 1u << 23,   ///< the code of the last source is itself the operand
  kComparesToExec = 1u << 24, ///< a comparison whose result goes to EXEC
  // For the checks:
  kOrders = 1u << 9,          ///< orders memory between workgroups: cache control, grid barriers
  kBarrier = 1u << 10,        ///< waits for the other waves of the workgroup
  kMovesLanes = 1u << 11,     ///< an LDS instruction that moves values and has no memory
  kAddressIsData = 1u << 12,  ///< the operand in the address's place is what is moved
  kReadsFirstLane = 1u << 13, ///< the first active lane goes to a scalar register
  kReadsLane = 1u << 14,      ///< a lane goes to a scalar register
  kWritesLane = 1u << 15,     ///< a scalar goes to a lane
  kSwapsInLane = 1u << 16,    ///< two registers change places, lane by lane
  kSelectsByMask = 1u << 17,  ///< takes the first or the second operand by the mask
  kRelativeResult = 1u << 18, ///< the result is M0 registers away from the operand
  kLowFromLow = 1u << 19,     ///< the result's low half depends on the operands' low halves alone
  kChangesDestination = 1u << 20, ///< reads the register that it writes, which LLVM does not tie
  kSignExtends = 1u << 21,        ///< copies the sign of the field that it extracts
  kDescriptorBase = 1u << 22,     ///< scalar memory at a buffer descriptor
  kCountsAsLoad = 1u << 25,       ///< cache control that the counter of loads counts
  kCountsAsScalar = 1u << 26,     ///< its result comes late, as that of scalar memory
  kWritesBack = 1u << 27,         ///< cache control that writes back what a cache keeps
  kInvalidates = 1u << 28,        ///< cache control that lets a cache forget what it has read
  kPacksHalves = 1u << 29,        ///< each half of the result is made of one operand alone
  kForgetsDevice = 1u << 31, ///< cache control that fences of device scope alone have (gfx11's GL1)
  kOverwrites = 1u << 30,    ///< an atomic operation whose new value does not depend on the old one
};

/// What an operation costs the vector unit, beside others of its width. Each is a class of LLVM's
/// scheduling models; how many cycles it takes on which target is TimingFigures' matter.
enum class Cost : uint8_t {
  Full,
  Transcendental,
  Product,    ///< a 32-bit integer product
  Conversion, ///< between f32 and 32-bit integers, f16 or fp8
  Quarter,    ///< of a quarter of the rate on all targets
};

/// The counters of outstanding operations that a wait looks at, as bits.
enum WaitFor : uint8_t {
  kWaitVector = 1, ///< loads, and stores where they have no counter of their own
  kWaitLds = 2,    ///< LDS
  kWaitStore = 4,
  kWaitScalar = 8,  ///< scalar memory and messages
  kWaitPacked = 16, ///< several counters in the fields of one immediate (s_waitcnt)
  kWaitIdle = 32,   ///< all counters, until nothing is under way
};

/// Where a multiply-add has its constant.
enum class Literal : uint8_t { None, Second, Third };

/// How undefined bits of the operands reach the results: of a scalar instruction bit by bit, of a
/// vector instruction whose result is a pair of registers register by register (Move, Packed,
/// PackedMove, ShiftLeft, ShiftRight).
enum class Flow : uint8_t {
  Any,       ///< an undefined bit makes all of the result undefined
  None,      ///< nothing that is followed
  Defines,   ///< the result has a value whatever the operands: clocks, program counters, constants
  Move,      ///< the operand's bits
  Select,    ///< one of two operands by SCC
  MoveIf,    ///< the operand if SCC is set
  Logic,     ///< bit by bit
  SaveExec,  ///< EXEC to the destination, EXEC and the operand to EXEC
  WriteExec, ///< the same, the result in both
  ShiftLeft,
  ShiftRight,
  Packed,     ///< each register of a pair from those that op_sel and op_sel_hi choose
  PackedMove, ///< the first from the first operand, the second from the second, as op_sel chooses
  Extract,    ///< a field of bits (s_bfe)
  Equal,      ///< whether the operands are equal, or differ
  BitTest,    ///< one bit of the operand
  BranchScc,  ///< branches, and what they look at
  BranchVcc,
  BranchExec,
  Jump,
  Load, ///< scalar memory
  Store,
  Atomic,
};

/// The function of Flow::Logic, SaveExec and WriteExec.
enum class Logic : uint8_t {
  And,
  Or,
  Xor,
  AndNot, ///< a & ~b
  OrNot,
  Nand,
  Nor,
  Xnor,
  NotAnd, ///< ~a & b
  NotOr,
  Not
};

} // namespace flyemu
