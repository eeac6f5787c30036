// MFMA and WMMA.
//
// Each matrix instruction is an operation of the ROCDL dialect, found by its name, which says shape
// and element types. Operands are taken as registers: whatever vector the fragment is, it is cast
// to the instruction's.

#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::fly {

using namespace mlir::fly_rocdl;

namespace {

/// `bits` bits as words: i32, or i64 where an instruction wants those, or a vector of i32.
Type wordType(MLIRContext *context, int64_t bits, bool wide = false) {
  if (bits == 32 || (bits == 64 && wide))
    return IntegerType::get(context, bits);
  return VectorType::get({bits / 32}, IntegerType::get(context, 32));
}

/// `count` values of `elemTy`, a scalar where there is one.
Type valuesType(Type elemTy, int64_t count) {
  return count == 1 ? elemTy : Type(VectorType::get({count}, elemTy));
}

/// An instruction's operation and the types of its operands as registers.
struct Instruction {
  std::string name;
  Type a, b, acc;

  Type of(MmaOperand operand) const {
    return operand == MmaOperand::A ? a : operand == MmaOperand::B ? b : acc;
  }
};

FailureOr<Value> emitNamed(OpBuilder &builder, Location loc, const Instruction &instruction,
                           Type resultTy, Value a, Value b, Value c, ValueRange more,
                           ArrayRef<NamedAttribute> attributes = {}) {
  if (bitsOf(a.getType()) != bitsOf(instruction.a) ||
      bitsOf(b.getType()) != bitsOf(instruction.b) ||
      bitsOf(c.getType()) != bitsOf(instruction.acc) ||
      bitsOf(resultTy) != bitsOf(instruction.acc) ||
      !RegisteredOperationName::lookup(instruction.name, builder.getContext()))
    return failure();
  SmallVector<Value> operands{bitcastTo(builder, loc, a, instruction.a),
                              bitcastTo(builder, loc, b, instruction.b),
                              bitcastTo(builder, loc, c, instruction.acc)};
  llvm::append_range(operands, more);
  OperationState state(loc, instruction.name, operands, instruction.acc, attributes);
  return bitcastTo(builder, loc, builder.create(state)->getResult(0), resultTy);
}

//===----------------------------------------------------------------------===//
// MFMA
//===----------------------------------------------------------------------===//

constexpr int64_t kMfmaWave = 64;

/// The operation of a dense atom, whose verifier has found it.
template <class MmaType> std::string denseName(MatrixFamily family, MmaType mma) {
  return "rocdl." + findMatrixInstruction(family, mma.getM(), mma.getN(), mma.getK(),
                                          mma.getElemTyA(), mma.getElemTyB(), mma.getElemTyAcc())
                        ->name;
}

struct MFMA : MmaOpLoweringInterface::ExternalModel<MFMA, MmaOpCDNA3_MFMAType> {
  static Instruction instruction(MmaOpCDNA3_MFMAType mma) {
    Type elemTy = mma.getElemTyA();
    int64_t perThread = mma.getM() * mma.getK() / kMfmaWave;
    Type operandTy;
    if (elemTy.isBF16())
      operandTy =
          valuesType(perThread == 8 ? elemTy : IntegerType::get(mma.getContext(), 16), perThread);
    else if (elemTy.getIntOrFloatBitWidth() == 8)
      operandTy = wordType(mma.getContext(), 8 * perThread, /*wide=*/true);
    else
      operandTy = valuesType(elemTy, perThread);
    Type accTy = valuesType(mma.getElemTyAcc(), mma.getM() * mma.getN() / kMfmaWave);
    return {denseName(MatrixFamily::MFMA, mma), operandTy, operandTy, accTy};
  }
  Type getRegisterType(Type type, MmaOperand operand) const {
    return instruction(cast<MmaOpCDNA3_MFMAType>(type)).of(operand);
  }
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Value,
                            Value a, Value b, Value c) const {
    Value zero = constantI32(builder, loc, 0);
    return emitNamed(builder, loc, instruction(cast<MmaOpCDNA3_MFMAType>(type)), resultTy, a, b, c,
                     ValueRange{zero, zero, zero});
  }
};

