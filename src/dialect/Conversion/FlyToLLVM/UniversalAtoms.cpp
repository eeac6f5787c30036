#include "dialect/Conversion/FlyToLLVM/UniversalAtoms.h"

#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::fly {

FailureOr<Value> emitUniversalCopy(CopyOpUniversalCopyType copy, OpBuilder &builder, Location loc,
                                   Type resultTy, Type srcTy, Type dstTy, Value src, Value dst) {
  int64_t bits = copy.getBitSize();
  auto from = dyn_cast<MemRefType>(srcTy), to = dyn_cast_or_null<MemRefType>(dstTy);
  Value value = src;
  if (from) {
    Type type = resultTy;
    if (!type)
      type = from.getElemTy().isInteger(1) ? VectorType::get({bits}, builder.getI1Type())
                                           : wordsType(builder, bits);
    value = emitLoad(builder, loc, type, from.getPointerType(), src, Alignment::Always,
                     copy.getNontemporal());
  }
  if (bitsOf(value.getType()) != bits)
    return failure();
  if (to)
    emitStore(builder, loc, value, to.getPointerType(), dst, Alignment::Always,
              copy.getNontemporal());
  else
    value = bitcastTo(builder, loc, value, resultTy);
  return value;
}

/// LLVM's operation for an atomic on values of `type`; none where there is none.
static std::optional<LLVM::AtomicBinOp> atomicKind(AtomicOp op, Type type) {
  bool isFloat = isa<FloatType>(type);
  switch (op) {
  case AtomicOp::Add:
    return isFloat ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  case AtomicOp::Max:
    return isFloat ? LLVM::AtomicBinOp::fmax : LLVM::AtomicBinOp::max;
  case AtomicOp::Min:
    return isFloat ? LLVM::AtomicBinOp::fmin : LLVM::AtomicBinOp::min;
  case AtomicOp::And:
    return isFloat ? std::nullopt : std::optional(LLVM::AtomicBinOp::_and);
  case AtomicOp::Or:
    return isFloat ? std::nullopt : std::optional(LLVM::AtomicBinOp::_or);
  case AtomicOp::Inc:
    return isFloat ? std::nullopt : std::optional(LLVM::AtomicBinOp::uinc_wrap);
  case AtomicOp::Dec:
    return isFloat ? std::nullopt : std::optional(LLVM::AtomicBinOp::udec_wrap);
  }
  return std::nullopt;
}

FailureOr<Value> emitUniversalAtomic(CopyOpUniversalAtomicType atomic, OpBuilder &builder,
                                     Location loc, Type srcTy, Type dstTy, Value src, Value dst) {
  auto to = dyn_cast_or_null<MemRefType>(dstTy);
  std::optional<LLVM::AtomicBinOp> kind =
      atomicKind(atomic.getAtomicOp().getValue(), getElementTypeOrSelf(atomic.getValType()));
  if (!to || isa<MemRefType>(srcTy) || !kind || isDescriptor(to.getPointerType()) ||
      bitsOf(src.getType()) != bitsOf(atomic.getValType()))
    return failure();
  src = bitcastTo(builder, loc, src, atomic.getValType());
  Value address = swizzledAddress(builder, loc, to.getPointerType(), dst);
  LLVM::AtomicRMWOp::create(builder, loc, *kind, address, src, LLVM::AtomicOrdering::monotonic,
                            atomic.getSyncscope());
  return src;
}

FailureOr<Value> emitUniversalFMA(OpBuilder &builder, Location loc, Type resultTy, Value a, Value b,
                                  Value c) {
  if (a.getType() != b.getType() || a.getType() != c.getType() || c.getType() != resultTy)
    return failure();
  if (isa<FloatType>(getElementTypeOrSelf(resultTy)))
    return Value(math::FmaOp::create(builder, loc, a, b, c));
  Value product = arith::MulIOp::create(builder, loc, a, b);
  return Value(arith::AddIOp::create(builder, loc, product, c));
}

} // namespace mlir::fly
