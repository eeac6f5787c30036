//===- NativeMath.cpp - Math that the code generator lowers by itself -----===//
//
// MLIR sends most math operations to ROCm's device library and forgets their fast-math flags, which
// decide between one instruction and a dozen. This pass makes an intrinsic, with the flags, of each
// operation that the AMDGPU code generator lowers within the accuracy that OpenCL asks for. It
// leaves the others to the library.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

namespace mlir::fly {

#define GEN_PASS_DEF_CONVERTNATIVEMATHPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

enum class Precision { upToSingle, any };

/// Replaces `op` by the value that `make` builds from its operand, if the code generator has the
/// function for its type. bf16 is computed in f32.
template <class Make> void replace(Operation *op, Precision precision, Make make) {
  const Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  if (vector && (vector.getRank() != 1 || vector.isScalable()))
    return;
  if (!element.isF16() && !element.isBF16() && !element.isF32() &&
      !(element.isF64() && precision == Precision::any))
    return;
  OpBuilder b(op);
  const Location loc = op->getLoc();
  auto flags = LLVM::FastmathFlagsAttr::get(
      op->getContext(),
      arith::convertArithFastMathFlagsToLLVM(
          cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue()));
  Value operand = op->getOperand(0), result;
  if (element.isBF16()) {
    const Type wide = vector ? Type(vector.clone(b.getF32Type())) : b.getF32Type();
    result = make(b, loc, arith::ExtFOp::create(b, loc, wide, operand), flags);
    result = arith::TruncFOp::create(b, loc, type, result);
  } else {
    result = make(b, loc, operand, flags);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// Calls the intrinsic by its name. MLIR's later conversion of GPU modules would replace LLVM's
/// operations of the same meaning by calls of the library.
Value call(OpBuilder &b, Location loc, StringRef intrinsic, Value x,
           LLVM::FastmathFlagsAttr flags) {
  return LLVM::CallIntrinsicOp::create(b, loc, x.getType(), b.getStringAttr(intrinsic), x, flags)
      .getResult(0);
}

void become(Operation *op, StringRef intrinsic, Precision precision) {
  replace(op, precision, [&](OpBuilder &b, Location loc, Value x, LLVM::FastmathFlagsAttr flags) {
    return call(b, loc, intrinsic, x, flags);
  });
}

bool isApproximate(LLVM::FastmathFlagsAttr flags) {
  return bitEnumContainsAll(flags.getValue(), LLVM::FastmathFlags::afn);
}

Value splat(OpBuilder &b, Location loc, Type type, double number) {
  TypedAttr value = b.getFloatAttr(getElementTypeOrSelf(type), number);
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, value);
  return LLVM::ConstantOp::create(b, loc, type, value);
}

/// One of the hardware's functions of f32, which has one instruction per element.
Value hardware(OpBuilder &b, Location loc, StringRef intrinsic, Value x) {
  auto one = [&](Value e) -> Value {
    return LLVM::CallIntrinsicOp::create(b, loc, e.getType(), b.getStringAttr(intrinsic), e)
        .getResult(0);
  };
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return one(x);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(one(vector::ExtractOp::create(b, loc, x, i)));
  return vector::FromElementsOp::create(b, loc, type, elements);
}

/// The code generator scales arguments whose result would not be normal, which takes five more
/// instructions. Approximate functions in f32 leave that out, as FlyDSL's do: the hardware's
/// results below the smallest normal number are 0.
void becomeExponential(Operation *op, StringRef intrinsic, double log2OfBase) {
  replace(op, Precision::upToSingle,
          [&](OpBuilder &b, Location loc, Value x, LLVM::FastmathFlagsAttr flags) -> Value {
            if (!isApproximate(flags) || !getElementTypeOrSelf(x.getType()).isF32())
              return call(b, loc, intrinsic, x, flags);
            if (log2OfBase != 1)
              x = LLVM::FMulOp::create(b, loc, x.getType(), x,
                                       splat(b, loc, x.getType(), log2OfBase), flags);
            return hardware(b, loc, "llvm.amdgcn.exp2", x);
          });
}

/// The reciprocal of the square root in f32 by the hardware's, whose last place may be off by one
/// (OpenCL allows two) and which takes subnormal numbers for 0. These are scaled before and after.
Value scaledReciprocalRoot(OpBuilder &b, Location loc, Value x) {
  const Type type = x.getType();
  constexpr int kScale = 12; // a subnormal number times 2^24 is normal
  const auto times = [&](Value v, int exponent) -> Value {
    return LLVM::FMulOp::create(b, loc, type, v, splat(b, loc, type, std::ldexp(1.0, exponent)));
  };
  const Value small = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x,
                                            splat(b, loc, type, std::ldexp(1.0, -126)));
  const Value root = hardware(b, loc, "llvm.amdgcn.rsq",
                              arith::SelectOp::create(b, loc, small, times(x, 2 * kScale), x));
  return arith::SelectOp::create(b, loc, small, times(root, kScale), root);
}

/// The reciprocal of the square root, which is one instruction if the fast-math flags allow it.
void becomeReciprocalRoot(Operation *op) {
  replace(op, Precision::any,
          [](OpBuilder &b, Location loc, Value x, LLVM::FastmathFlagsAttr flags) -> Value {
            const Type type = x.getType();
            if (getElementTypeOrSelf(type).isF32() && !isApproximate(flags))
              return scaledReciprocalRoot(b, loc, x);
            Value root = LLVM::SqrtOp::create(b, loc, type, x, flags);
            return LLVM::FDivOp::create(b, loc, type, splat(b, loc, type, 1), root, flags);
          });
}

struct ConvertNativeMath : impl::ConvertNativeMathPassBase<ConvertNativeMath> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      TypeSwitch<Operation *>(op)
          .Case<math::Exp2Op>([](auto op) { becomeExponential(op, "llvm.exp2", 1); })
          .Case<math::ExpOp>(
              [](auto op) { becomeExponential(op, "llvm.exp", std::numbers::log2e); })
          .Case<math::Log2Op>([](auto op) { become(op, "llvm.log2", Precision::upToSingle); })
          .Case<math::Log10Op>([](auto op) { become(op, "llvm.log10", Precision::upToSingle); })
          .Case<math::LogOp>([](auto op) { become(op, "llvm.log", Precision::upToSingle); })
          .Case<math::SqrtOp>([](auto op) { become(op, "llvm.sqrt", Precision::any); })
          .Case<math::FloorOp>([](auto op) { become(op, "llvm.floor", Precision::any); })
          .Case<math::CeilOp>([](auto op) { become(op, "llvm.ceil", Precision::any); })
          .Case<math::TruncOp>([](auto op) { become(op, "llvm.trunc", Precision::any); })
          .Case<math::RoundEvenOp>([](auto op) { become(op, "llvm.roundeven", Precision::any); })
          .Case<math::AbsFOp>([](auto op) { become(op, "llvm.fabs", Precision::any); })
          .Case<math::RsqrtOp>([](auto op) { becomeReciprocalRoot(op); });
    });
  }
};

} // namespace

} // namespace mlir::fly
