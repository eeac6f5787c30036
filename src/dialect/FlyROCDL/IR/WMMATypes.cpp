// WMMA of RDNA3, RDNA4 and gfx1250.
#include "dialect/FlyROCDL/IR/WMMATypes.h"

#include "dialect/FlyROCDL/IR/MatrixInstructions.h"
#include "dialect/FlyROCDL/IR/TypeUtils.h"

namespace layout = flydsl::layout;
using layout::IntTuple;
using layout::Layout;
using layout::tup;

namespace mlir::fly_rocdl {

static constexpr int64_t kWave = 32;
static constexpr int64_t kRows = 16;

Layout wmmaOperandLayout(int64_t k, unsigned elementBits) {
  int64_t perThread = k / 2;
  if (elementBits >= 32)
    return Layout(tup(tup(kRows, 2), perThread), tup(tup(1, perThread * kRows), kRows));
  constexpr int64_t kRun = 8;
  int64_t runs = perThread / kRun;
  if (runs <= 1)
    return Layout(tup(tup(kRows, 2), perThread), tup(tup(1, perThread * kRows), kRows));
  return Layout(tup(tup(kRows, 2), tup(kRun, runs)),
                tup(tup(1, kRun * kRows), tup(kRows, 2 * kRun * kRows)));
}

Layout wmmaResultLayout() { return Layout(tup(tup(kRows, 2), 8), tup(tup(kRows, 8), 1)); }

/// RDNA3: both halves of the wave hold the same 16 values of K.
static Layout replicatedOperandLayout(int64_t k) {
  return Layout(tup(tup(kRows, 2), k), tup(tup(1, 0), kRows));
}
/// RDNA3: the halves of the wave take alternate rows, M = 2 * v + l / 16.
static Layout interleavedResultLayout() {
  return Layout(tup(tup(kRows, 2), 8), tup(tup(kRows, 1), 2));
}

/// `name` is the family's in messages.
static LogicalResult verifyInstruction(EmitError emitError, MatrixFamily family, StringRef name,
                                       int32_t m, int32_t n, int32_t k, Type a, Type b, Type acc) {
  if (findMatrixInstruction(family, m, n, k, a, b, acc))
    return success();
  // Of the first two generations, integers of four bits alone have another shape.
  bool cube = m == 16 && n == 16 && k == 16;
  if (family != MatrixFamily::GFX1250 && !cube && !isIntegerOf(a, 4))
    return emitError() << name << " WMMA requires M=N=K=16, got " << m << "x" << n << "x" << k
                       << " (expected " << offeredInstructions(family) << ")";
  return emitError() << "unsupported " << name << " WMMA configuration: " << m << "x" << n << "x"
                     << k << " with A=" << a << ", B=" << b << ", sum=" << acc << " (expected "
                     << offeredInstructions(family) << ")";
}

/// The floating-point instructions have no such modifiers; `message` says so.
static LogicalResult verifyModifiers(EmitError emitError, Type a, bool signA, bool signB,
                                     bool clamp, const Twine &message) {
  if (!isa<IntegerType>(a) && (signA || signB || clamp))
    return emitError() << message << ", not for " << a;
  return success();
}

//===----------------------------------------------------------------------===//
// RDNA3
//===----------------------------------------------------------------------===//

LogicalResult MmaOpGFX11_WMMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                          Type a, Type b, Type acc, bool signA, bool signB,
                                          bool clamp) {
  if (failed(verifyInstruction(emitError, MatrixFamily::GFX11, "GFX11", m, n, k, a, b, acc)))
    return failure();
  return verifyModifiers(emitError, a, signA, signB, clamp,
                         "GFX11 WMMA fp16/bf16 path does not accept signA/signB/clamp: they are "
                         "for integers");
}
Layout MmaOpGFX11_WMMAType::getThrLayout() const { return Layout(kWave, 1); }
IntTuple MmaOpGFX11_WMMAType::getShapeMNK() const { return tup(getM(), getN(), getK()); }
Type MmaOpGFX11_WMMAType::getValTypeA() const { return getElemTyA(); }
Type MmaOpGFX11_WMMAType::getValTypeB() const { return getElemTyB(); }
Type MmaOpGFX11_WMMAType::getValTypeC() const { return getElemTyAcc(); }
Type MmaOpGFX11_WMMAType::getValTypeD() const { return getElemTyAcc(); }
Layout MmaOpGFX11_WMMAType::getThrValLayoutA() const { return replicatedOperandLayout(getK()); }
Layout MmaOpGFX11_WMMAType::getThrValLayoutB() const { return replicatedOperandLayout(getK()); }
Layout MmaOpGFX11_WMMAType::getThrValLayoutC() const { return interleavedResultLayout(); }

