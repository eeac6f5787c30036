// Replaces fly.print by gpu.printf.

#include "dialect/Fly/Transforms/AlgebraLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fly {

using namespace flydsl::layout;

namespace {

/// Collects printf's format and arguments.
class Printf {
public:
  Printf(PrintOp op, AlgebraLowering &lowering) : op_(op), lowering_(lowering), builder_(op) {}

  /// Adds literal text. Characters that mean something to printf are escaped.
  void text(StringRef s) {
    for (char c : s) {
      format_ += c;
      if (c == '%')
        format_ += '%';
    }
  }

  LogicalResult value(Value v) {
    if (auto vector = dyn_cast<VectorType>(v.getType())) {
      if (vector.getRank() != 1 || vector.isScalable())
        return op_.emitOpError("can't print a value of type ") << vector;
      format_ += '[';
      for (int64_t i = 0; i < vector.getNumElements(); ++i) {
        format_ += i ? ", " : "";
        if (failed(
                scalar(vector::ExtractOp::create(builder_, op_.getLoc(), v, ArrayRef<int64_t>{i}))))
          return failure();
      }
      format_ += ']';
      return success();
    }
    if (v.getType().isIntOrIndexOrFloat())
      return scalar(v);
    FailureOr<SymbolicValue> symbolic = lowering_.get(v, op_);
    if (failed(symbolic))
      return failure();
    if (const IntTuple *t = symbolic->asTuple())
      tuple(*t);
    else if (const auto *layout = std::get_if<Layout>(&symbolic->value)) {
      tuple(layout->shape());
      format_ += ':';
      tuple(layout->stride());
    } else if (const CoordTensorValue *tensor = symbolic->asCoordTensor()) {
      tuple(tensor->base);
    } else {
      return op_.emitOpError("can't print a value of type ") << v.getType();
    }
    return success();
  }

  void finish() {
    format_ += '\n';
    gpu::PrintfOp::create(builder_, op_.getLoc(), builder_.getStringAttr(format_), args_);
    op_.erase();
  }

private:
  void tuple(const IntTuple &t) {
    if (!t.isLeaf()) {
      format_ += '(';
      for (int i = 0; i < t.rank(); ++i) {
        format_ += i ? "," : "";
        tuple(t[i]);
      }
      format_ += ')';
      return;
    }
    if (!t.leaf().isDynamic())
      return text(t.leaf().str());
    Value number = lowering_.materializeInt(builder_, op_.getLoc(), t.leaf().withoutBasis());
    args_.push_back(number);
    format_ += number.getType().isInteger(64) ? "%lld" : "%d";
    for (int32_t mode : t.leaf().basis())
      format_ += "E" + std::to_string(mode);
  }

  LogicalResult scalar(Value v) {
    Location loc = op_.getLoc();
    Type type = v.getType();
    if (isa<FloatType>(type)) {
      // printf takes doubles.
      if (type.getIntOrFloatBitWidth() < 64)
        v = arith::ExtFOp::create(builder_, loc, builder_.getF64Type(), v);
      else if (!type.isF64())
        return op_.emitOpError("can't print a value of type ") << type;
      format_ += "%f";
    } else {
      unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
      if (bits > 64)
        return op_.emitOpError("can't print a value of type ") << type;
      if (type.isIndex())
        v = arith::IndexCastOp::create(builder_, loc, builder_.getI64Type(), v);
      else if (bits == 1)
        v = arith::ExtUIOp::create(builder_, loc, builder_.getI32Type(), v);
      else if (bits < 32)
        v = arith::ExtSIOp::create(builder_, loc, builder_.getI32Type(), v);
      else if (bits > 32 && bits < 64)
        v = arith::ExtSIOp::create(builder_, loc, builder_.getI64Type(), v);
      format_ += bits > 32 ? "%lld" : "%d";
    }
    args_.push_back(v);
    return success();
  }

  PrintOp op_;
  AlgebraLowering &lowering_;
  OpBuilder builder_;
  std::string format_;
  SmallVector<Value> args_;
};

} // namespace

// Each `{}` of the format takes the next value. If there is no format, the values are printed side
// by side.
LogicalResult lowerPrint(PrintOp op, AlgebraLowering &lowering) {
  if (!op->getParentOfType<gpu::GPUFuncOp>())
    return op.emitOpError(
        "prints from device code only; print on the host with the host's own means");
  Printf out(op, lowering);
  StringRef format = op.getFormat();
  bool hasFormat = !format.empty();
  for (auto [i, value] : llvm::enumerate(op.getValues())) {
    if (hasFormat) {
      auto [before, after] = format.split("{}");
      if (before.size() == format.size())
        return op.emitOpError("has ")
               << op.getValues().size() << " values but only " << i << " places in its format";
      out.text(before);
      format = after;
    } else if (i) {
      out.text(" ");
    }
    if (failed(out.value(value)))
      return failure();
  }
  out.text(format);
  out.finish();
  return success();
}

} // namespace mlir::fly
