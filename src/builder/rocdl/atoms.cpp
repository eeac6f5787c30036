// The instructions of AMD's copy and mma atoms, as types of the FlyROCDL dialect.
#include <flydsl/rocdl/atoms.h>

#include "builder/atoms/specs.h"
#include "builder/rocdl/cache.h"
#include "builder/trace/facade.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "target/processors.h"

FLYDSL_NAMESPACE_BEGIN

using builder::instruction;
using detail::Handle;
namespace fly_rocdl = mlir::fly_rocdl;

namespace rocdl {

/// The instruction, which the traced target has.
static Handle onTarget(const Handle &op, Loc loc) {
  const builder::Tracer *running = detail::running();
  builder::expectOnTarget(running, builder::atomType(running, op, loc), loc);
  return op;
}

CopyOp BufferCopy(int bits, int cache, Loc loc) {
  builder::expectCacheBits(detail::running(), cache, loc);
  return CopyOp(
      instruction<fly_rocdl::CopyOpCDNA3BufferCopyType>(detail::running(), loc, bits, cache));
}
CopyOp BufferCopy(int bits, const CacheControl &cache, Loc loc) {
  return BufferCopy(bits, cache.auxiliary(loc), loc);
}
/// A copy into LDS; Type is its instruction.
template <class Type> static CopyOp toLds(int bits, const CacheControl &cache, Loc loc) {
  const int bitsOfCache = cache.auxiliary(loc);
  return CopyOp(onTarget(instruction<Type>(detail::running(), loc, bits, bitsOfCache), loc));
}
CopyOp BufferCopyLDS(int bits, Loc loc) { return BufferCopyLDS(bits, CacheControl(), loc); }
CopyOp BufferCopyLDS(int bits, const CacheControl &cache, Loc loc) {
  return toLds<fly_rocdl::CopyOpCDNA3BufferCopyLDSType>(bits, cache, loc);
}
CopyOp BufferAtomic(AtomicOp op, DType type, Loc loc) {
  return CopyOp(instruction<fly_rocdl::CopyOpCDNA3BufferAtomicType>(
      detail::running(), loc, builder::atomicOf(op, type, loc), type));
}
CopyOp LDSReadTrans(int granularity, int bits, Loc loc) {
  return CopyOp(onTarget(instruction<fly_rocdl::CopyOpCDNA4LdsReadTransposeType>(
                             detail::running(), loc, granularity, bits),
                         loc));
}
CopyOp BufferLoadAsyncLDS(int bits, Loc loc) {
  return BufferLoadAsyncLDS(bits, CacheControl(), loc);
}
CopyOp BufferLoadAsyncLDS(int bits, const CacheControl &cache, Loc loc) {
  return toLds<fly_rocdl::CopyOpCDNA4BufferLoadAsyncLDSType>(bits, cache, loc);
}
CopyOp GlobalLoadAsyncLDS(int bits, Loc loc) {
  return GlobalLoadAsyncLDS(bits, CacheControl(), loc);
}
CopyOp GlobalLoadAsyncLDS(int bits, const CacheControl &cache, Loc loc) {
  return toLds<fly_rocdl::CopyOpCDNA4GlobalLoadAsyncLDSType>(bits, cache, loc);
}
CopyOp TDM(const TdmOptions &o, Loc loc) {
  return CopyOp(onTarget(instruction<fly_rocdl::CopyOpGFX1250TDMType>(
                             detail::running(), loc, o.rank, o.warps, o.pad_interval, o.pad_amount,
                             o.cache, o.atomic_barrier, o.early_timeout),
                         loc));
}

/// What a sum is kept in where nobody says.
static DType sumOf(DType ab) { return ab.is_integer() ? i32 : ab == f64 ? f64 : f32; }

MmaOp MFMA(int m, int n, int k, DType a, DType b, DType acc, Loc loc) {
  return MmaOp(onTarget(
      instruction<fly_rocdl::MmaOpCDNA3_MFMAType>(detail::running(), loc, m, n, k, a, b, acc),
      loc));
}
MmaOp MFMA(int m, int n, int k, DType ab, DType acc, Loc loc) {
  return MFMA(m, n, k, ab, ab, acc ? acc : sumOf(ab), loc);
}
MmaOp MFMAScale(int m, int n, int k, DType a, DType b, DType acc, int opsel_a, int opsel_b,
                Loc loc) {
  // Bytes lie in two runs along K, so that each block of K meets its own scale.
  const bool hardwareK = a.bits() == 8 || b.bits() == 8;
  return MmaOp(onTarget(instruction<fly_rocdl::MmaOpCDNA4_MFMAScaleType>(detail::running(), loc, m,
                                                                         n, k, a, b, acc, opsel_a,
                                                                         opsel_b, hardwareK),
                        loc));
}
/// The WMMA of a family of processors.
template <class Type>
static MmaOp wmmaOf(int m, int n, int k, DType a, DType b, DType acc, const WmmaOptions &o,
                    Loc loc) {
  auto isSigned = [](std::optional<bool> given, DType type) {
    return given.value_or(type.is_integer() && type.is_signed());
  };
  return MmaOp(onTarget(instruction<Type>(detail::running(), loc, m, n, k, a, b, acc,
                                          isSigned(o.sign_a, a), isSigned(o.sign_b, b), o.clamp),
                        loc));
}
MmaOp WMMA(int m, int n, int k, DType a, DType b, DType acc, const WmmaOptions &o, Loc loc) {
  if (o.arch.empty() && !detail::running())
    throw TraceError("WMMA outside of a kernel needs a target, whose form it has: "
                     "WmmaOptions{.arch = \"gfx1100\"}",
                     loc);
  const Target target = o.arch.empty()
                            ? detail::running()->kernel.targetWith(Feature::wmma, "WMMA", loc)
                            : Target::parse(o.arch);
  if (!target.has(Feature::wmma))
    throw TraceError("there is no WMMA on " + target.name() + "; " +
                         detail::processorsWith(Feature::wmma) + " have it",
                     loc);
  if (target.family() == Family::rdna3)
    return wmmaOf<fly_rocdl::MmaOpGFX11_WMMAType>(m, n, k, a, b, acc, o, loc);
  if (target.family() == Family::rdna4)
    return wmmaOf<fly_rocdl::MmaOpGFX120X_WMMAType>(m, n, k, a, b, acc, o, loc);
  return wmmaOf<fly_rocdl::MmaOpGFX1250_WMMAType>(m, n, k, a, b, acc, o, loc);
}
MmaOp WMMA(int m, int n, int k, DType ab, DType acc, const WmmaOptions &o, Loc loc) {
  return WMMA(m, n, k, ab, ab, acc ? acc : sumOf(ab), o, loc);
}
MmaOp WMMAScale(int m, int n, int k, DType a, DType b, DType acc, int blockSize, Loc loc) {
  return MmaOp(onTarget(instruction<fly_rocdl::MmaOpGFX1250_WMMAScaleType>(
                            detail::running(), loc, m, n, k, a, b, acc, /*opselA=*/0, /*opselB=*/0,
                            /*modC=*/0,
                            /*reuseA=*/false, /*reuseB=*/false, blockSize,
                            /*hardwareK=*/true),
                        loc));
}

MmaOp Mma(const MatrixProduct &p, Loc loc) {
  if (!p.target)
    throw TraceError("this MatrixProduct is empty; rocdl::matrix_products gives those of a target",
                     loc);
  if (p.target.has(Feature::mfma))
    return p.is_scaled() ? MFMAScale(p.m, p.n, p.k, p.a, p.b, p.acc, 0, 0, loc)
                         : MFMA(p.m, p.n, p.k, p.a, p.b, p.acc, loc);
  return p.is_scaled() ? WMMAScale(p.m, p.n, p.k, p.a, p.b, p.acc, p.scale_block, loc)
                       : WMMA(p.m, p.n, p.k, p.a, p.b, p.acc, {.arch = p.target.name()}, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
