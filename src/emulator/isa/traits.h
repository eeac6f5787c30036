// What an operation is to those who look at instructions without running them: the decoder, the
// checks, the cycle estimate. Each row of the operation tables says these facts itself; what
// LLVM's tables say of an opcode (loads, stores, implicit registers) is McEffect in isa/mc.h.
#pragma once

#include "support/enum_set.h"

#include <cstdint>

namespace flyemu {

/// Facts of an operation.
enum class Trait : uint8_t {
  // For the decoder:
  CarryMask,      ///< VOP3 has a scalar destination for a mask besides the vector one
  ScalarResult,   ///< a vector instruction whose destination is a scalar register
  TruthTable,     ///< VOP3's modifier fields hold a function of three bits
  ClearsHigh,     ///< a 16-bit result of VOP3 clears the register's other half on gfx9
  TypedBuffer,    ///< the format is in the instruction (MTBUF)
  NoAddress,      ///< a memory instruction whose vector operands are data alone
  GlobalSync,     ///< the global wave sync, which shares its bit with global data share
  AccSource,      ///< src[0] is an accumulation register, whatever the fields say
  AccResult,      ///< so is the destination
  NumberSource,   ///< the code of the last source is itself the operand
  ComparesToExec, ///< a comparison whose result goes to EXEC
  SetsBanks,      ///< sets the banks of the vector registers of what follows
  ClampIsFormat,  ///< gfx1250's clamp bit chooses E5M3 in place of E4M3
  // For the checks:
  Orders,             ///< orders memory between workgroups: cache control, grid barriers
  WritesBack,         ///< cache control that writes back what a cache keeps
  Invalidates,        ///< cache control that lets a cache forget what it has read
  ForgetsDevice,      ///< cache control that fences of device scope alone have (gfx11's GL1)
  CountsAsLoad,       ///< cache control that the counter of loads counts
  CountsAsScalar,     ///< its result comes late, as that of scalar memory
  Barrier,            ///< waits for the other waves of the workgroup
  Signals,            ///< tells the other waves that this one has come to a barrier
  Overwrites,         ///< an atomic operation whose new value does not depend on the old one
  DescriptorBase,     ///< scalar memory at a buffer descriptor
  MovesLanes,         ///< an LDS instruction that moves values and has no memory
  AddressIsData,      ///< the operand in the address's place is what is moved
  ReadsFirstLane,     ///< the first active lane goes to a scalar register
  ReadsLane,          ///< a lane goes to a scalar register
  WritesLane,         ///< a scalar goes to a lane
  SwapsInLane,        ///< two registers change places, lane by lane
  SelectsByMask,      ///< takes the first or the second operand by the mask
  RelativeResult,     ///< the result is M0 registers away from the operand
  LowFromLow,         ///< the result's low half depends on the operands' low halves alone
  PacksHalves,        ///< each half of the result is made of one operand alone
  ChangesDestination, ///< reads the register that it writes, which LLVM does not tie
  SignExtends,        ///< copies the sign of the field that it extracts
  // For the cycle estimate:
  WaitsForProduct, ///< a vector instruction that waits for the end of its wave's last matrix instruction;
                   ///< others may issue before (matrix::CoExecution)
};
using TraitSet = flydsl::support::EnumSet<Trait>;

/// What an operation costs the vector unit, beside others of its width. Each is a class of LLVM's
/// scheduling models; how many cycles it takes on which target is TimingFigures' matter.
enum class Cost : uint8_t {
  Full,
  Transcendental,
  Product,    ///< a 32-bit integer product
  Conversion, ///< between f32 and 32-bit integers, f16 or fp8
  Quarter,    ///< of a quarter of the rate on all targets
};

/// The counters of operations under way, by the names of gfx12 (LLVM's AMDGPUUsage, memory model).
/// Older targets count several by one: LDS and scalar memory by lgkmcnt, and on gfx9 loads and
/// stores by vmcnt.
enum class WaitCounter : uint8_t {
  Load,   ///< loads, and stores where they have no counter of their own
  Store,  ///
  Ds,     ///< LDS
  Km,     ///< scalar memory and messages
  Async,  ///< gfx1250: copies between global memory and LDS
  Tensor, ///< gfx1250: the tensor data mover
};
constexpr unsigned kWaitCounters = 6;
using WaitCounterSet = flydsl::support::EnumSet<WaitCounter, uint8_t>;

/// How a wait says how many operations may be left.
enum class WaitForm : uint8_t {
  None,   ///< it is no wait
  Number, ///< by its immediate: one number, or one for each of two counters
  Packed, ///< in the fields of one immediate for several counters (s_waitcnt)
  Idle,   ///< none of any counter
};
struct WaitFor {
  WaitForm form = WaitForm::None;
  WaitCounterSet counters; ///< of WaitForm::Number

  explicit operator bool() const { return form != WaitForm::None; }
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
  Elements,   ///< the result's elements are those of the first operand, in order, each by itself
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