/// The instruction's number of an MX format; -1 for other types.
int mxFormat(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return 0;
  if (isa<Float8E5M2Type>(type))
    return 1;
  if (isa<Float6E2M3FNType>(type))
    return 2;
  if (isa<Float6E3M2FNType>(type))
    return 3;
  return isa<Float4E2M1FNType>(type) ? 4 : -1;
}

Value stateField(OpBuilder &builder, Location loc, Value atom, int64_t field) {
  return LLVM::ExtractValueOp::create(builder, loc, atom, ArrayRef<int64_t>{field});
}

struct MFMAScale : MmaOpLoweringInterface::ExternalModel<MFMAScale, MmaOpCDNA4_MFMAScaleType> {
  static Instruction instruction(MmaOpCDNA4_MFMAScaleType mma) {
    auto operandTy = [&](Type elemTy) {
      return wordType(mma.getContext(),
                      mma.getM() * mma.getK() / kMfmaWave * elemTy.getIntOrFloatBitWidth());
    };
    std::string name = mma.getM() == 16 ? "rocdl.mfma.scale.f32.16x16x128.f8f6f4"
                                        : "rocdl.mfma.scale.f32.32x32x64.f8f6f4";
    return {name, operandTy(mma.getElemTyA()), operandTy(mma.getElemTyB()),
            valuesType(mma.getElemTyAcc(), mma.getM() * mma.getN() / kMfmaWave)};
  }
  Type getRegisterType(Type type, MmaOperand operand) const {
    return instruction(cast<MmaOpCDNA4_MFMAScaleType>(type)).of(operand);
  }
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Value atom,
                            Value a, Value b, Value c) const {
    auto mma = cast<MmaOpCDNA4_MFMAScaleType>(type);
    auto number = [&](int64_t v) { return constantI32(builder, loc, v); };
    SmallVector<Value> more{number(mxFormat(mma.getElemTyA())),
                            number(mxFormat(mma.getElemTyB())),
                            number(mma.getOpselA()),
                            stateField(builder, loc, atom, 0),
                            number(mma.getOpselB()),
                            stateField(builder, loc, atom, 1)};
    return emitNamed(builder, loc, instruction(mma), resultTy, a, b, c, more);
  }
};

//===----------------------------------------------------------------------===//
// WMMA
//===----------------------------------------------------------------------===//

NamedAttribute boolAttr(OpBuilder &builder, StringRef name, bool value) {
  return builder.getNamedAttr(name, builder.getBoolAttr(value));
}

/// Any of the dense WMMA types: they have the same parameters.
template <class WMMAType>
struct WMMA : MmaOpLoweringInterface::ExternalModel<WMMA<WMMAType>, WMMAType> {
  static constexpr bool rdna3 = std::is_same_v<WMMAType, MmaOpGFX11_WMMAType>;
  static constexpr MatrixFamily family = rdna3 ? MatrixFamily::GFX11
                                         : std::is_same_v<WMMAType, MmaOpGFX120X_WMMAType>
                                             ? MatrixFamily::GFX120X
                                             : MatrixFamily::GFX1250;

  /// A fragment of the sum is packed: RDNA3's halves are spread over registers at the call.
  static Instruction instruction(WMMAType mma) {
    const MatrixInstruction &row =
        *findMatrixInstruction(family, mma.getM(), mma.getN(), mma.getK(), mma.getElemTyA(),
                               mma.getElemTyB(), mma.getElemTyAcc());
    WmmaRegisters made = wmmaRegisters(row, mma.getContext());
    auto acc = cast<VectorType>(made.acc);
    return {"rocdl." + row.name, made.a, made.b, valuesType(acc.getElementType(), 8)};
  }
  Type getRegisterType(Type type, MmaOperand operand) const {
    return instruction(cast<WMMAType>(type)).of(operand);
  }
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Value,
                            Value a, Value b, Value c) const {
    auto mma = cast<WMMAType>(type);
    SmallVector<NamedAttribute> attributes;
    if (isa<IntegerType>(mma.getElemTyA()))
      attributes = {boolAttr(builder, "signA", mma.getSignA()),
                    boolAttr(builder, "signB", mma.getSignB()),
                    boolAttr(builder, "clamp", mma.getClamp())};
    Instruction made = instruction(mma);
    if (rdna3 && mma.getElemTyAcc().getIntOrFloatBitWidth() == 16)
      return emitSparse(builder, loc, made, resultTy, a, b, c);
    return emitNamed(builder, loc, made, resultTy, a, b, c, {}, attributes);
  }

  /// RDNA3 keeps a sum of 16 bits in the low half of a register each, and leaves the high half.
  static FailureOr<Value> emitSparse(OpBuilder &builder, Location loc, Instruction made,
                                     Type resultTy, Value a, Value b, Value c) {
    auto packed = cast<VectorType>(made.acc);
    if (bitsOf(c.getType()) != bitsOf(packed) || bitsOf(resultTy) != bitsOf(packed))
      return failure();
    Value values = bitcastTo(builder, loc, c, packed);
    SmallVector<int32_t> spread, gathered;
    for (int32_t i = 0; i < 8; ++i) {
      spread.append({i, 8});
      gathered.push_back(2 * i);
    }
    Value zero = LLVM::ZeroOp::create(builder, loc, packed);
    Value wide = LLVM::ShuffleVectorOp::create(builder, loc, values, zero, spread);
    made.acc = wide.getType();
    FailureOr<Value> sum = emitNamed(builder, loc, made, made.acc, a, b, wide, {});
    if (failed(sum))
      return failure();
    Value narrow = LLVM::ShuffleVectorOp::create(builder, loc, *sum, *sum, gathered);
    return bitcastTo(builder, loc, narrow, resultTy);
  }
};

