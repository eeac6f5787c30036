#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/Passes.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYCONVERTATOMCALLTOSSAFORMPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

/// A register operand that can be a vector: its type as a value, and where it lies.
struct RegisterOperand {
  Type valueType;
  Value pointer;
  explicit operator bool() const { return pointer != nullptr; }
};

RegisterOperand asRegister(Value memref) {
  if (!memref)
    return {};
  auto type = dyn_cast<MemRefType>(memref.getType());
  auto view = memref.getDefiningOp<MakeViewOp>();
  Type valueType = type ? registerValueType(type) : Type();
  if (!valueType || !view)
    return {};
  return {valueType, view.getIter()};
}

Value load(OpBuilder &builder, Location loc, const RegisterOperand &operand) {
  return PtrLoadOp::create(builder, loc, operand.valueType, operand.pointer);
}

/// The value of a register operand, loaded from its memory; any other operand as it is.
Value loadIfRegister(OpBuilder &builder, Location loc, Value memref) {
  RegisterOperand operand = asRegister(memref);
  return operand ? load(builder, loc, operand) : memref;
}

void convertCopy(CopyAtomCallOp op) {
  RegisterOperand src = asRegister(op.getSrc()), dst = asRegister(op.getDst());
  if (!src && !dst)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value srcValue = src ? load(builder, loc, src) : op.getSrc();
  Value pred = loadIfRegister(builder, loc, op.getPred());
  if (!dst) {
    CopyAtomCallSSAOp::create(builder, loc, TypeRange(), op.getCopyAtom(), srcValue, op.getDst(),
                              pred);
  } else {
    // If the predicate is false, the registers keep their old values.
    Value kept = pred ? load(builder, loc, dst) : Value();
    auto call = CopyAtomCallSSAOp::create(builder, loc, TypeRange(dst.valueType), op.getCopyAtom(),
                                          srcValue, kept, pred);
    PtrStoreOp::create(builder, loc, call.getResult(0), dst.pointer);
  }
  op.erase();
}

void convertMma(MmaAtomCallOp op) {
  RegisterOperand d = asRegister(op.getD());
  if (!d && !asRegister(op.getA()) && !asRegister(op.getB()) && !asRegister(op.getC()))
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value a = loadIfRegister(builder, loc, op.getA());
  Value b = loadIfRegister(builder, loc, op.getB());
  Value c = loadIfRegister(builder, loc, op.getC());
  if (!d) {
    MmaAtomCallSSAOp::create(builder, loc, TypeRange(), op.getMmaAtom(), op.getD(), a, b, c);
  } else {
    auto call = MmaAtomCallSSAOp::create(builder, loc, TypeRange(d.valueType), op.getMmaAtom(),
                                         Value(), a, b, c);
    PtrStoreOp::create(builder, loc, call.getResult(0), d.pointer);
  }
  op.erase();
}

struct ConvertAtomCallToSSAForm
    : impl::FlyConvertAtomCallToSSAFormPassBase<ConvertAtomCallToSSAForm> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto copy = dyn_cast<CopyAtomCallOp>(op))
        convertCopy(copy);
      else if (auto mma = dyn_cast<MmaAtomCallOp>(op))
        convertMma(mma);
    });
  }
};

} // namespace

} // namespace mlir::fly
