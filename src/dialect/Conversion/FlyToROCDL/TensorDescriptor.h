// The descriptor by which gfx1250's tensor data mover moves a box of a tensor. Sources of its
// fields: LLVM's tests of tensor_load_to_lds, Triton's TDMUtility and FlyDSL's CopyAtom of gfx1250.
#pragma once

#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mlir::fly {

/// Arithmetic at one place, on integers of one width; constants are folded.
class DescriptorArith {
public:
  DescriptorArith(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(int64_t value, Type type) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value i32(int64_t value) { return number(value, builder.getI32Type()); }
  Value i64(int64_t value) { return number(value, builder.getI64Type()); }
  template <class Op> Value binary(Value a, Value b) { return builder.createOrFold<Op>(loc, a, b); }
  Value add(Value a, Value b) { return binary<arith::AddIOp>(a, b); }
  Value mul(Value a, Value b) { return binary<arith::MulIOp>(a, b); }
  Value stateField(Value atom, int64_t field) { return fly::stateField(builder, loc, atom, field); }
  Value zext(Value a) { return builder.createOrFold<arith::ExtUIOp>(loc, builder.getI64Type(), a); }

  OpBuilder &builder;
  Location loc;
};

/// What the mover is told. Lists have the outermost dimension first.
struct TensorDescriptor {
  Value global;               ///< address of the box's first element, i64
  Value lds;                  ///< where the box begins in LDS, i32
  SmallVector<Value> extents; ///< i32: of the tensor, from the box's first element on
  SmallVector<Value> strides; ///< i64, in elements, of all dimensions but the last, which has 1
  SmallVector<int64_t> box;   ///< elements along each dimension
  int64_t elementBits = 0;
  Value workgroupMask; ///< i32: workgroups of the cluster that receive the box
  Value earlyTimeout;  ///< i32, 0 or 1
  bool signalsBarrier = false;
  Value barrier; ///< i32: LDS address of the barrier; null where there is none
  int64_t padInterval = 0, padAmount = 0; ///< in elements
  /// Of a gather or scatter of rows, whose box has two dimensions: the numbers of its rows in words of
  /// 32 bits, one or two in each (`rowBits`). Without them, rows follow each other.
  SmallVector<Value> rows = {};
  int64_t rowBits = 32;
};

/// Emits the move, into LDS (`isLoad`) or out of it. Throws LayoutError for padding that can't be
/// encoded, or that a store can't leave out.
void emitTensorMove(DescriptorArith &arith, TensorDescriptor descriptor, bool isLoad,
                    int32_t cachePolicy);

} // namespace mlir::fly