//===----------------------------------------------------------------------===//
// RDNA4
//===----------------------------------------------------------------------===//

LogicalResult MmaOpGFX120X_WMMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                            Type a, Type b, Type acc, bool signA, bool signB,
                                            bool clamp) {
  if (failed(verifyInstruction(emitError, MatrixFamily::GFX120X, "GFX120X", m, n, k, a, b, acc)))
    return failure();
  return verifyModifiers(emitError, a, signA, signB, clamp,
                         "GFX120X WMMA fp16/bf16 path does not accept signA/signB/clamp: they are "
                         "for integers");
}
Layout MmaOpGFX120X_WMMAType::getThrLayout() const { return Layout(kWave, 1); }
IntTuple MmaOpGFX120X_WMMAType::getShapeMNK() const { return tup(getM(), getN(), getK()); }
Type MmaOpGFX120X_WMMAType::getValTypeA() const { return getElemTyA(); }
Type MmaOpGFX120X_WMMAType::getValTypeB() const { return getElemTyB(); }
Type MmaOpGFX120X_WMMAType::getValTypeC() const { return getElemTyAcc(); }
Type MmaOpGFX120X_WMMAType::getValTypeD() const { return getElemTyAcc(); }
Layout MmaOpGFX120X_WMMAType::getThrValLayoutA() const {
  return wmmaOperandLayout(getK(), getElemTyA().getIntOrFloatBitWidth());
}
Layout MmaOpGFX120X_WMMAType::getThrValLayoutB() const {
  return wmmaOperandLayout(getK(), getElemTyB().getIntOrFloatBitWidth());
}
Layout MmaOpGFX120X_WMMAType::getThrValLayoutC() const { return wmmaResultLayout(); }

//===----------------------------------------------------------------------===//
// gfx1250
//===----------------------------------------------------------------------===//

LogicalResult MmaOpGFX1250_WMMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                            Type a, Type b, Type acc, bool signA, bool signB,
                                            bool clamp) {
  if (failed(verifyInstruction(emitError, MatrixFamily::GFX1250, "GFX1250", m, n, k, a, b, acc)))
    return failure();
  return verifyModifiers(emitError, a, signA, signB, clamp,
                         "signA/signB/clamp are only valid for integer (iu4/iu8) WMMA");
}
Layout MmaOpGFX1250_WMMAType::getThrLayout() const { return Layout(kWave, 1); }
IntTuple MmaOpGFX1250_WMMAType::getShapeMNK() const { return tup(getM(), getN(), getK()); }
Type MmaOpGFX1250_WMMAType::getValTypeA() const { return getElemTyA(); }
Type MmaOpGFX1250_WMMAType::getValTypeB() const { return getElemTyB(); }
Type MmaOpGFX1250_WMMAType::getValTypeC() const { return getElemTyAcc(); }
Type MmaOpGFX1250_WMMAType::getValTypeD() const { return getElemTyAcc(); }
Layout MmaOpGFX1250_WMMAType::getThrValLayoutA() const {
  return wmmaOperandLayout(getK(), getElemTyA().getIntOrFloatBitWidth());
}
Layout MmaOpGFX1250_WMMAType::getThrValLayoutB() const {
  return wmmaOperandLayout(getK(), getElemTyB().getIntOrFloatBitWidth());
}
Layout MmaOpGFX1250_WMMAType::getThrValLayoutC() const { return wmmaResultLayout(); }

} // namespace mlir::fly_rocdl
