// What the types of matrix instructions accept: the rows of the table, and the modifiers beside it.
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"
#include "dialect/FlyROCDL/IR/TypeUtils.h"

#include <limits>

namespace mlir::fly_rocdl {

//===----------------------------------------------------------------------===//
// MFMA
//===----------------------------------------------------------------------===//

LogicalResult MmaOpCDNA3_MFMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                          Type a, Type b, Type acc) {
  if (!findMatrixInstruction(MatrixFamily::MFMA, m, n, k, a, b, acc))
    return emitError() << "there is no MFMA " << m << "x" << n << "x" << k << " of " << a << " and "
                       << b << " that sums in " << acc << "; there are "
                       << offeredInstructions(MatrixFamily::MFMA);
  return success();
}

// Lane l holds the scale of row l % M and of block l / M of 32 in K (Composable Kernel's
// test/mx_mfma_op/scale_mapping_*.txt, found on hardware); opsel picks the byte of its word.
LogicalResult MmaOpCDNA4_MFMAScaleType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                               Type a, Type b, Type acc, int32_t opselA,
                                               int32_t opselB, bool hardwareK) {
  if (!findMatrixInstruction(MatrixFamily::MFMAScale, m, n, k, a, b, acc, /*scaleBlock=*/32))
    return emitError() << "there is no scaled MFMA " << m << "x" << n << "x" << k << " of " << a
                       << " and " << b << " that sums in " << acc
                       << "; it is 16x16x128 or 32x32x64 of f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN "
                          "or f4E2M1FN and sums in f32";
  if (opselA < 0 || opselA > 3 || opselB < 0 || opselB > 3)
    return emitError() << "opsel picks one of the bytes 0 to 3, not " << opselA << " and "
                       << opselB;
  if (hardwareK && a.getIntOrFloatBitWidth() < 8 && b.getIntOrFloatBitWidth() < 8)
    return emitError() << "hardwareK is for operands of bytes: the values of a lane are neighbours "
                          "in K anyway for "
                       << a << " and " << b;
  return success();
}

//===----------------------------------------------------------------------===//
// WMMA
//===----------------------------------------------------------------------===//

/// `name` is the family's in messages.
static LogicalResult verifyInstruction(EmitError emitError, MatrixFamily family, StringRef name,
                                       int32_t m, int32_t n, int32_t k, Type a, Type b, Type acc) {
  if (findMatrixInstruction(family, m, n, k, a, b, acc))
    return success();
  // Of the first two generations, only integers of four bits have another shape.
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

LogicalResult MmaOpGFX11_WMMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                          Type a, Type b, Type acc, bool signA, bool signB,
                                          bool clamp) {
  if (failed(verifyInstruction(emitError, MatrixFamily::GFX11, "GFX11", m, n, k, a, b, acc)))
    return failure();
  return verifyModifiers(emitError, a, signA, signB, clamp,
                         "GFX11 WMMA fp16/bf16 path does not accept signA/signB/clamp: they are "
                         "for integers");
}

LogicalResult MmaOpGFX120X_WMMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                            Type a, Type b, Type acc, bool signA, bool signB,
                                            bool clamp) {
  if (failed(verifyInstruction(emitError, MatrixFamily::GFX120X, "GFX120X", m, n, k, a, b, acc)))
    return failure();
  return verifyModifiers(emitError, a, signA, signB, clamp,
                         "GFX120X WMMA fp16/bf16 path does not accept signA/signB/clamp: they are "
                         "for integers");
}

LogicalResult MmaOpGFX1250_WMMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                            Type a, Type b, Type acc, bool signA, bool signB,
                                            bool clamp, int32_t modC) {
  if (failed(verifyInstruction(emitError, MatrixFamily::GFX1250, "GFX1250", m, n, k, a, b, acc)))
    return failure();
  if (modC < 0 || modC > 3)
    return emitError() << "modC is 0 (none), 1 (negate), 2 (magnitude) or 3 (both), not " << modC;
  if (modC != 0 && isa<IntegerType>(a))
    return emitError() << "modC is for products of floats, not of " << a;
  return verifyModifiers(emitError, a, signA, signB, clamp,
                         "signA/signB/clamp are only valid for integer (iu4/iu8) WMMA");
}

// The scale words have 64 bits for blocks of 16. A lane of the half that opsel picks holds all
// scales of row l % 16: byte n is that of block n in K.
LogicalResult MmaOpGFX1250_WMMAScaleType::verify(EmitError emitError, int32_t m, int32_t n,
                                                 int32_t k, Type a, Type b, Type acc,
                                                 int32_t opselA, int32_t opselB, int32_t modC, bool,
                                                 bool, int32_t blockSize, bool /*hardwareK*/) {
  if ((m != 16 && m != 32) || n != 16 || k != 128)
    return emitError() << "unsupported MNK for GFX1250 WMMA_Scale: " << m << "x" << n << "x" << k
                       << " (expected 16x16x128 or 32x16x128)";
  if (m == 32 && !(isa<Float4E2M1FNType>(a) && isa<Float4E2M1FNType>(b)))
    return emitError() << "GFX1250 WMMA_Scale 32x16x128 requires f4E2M1FN A and B, got " << a
                       << " and " << b;
  if (blockSize != 16 && blockSize != 32)
    return emitError() << "blockSize must be 16 or 32, got " << blockSize;
  if (!findMatrixInstruction(MatrixFamily::GFX1250Scale, m, n, k, a, b, acc, blockSize))
    return emitError() << "GFX1250 WMMA_Scale multiplies f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or "
                          "f4E2M1FN and sums in f32, got "
                       << a << ", " << b << " and " << acc;
  if (opselA < 0 || opselA > 1 || opselB < 0 || opselB > 1)
    return emitError() << "opsel picks half 0 or 1 of the wave, not " << opselA << " and "
                       << opselB;
  if (modC < 0 || modC > std::numeric_limits<uint16_t>::max())
    return emitError() << "modC has 16 bits, " << modC << " does not fit";
  return success();
}

} // namespace mlir::fly_rocdl
