// Atoms of AMD's instructions for copies and for products of matrices.
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

} // namespace rocdl
FLYDSL_NAMESPACE_END
