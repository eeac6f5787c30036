// AMD's own: instructions of copy and mma atoms, buffer memory, hints to the scheduler, and
// intrinsics.
#pragma once

#include <flydsl/mma.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

//===-- Copies
//---------------------------------------------------------------------------------------===//

/// A load or store of `bits` (8 to 128) through a buffer descriptor, whose range the hardware
/// checks: what is out of it reads as zero and is not written. `cache` 0 is cached, 2 is
/// non-temporal. Takes `soffset`.
FLYDSL_API CopyOp BufferCopy(int bits, int cache = 0, Loc loc = Loc::current());
inline CopyOp BufferCopy8b(Loc loc = Loc::current()) { return BufferCopy(8, 0, loc); }
inline CopyOp BufferCopy16b(Loc loc = Loc::current()) { return BufferCopy(16, 0, loc); }
inline CopyOp BufferCopy32b(Loc loc = Loc::current()) { return BufferCopy(32, 0, loc); }
inline CopyOp BufferCopy64b(Loc loc = Loc::current()) { return BufferCopy(64, 0, loc); }
inline CopyOp BufferCopy128b(Loc loc = Loc::current()) { return BufferCopy(128, 0, loc); }
/// From a buffer into LDS past the registers, 32 bits per lane (128 on gfx950). The compiler waits
/// for it before the LDS is read. Takes `soffset` and `imm_offset`.
FLYDSL_API CopyOp BufferCopyLDS(int bits, Loc loc = Loc::current());
/// An atomic through a buffer descriptor. Takes `soffset`.
FLYDSL_API CopyOp BufferAtomic(AtomicOp op, DType type, Loc loc = Loc::current());
/// gfx950: LDS to registers, transposed in units of `granularity` bits (4, 6, 8, 16) over 16 lanes.
FLYDSL_API CopyOp LDSReadTrans(int granularity, int bits, Loc loc = Loc::current());
/// gfx950: from a buffer, or from global memory, into LDS past the registers; 32, 96 or 128 bits.
/// Wait with `s_waitcnt({.vmcnt = ...})` before a barrier lets others read; the wave's own reads
/// wait by themselves.
FLYDSL_API CopyOp BufferLoadAsyncLDS(int bits, Loc loc = Loc::current());
FLYDSL_API CopyOp GlobalLoadAsyncLDS(int bits, Loc loc = Loc::current());

/// What gfx1250's tensor data mover is told.
struct TdmOptions {
  int rank = 2, warps = 1;
  int pad_interval = 0, pad_amount = 0, cache = 0;
  bool atomic_barrier = false, early_timeout = false;
};
/// gfx1250: a whole tile between global memory and LDS, by descriptor.
FLYDSL_API CopyOp TDM(const TdmOptions &options, Loc loc = Loc::current());

//===-- Multiplications
//------------------------------------------------------------------------------===//

/// CDNA's matrix instruction of M x N x K: A and B of `ab`, C and D of `acc` (not given: f32, or
/// i32 for integers, f64 for f64). Of f32, 16x16x8 and 32x32x4 are gfx942's XF32: the products have
/// its precision. TraceError where the target, or outside of a trace every target, has no such
/// instruction; it lists what there is.
FLYDSL_API MmaOp MFMA(int m, int n, int k, DType ab, DType acc = {}, Loc loc = Loc::current());
/// A and B of different types.
FLYDSL_API MmaOp MFMA(int m, int n, int k, DType a, DType b, DType acc, Loc loc = Loc::current());
/// gfx950: with a shared exponent per 32 elements of K (`scale_a` and `scale_b` of the gemm).
FLYDSL_API MmaOp MFMAScale(int m, int n, int k, DType a, DType b, DType acc = f32, int opsel_a = 0,
                           int opsel_b = 0, Loc loc = Loc::current());

/// How WMMA treats integers: as signed (not given: as their element type says), and whether the sum
/// saturates.
struct WmmaOptions {
  std::optional<bool> sign_a = {}, sign_b = {};
  bool clamp = false;
};
/// RDNA's and gfx1250's matrix instruction, in the form of the target that is traced for; `acc` not
/// given is f32, or i32 for integers. TraceError where the target has none such; it lists what
/// there is.
FLYDSL_API MmaOp WMMA(int m, int n, int k, DType ab, DType acc = {},
                      const WmmaOptions &options = {}, Loc loc = Loc::current());
/// A and B of different types.
FLYDSL_API MmaOp WMMA(int m, int n, int k, DType a, DType b, DType acc,
                      const WmmaOptions &options = {}, Loc loc = Loc::current());
/// gfx1250: with a shared exponent per `block_size` (32 or 16) elements of K.
FLYDSL_API MmaOp WMMAScale(int m, int n, int k, DType a, DType b, DType acc = f32,
                           int block_size = 32, Loc loc = Loc::current());

//===-- Buffers
//--------------------------------------------------------------------------------------===//

/// How far a buffer descriptor reaches.
struct BufferOptions {
  /// Bytes; not given: 4 GiB - 1, or what the layout covers where `max_size` is false.
  std::optional<Int64> num_records_bytes = {};
  bool max_size = true;
};
/// A tensor of global memory, reached through a buffer descriptor.
FLYDSL_API Tensor make_buffer_tensor(const Tensor &tensor, const BufferOptions &options = {},
                                     Loc loc = Loc::current());
FLYDSL_API Pointer make_buffer_ptr(const Pointer &pointer, const BufferOptions &options = {},
                                   Loc loc = Loc::current());

