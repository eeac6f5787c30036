// AMD's own: instructions of copy and mma atoms, buffer memory, and hints to the scheduler.
#pragma once

#include <flydsl/mma.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

//===-- Copies ------------------------------------------------------------===//

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

//===-- Multiplications ---------------------------------------------------===//

/// CDNA's matrix instruction of M x N x K: A and B of `ab`, C and D of `acc` (not given: f32, or
/// i32 for integers, f64 for f64). Of f32, 16x16x8 and 32x32x4 are gfx942's XF32: the products have
/// its precision. TraceError where the target, or outside of a trace every target, has no such
/// instruction; it lists what there is.
/// The instructions of several blocks are shapes of 64 columns, of which each block computes its
/// part with the same A: `MFMA(4, 64, 4, f16)` runs f32_4x4x4f16 with 16 blocks.
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
  /// The target whose form it has ("gfx1100"); empty: the one that is traced for. Outside of a
  /// kernel, as for a tiled mma that is made on the host, one is named.
  std::string arch = {};
};
/// RDNA's and gfx1250's matrix instruction, in the form of the target that is traced for or named;
/// `acc` not given is f32, or i32 for integers. TraceError where the target has none such; it lists
/// what there is.
FLYDSL_API MmaOp WMMA(int m, int n, int k, DType ab, DType acc = {},
                      const WmmaOptions &options = {}, Loc loc = Loc::current());
/// A and B of different types.
FLYDSL_API MmaOp WMMA(int m, int n, int k, DType a, DType b, DType acc,
                      const WmmaOptions &options = {}, Loc loc = Loc::current());
/// gfx1250: with a shared exponent per `block_size` (32 or 16) elements of K.
FLYDSL_API MmaOp WMMAScale(int m, int n, int k, DType a, DType b, DType acc = f32,
                           int block_size = 32, Loc loc = Loc::current());

//===-- Buffers -----------------------------------------------------------===//

/// How far a buffer descriptor reaches.
struct BufferOptions {
  /// Bytes; not given: 4 GiB - 1, or what the layout covers where `max_size` is false.
  std::optional<Int64> num_records_bytes = {};
  bool max_size = true;
};
/// A tensor of global memory, reached through a buffer descriptor. Its offsets have 32 bits and
/// reach 4 GiB from where the tensor starts: a larger tensor is a TraceError, here or, where only
/// the launch knows, when a launch with it is traced. Take the block's tile of a large tensor first
/// (global pointers move by 64 bits) and make the buffer of that; a tile that is too large itself
/// stops the kernel.
FLYDSL_API Tensor make_buffer_tensor(const Tensor &tensor, const BufferOptions &options = {},
                                     Loc loc = Loc::current());
FLYDSL_API Pointer make_buffer_ptr(const Pointer &pointer, const BufferOptions &options = {},
                                   Loc loc = Loc::current());

//===-- Scheduling and waiting --------------------------------------------===//

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
/// The same by the instruction's 16 bits.
FLYDSL_API void s_waitcnt(int bitfield, Loc loc = Loc::current());
/// gfx1250: waits until no more than `count` asynchronous LDS transfers, or tensor transfers, are
/// under way.
FLYDSL_API void s_wait_asynccnt(int count, Loc loc = Loc::current());
FLYDSL_API void s_wait_tensorcnt(int count, Loc loc = Loc::current());
/// One of the scheduler's own strategies for the block (LLVM's llvm.amdgcn.iglp.opt).
FLYDSL_API void iglp_opt(int strategy, Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
