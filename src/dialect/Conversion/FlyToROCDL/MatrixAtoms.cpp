// MFMA and WMMA.
//
// Each matrix instruction is an operation of the ROCDL dialect, which its row names. Operands are
// taken as registers: whatever vector the fragment is, it is cast to the instruction's.

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

/// An instruction's operation and the types of its operands as registers.
struct IntrinsicForm {
  std::string name;
  Type a, b, acc;

  IntrinsicForm(const MatrixInstruction &row, MLIRContext *context)
      : name("rocdl." + std::string(row.name)), a(registerType(row.registersA, context)),
        b(registerType(row.registersB, context)),
        acc(registerType(flydsl::detail::fragmentC(row), context)) {}
};

/// What all models share: the registers of an operand as the type's row has them.
template <class Model, class MmaType>
struct RowModel : MmaOpLoweringInterface::ExternalModel<Model, MmaType> {
  Type getRegisterType(Type type, MmaOperand operand) const {
    const IntrinsicForm made(cast<MmaType>(type).row(), type.getContext());
    return operand == MmaOperand::A ? made.a : operand == MmaOperand::B ? made.b : made.acc;
  }
};

FailureOr<Value> emitNamed(OpBuilder &builder, Location loc, const IntrinsicForm &instruction,
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

struct MFMA : RowModel<MFMA, MmaOpCDNA3_MFMAType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Value,
                            Value a, Value b, Value c) const {
    const MatrixInstruction &row = cast<MmaOpCDNA3_MFMAType>(type).row();
    Value zero = constantI32(builder, loc, 0);
    // CBSZ is the logarithm of the number of blocks that share a block
    // of A; ABID chooses the block.
    const unsigned sharing = llvm::Log2_32(static_cast<unsigned>(row.blocks));
    Value cbsz = sharing ? constantI32(builder, loc, sharing) : zero;
    return emitNamed(builder, loc, IntrinsicForm(row, type.getContext()), resultTy, a, b, c,
                     ValueRange{cbsz, zero, zero});
  }
};

struct MFMAScale : RowModel<MFMAScale, MmaOpCDNA4_MFMAScaleType> {
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
    return emitNamed(builder, loc, IntrinsicForm(mma.row(), type.getContext()), resultTy, a, b, c,
                     more);
  }
};

//===----------------------------------------------------------------------===//
// WMMA
//===----------------------------------------------------------------------===//

NamedAttribute boolAttr(OpBuilder &builder, StringRef name, bool value) {
  return builder.getNamedAttr(name, builder.getBoolAttr(value));
}

/// Any of the dense WMMA types: they have the same parameters, but for gfx1250's modifier of C.
template <class WMMAType> struct WMMA : RowModel<WMMA<WMMAType>, WMMAType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Value,
                            Value a, Value b, Value c) const {
    auto mma = cast<WMMAType>(type);
    SmallVector<NamedAttribute> attributes;
    if (isa<IntegerType>(mma.getElemTyA()))
      attributes = {boolAttr(builder, "signA", mma.getSignA()),
                    boolAttr(builder, "signB", mma.getSignB()),
                    boolAttr(builder, "clamp", mma.getClamp())};
    if constexpr (std::is_same_v<WMMAType, MmaOpGFX1250_WMMAType>)
      if (mma.getModC() != 0)
        attributes.push_back(
            builder.getNamedAttr("modC", builder.getI16IntegerAttr(mma.getModC())));
    IntrinsicForm made(mma.row(), type.getContext());
    if (bitsOf(made.acc) != mma.row().registersC.bits())
      return emitSparse(builder, loc, made, resultTy, a, b, c);
    return emitNamed(builder, loc, made, resultTy, a, b, c, {}, attributes);
  }

  /// RDNA3 keeps a sum of 16 bits in the low half of a register each, and leaves the high half.
  static FailureOr<Value> emitSparse(OpBuilder &builder, Location loc, IntrinsicForm made,
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

struct WMMAScale : RowModel<WMMAScale, MmaOpGFX1250_WMMAScaleType> {
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
    return emitNamed(builder, loc, IntrinsicForm(mma.row(), type.getContext()), resultTy, a, b, c,
                     scales, attributes);
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