struct WMMAScale : MmaOpLoweringInterface::ExternalModel<WMMAScale, MmaOpGFX1250_WMMAScaleType> {
  static Instruction instruction(MmaOpGFX1250_WMMAScaleType mma) {
    bool tall = mma.getM() == 32;
    std::string name =
        mma.getBlockSize() == 16 ? "rocdl.wmma.scale16.f32." : "rocdl.wmma.scale.f32.";
    name += tall ? "32x16x128.f4" : "16x16x128.f8f6f4";
    auto operandTy = [&](int64_t rows, Type elemTy) {
      return wordType(mma.getContext(), rows * mma.getK() / 32 * elemTy.getIntOrFloatBitWidth());
    };
    return {name, operandTy(mma.getM(), mma.getElemTyA()), operandTy(mma.getN(), mma.getElemTyB()),
            valuesType(mma.getElemTyAcc(), tall ? 16 : 8)};
  }
  Type getRegisterType(Type type, MmaOperand operand) const {
    return instruction(cast<MmaOpGFX1250_WMMAScaleType>(type)).of(operand);
  }
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Value atom,
                            Value a, Value b, Value c) const {
    auto mma = cast<MmaOpGFX1250_WMMAScaleType>(type);
    auto i32 = [&](StringRef attr, int64_t v) {
      return builder.getNamedAttr(attr, builder.getI32IntegerAttr(v));
    };
    SmallVector<NamedAttribute> attributes;
    if (mma.getM() == 16)
      attributes = {i32("fmtA", mxFormat(mma.getElemTyA())),
                    i32("fmtB", mxFormat(mma.getElemTyB()))};
    attributes.append({builder.getNamedAttr("modC", builder.getI16IntegerAttr(mma.getModC())),
                       i32("scaleAType", mma.getOpselA()), i32("scaleBType", mma.getOpselB()),
                       boolAttr(builder, "reuseA", mma.getReuseA()),
                       boolAttr(builder, "reuseB", mma.getReuseB())});
    SmallVector<Value> scales{stateField(builder, loc, atom, 0), stateField(builder, loc, atom, 1)};
    return emitNamed(builder, loc, instruction(mma), resultTy, a, b, c, scales, attributes);
  }
};

} // namespace

void attachMatrixAtomModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FlyROCDLDialect *) {
    MmaOpCDNA3_MFMAType::attachInterface<MFMA>(*context);
    MmaOpCDNA4_MFMAScaleType::attachInterface<MFMAScale>(*context);
    MmaOpGFX11_WMMAType::attachInterface<WMMA<MmaOpGFX11_WMMAType>>(*context);
    MmaOpGFX120X_WMMAType::attachInterface<WMMA<MmaOpGFX120X_WMMAType>>(*context);
    MmaOpGFX1250_WMMAType::attachInterface<WMMA<MmaOpGFX1250_WMMAType>>(*context);
    MmaOpGFX1250_WMMAScaleType::attachInterface<WMMAScale>(*context);
  });
}

} // namespace mlir::fly
