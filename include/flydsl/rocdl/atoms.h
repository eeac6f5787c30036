// Atoms of AMD's instructions for copies and for products of matrices.
#pragma once

#include <flydsl/kernel/mma.h>
#include <flydsl/rocdl/cache.h>
#include <flydsl/rocdl/matrix_products.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

//===-- Copies ------------------------------------------------------------===//

/// A load or store of `bits` (8 to 128) through a buffer descriptor. The hardware checks the
/// descriptor's range: memory outside of it reads as zero and is not written. `cache` has the bits
/// of the instruction as LLVM's intrinsics take them, whose meaning is the target's: 2 is nt on
/// gfx942 and gfx950, slc on gfx90a and RDNA 3, th_ht on RDNA 4. Bits that the target does not have
/// are a TraceError. The atom has the operand `soffset`.
FLYDSL_API CopyOp BufferCopy(int bits, int cache = 0, Loc loc = Loc::current());
/// The same with a cache policy, such as CachePolicy::non_temporal or CacheBit::sc1, by its name on
/// every target.
FLYDSL_API CopyOp BufferCopy(int bits, const CacheControl &cache, Loc loc = Loc::current());
inline CopyOp BufferCopy8b(Loc loc = Loc::current()) { return BufferCopy(8, 0, loc); }
inline CopyOp BufferCopy16b(Loc loc = Loc::current()) { return BufferCopy(16, 0, loc); }
inline CopyOp BufferCopy32b(Loc loc = Loc::current()) { return BufferCopy(32, 0, loc); }
inline CopyOp BufferCopy64b(Loc loc = Loc::current()) { return BufferCopy(64, 0, loc); }
inline CopyOp BufferCopy128b(Loc loc = Loc::current()) { return BufferCopy(128, 0, loc); }
/// A copy from a buffer into LDS that bypasses the registers: 32 bits per lane, or 128 on gfx950.
/// The compiler waits for it before the LDS is read. The atom has the operands `soffset` and
/// `imm_offset`.
FLYDSL_API CopyOp BufferCopyLDS(int bits, Loc loc = Loc::current());
FLYDSL_API CopyOp BufferCopyLDS(int bits, const CacheControl &cache, Loc loc = Loc::current());
/// An atomic operation through a buffer descriptor. The atom has the operand `soffset`.
FLYDSL_API CopyOp BufferAtomic(AtomicOp op, DType type, Loc loc = Loc::current());
/// gfx950: reads LDS into registers, and transposes units of `granularity` bits (4, 6, 8, 16) over
/// 16 lanes.
FLYDSL_API CopyOp LDSReadTrans(int granularity, int bits, Loc loc = Loc::current());
/// gfx950: copies of 32, 96 or 128 bits per lane from a buffer, or from global memory, into LDS
/// that bypass the registers. Wait with `s_waitcnt({.vmcnt = ...})` before a barrier after which
/// other waves read the LDS; reads of the wave itself wait by themselves.
FLYDSL_API CopyOp BufferLoadAsyncLDS(int bits, Loc loc = Loc::current());
FLYDSL_API CopyOp BufferLoadAsyncLDS(int bits, const CacheControl &cache, Loc loc = Loc::current());
FLYDSL_API CopyOp GlobalLoadAsyncLDS(int bits, Loc loc = Loc::current());
FLYDSL_API CopyOp GlobalLoadAsyncLDS(int bits, const CacheControl &cache, Loc loc = Loc::current());

/// Options of gfx1250's tensor data mover.
struct TdmOptions {
  int rank = 2, warps = 1;
  int pad_interval = 0, pad_amount = 0, cache = 0;
  bool atomic_barrier = false, early_timeout = false;
};
/// gfx1250: copies a whole tile between global memory and LDS, as a descriptor says.
FLYDSL_API CopyOp TDM(const TdmOptions &options, Loc loc = Loc::current());

//===-- Multiplications ---------------------------------------------------===//

/// CDNA's matrix instruction of M x N x K: A and B have the type `ab`, C and D have `acc` (by
/// default f32, i32 for integers, f64 for f64). With f32, 16x16x8 and 32x32x4 are gfx942's XF32
/// instructions, whose products have that precision. Throws TraceError if the target (or, outside
/// of a trace, every target) lacks such an instruction; the error lists those that there are.
/// The instructions of several blocks are shapes of 64 columns; each block computes its part of
/// them with the same A: `MFMA(4, 64, 4, f16)` runs f32_4x4x4f16 with 16 blocks.
FLYDSL_API MmaOp MFMA(int m, int n, int k, DType ab, DType acc = {}, Loc loc = Loc::current());
/// The same with different types of A and B.
FLYDSL_API MmaOp MFMA(int m, int n, int k, DType a, DType b, DType acc, Loc loc = Loc::current());
/// gfx950: the same with a shared exponent per 32 elements of K (`scale_a` and `scale_b` of the
/// gemm).
FLYDSL_API MmaOp MFMAScale(int m, int n, int k, DType a, DType b, DType acc = f32, int opselA = 0,
                           int opselB = 0, Loc loc = Loc::current());

/// Options of WMMA: whether it treats the integers of A and B as signed (by default as their
/// element type says), and whether the sum saturates.
struct WmmaOptions {
  std::optional<bool> sign_a = {}, sign_b = {};
  bool clamp = false;
  /// The target whose form the instruction has ("gfx1100"). If it is empty, this is the target that
  /// is traced for. Outside of a kernel, as for a tiled mma that is made on the host, a target must
  /// be named.
  std::string arch = {};
};
/// The matrix instruction of RDNA and gfx1250, in the form of the named target or the target that
/// is traced for. `acc` is by default f32, or i32 for integers. Throws TraceError if the target
/// lacks such an instruction; the error lists those that there are.
FLYDSL_API MmaOp WMMA(int m, int n, int k, DType ab, DType acc = {},
                      const WmmaOptions &options = {}, Loc loc = Loc::current());
/// The same with different types of A and B.
FLYDSL_API MmaOp WMMA(int m, int n, int k, DType a, DType b, DType acc,
                      const WmmaOptions &options = {}, Loc loc = Loc::current());
/// gfx1250: the same with a shared exponent per `blockSize` (32 or 16) elements of K.
FLYDSL_API MmaOp WMMAScale(int m, int n, int k, DType a, DType b, DType acc = f32,
                           int blockSize = 32, Loc loc = Loc::current());

/// The instruction that `matrix_products` described, whatever the target: MFMA or WMMA, with scales
/// or without. It works outside of a kernel, too. In a kernel for another target it throws
/// TraceError if that target lacks the instruction.
FLYDSL_API MmaOp Mma(const MatrixProduct &product, Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