//===-- Scheduling and waiting
//-----------------------------------------------------------------------===//

/// What the instruction scheduler may move over this place: bits of LLVM's mask, 0 for nothing.
FLYDSL_API void sched_barrier(int mask, Loc loc = Loc::current());
/// The next group of `size` instructions of the kinds in `mask`, in the order of these calls.
FLYDSL_API void sched_group_barrier(int mask, int size, int group = 0, Loc loc = Loc::current());
inline void sched_mfma(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x008, count, 0, loc);
}
inline void sched_vmem(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x020, count, 0, loc);
}
inline void sched_dsrd(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x100, count, 0, loc);
}
inline void sched_dswr(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x200, count, 0, loc);
}
/// The wave's priority, 0 to 3.
FLYDSL_API void s_setprio(int priority, Loc loc = Loc::current());
/// The barrier instruction alone, without waiting for memory.
FLYDSL_API void s_barrier(Loc loc = Loc::current());
FLYDSL_API void s_sleep(int count, Loc loc = Loc::current());

/// Operations that may still be under way; not given: any number.
struct WaitCounts {
  std::optional<int> vmcnt = {}, lgkmcnt = {}, expcnt = {};
};
/// Waits until no more than so many are under way. gfx9, gfx11 and gfx120x, each in its own
/// encoding.
FLYDSL_API void s_waitcnt(const WaitCounts &counts, Loc loc = Loc::current());

//===-- Lanes
//----------------------------------------------------------------------------------------===//

/// The first active lane's value, in all lanes.
FLYDSL_API Numeric readfirstlane(const Numeric &value, Loc loc = Loc::current());
/// A given lane's value, in all lanes.
FLYDSL_API Numeric readlane(const Numeric &value, const Numeric::Arg &lane);
/// A bit per lane of the wave: 64 bits on CDNA, 32 on RDNA.
FLYDSL_API Numeric ballot(const Boolean &condition, Loc loc = Loc::current());
/// The value of lane `byte_index / 4`, of 32 bits.
FLYDSL_API Numeric ds_bpermute(const Numeric &byte_index, const Numeric &value,
                               Loc loc = Loc::current());
/// The value of another lane by a DPP control word; lanes that are masked out or have no source
/// keep `old`.
FLYDSL_API Numeric update_dpp(const Numeric &old, const Numeric &value, int control,
                              int row_mask = 0xf, int bank_mask = 0xf, bool bound_control = false,
                              Loc loc = Loc::current());

//===-- Arithmetic
//-----------------------------------------------------------------------------------===//

/// The hardware's approximations.
FLYDSL_API Numeric rcp(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric rsq(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric exp2(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric log2(const Numeric &x, Loc loc = Loc::current());
/// Two floats as two fp8 (of the target's kind) in the low (`high` false) or high half of `old`.
FLYDSL_API Int32 cvt_pk_fp8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high,
                                Loc loc = Loc::current());
/// Two fp8 of the low or high half as floats.
FLYDSL_API Vector cvt_pk_f32_fp8(const Int32 &value, bool high, Loc loc = Loc::current());

//===-- Anything else
//--------------------------------------------------------------------------------===//

/// The type of an intrinsic's result: an element type, and a number of elements where it is a
/// vector.
struct ResultType {
  DType type;
  std::int64_t size = 0;
};
/// An argument of an intrinsic.
struct IntrinsicArg {
  detail::Handle handle;
  IntrinsicArg(const Numeric &v) : handle(v.handle()) {}
  IntrinsicArg(const Vector &v) : handle(v.handle()) {}
  template <detail::HostNumeric T>
  IntrinsicArg(T v, Loc loc = Loc::current())
      : handle(detail::constant(detail::hostNumber(v), DType(), loc)) {}
};
namespace impl {
FLYDSL_API detail::Handle intrinsic(const char *name, ResultType result,
                                    std::initializer_list<IntrinsicArg> arguments, Loc loc);
FLYDSL_API detail::Handle inlineAsm(const char *text, const char *constraints, ResultType result,
                                    std::initializer_list<IntrinsicArg> arguments,
                                    bool side_effects, Loc loc);
} // namespace impl
/// An LLVM intrinsic by its name ("llvm.amdgcn.perm"), of one scalar result.
inline Numeric intrinsic(const char *name, DType result,
                         std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  return Numeric(impl::intrinsic(name, {result}, arguments, loc));
}
/// The same, of a vector of `size` elements.
inline Vector intrinsic(const char *name, DType result, std::int64_t size,
                        std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  return Vector(impl::intrinsic(name, {result, size}, arguments, loc));
}
/// The same, without a result.
inline void intrinsic(const char *name, std::initializer_list<IntrinsicArg> arguments,
                      Loc loc = Loc::current()) {
  impl::intrinsic(name, {}, arguments, loc);
}
/// Assembly with LLVM's constraints ("=v,v,v"), of one scalar result.
inline Numeric inline_asm(const char *text, const char *constraints, DType result,
                          std::initializer_list<IntrinsicArg> arguments, bool side_effects = false,
                          Loc loc = Loc::current()) {
  return Numeric(impl::inlineAsm(text, constraints, {result}, arguments, side_effects, loc));
}
/// The same, without a result.
inline void inline_asm(const char *text, const char *constraints,
                       std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  impl::inlineAsm(text, constraints, {}, arguments, true, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
