// The state of the layout lowering: what each Fly value of the function is in terms of symbols, and
// how such a value becomes operations again if an operation that remains uses it.
#pragma once

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/AtomCalls.h"
#include "dialect/Fly/Transforms/ExprMaterializer.h"
#include "layout/error.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::fly {

/// A Fly value over symbols. For pointers and tensors in memory, `base` is the pointer that the
/// offset counts from. `origin` is an SSA value that is equal to this one, if there is any.
struct SymbolicValue {
  AlgebraValue value;
  Value base;
  Value origin;

  const MemRefValue *asMemRef() const { return std::get_if<MemRefValue>(&value); }
  const CoordTensorValue *asCoordTensor() const { return std::get_if<CoordTensorValue>(&value); }
  const PointerValue *asPointer() const { return std::get_if<PointerValue>(&value); }
  const flydsl::layout::IntTuple *asTuple() const {
    return std::get_if<flydsl::layout::IntTuple>(&value);
  }
};

class AlgebraLowering {
public:
  AlgebraLowering(MLIRContext *context, DominanceInfo &dominance)
      : context_(context), exprs_(dominance) {}

  MLIRContext *getContext() const { return context_; }
  ExprMaterializer &getExprs() { return exprs_; }

  /// The symbolic value of `value`. Errors are emitted at `user`, the operation that uses it.
  FailureOr<SymbolicValue> get(Value value, Operation *user);
  /// Records the symbolic value of `value`.
  void set(Value value, SymbolicValue symbolic) { known_[value] = std::move(symbolic); }
  bool isKnown(Value value) const { return known_.contains(value); }

  /// Evaluates an operation of the algebra and records its results. Scalar results that have uses
  /// are replaced by arith operations.
  LogicalResult evaluate(AlgebraOpInterface op);

  /// Creates the operations that make `symbolic`, at the builder's place.
  FailureOr<Value> materialize(OpBuilder &builder, Location loc, const SymbolicValue &symbolic);

  /// The pointer of a tensor's element at `offset` elements behind its iterator.
  Value materializePointer(OpBuilder &builder, Location loc, const SymbolicValue &tensor,
                           const flydsl::layout::IntTuple &offset);
  Value materializeTuple(OpBuilder &builder, Location loc, const flydsl::layout::IntTuple &tuple);
  Value materializeLayout(OpBuilder &builder, Location loc,
                          const flydsl::layout::AnyLayout &layout);
  /// One leaf in the width of its type.
  Value materializeInt(OpBuilder &builder, Location loc, const flydsl::layout::Int &leaf);

  /// Lowers the move of a pointer. If a pointer that was moved by a constant is used by itself too,
  /// it stays the base of moves by numbers known at run time, so that the constant is added once.
  LogicalResult lowerAddOffset(AddOffsetOp op);

private:
  /// The last of the consecutive operations of `moves` that begin at `op`.
  Operation *endOfMoves(Operation *op);
  Value offsetPointer(OpBuilder &builder, Location loc, Value base, const PointerValue &pointer);
  Value addOffset(OpBuilder &builder, Location loc, Value pointer,
                  const flydsl::layout::Int &offset, bool early);
  flydsl::layout::Int scalarOf(Value value, Operation *user, int64_t divisor);

  MLIRContext *context_;
  ExprMaterializer exprs_;
  llvm::DenseMap<Value, SymbolicValue> known_;
  /// The operations that were made to move pointers. They stand in runs; each maps to itself or to
  /// a later operation of its run.
  llvm::DenseMap<Operation *, Operation *> moves_;
};

/// Runs `fn`, turning a LayoutError into an error at `op`: a LogicalResult of a function that gives
/// one, else a FailureOr.
template <class Fn> auto emitLayoutErrors(Operation *op, Fn fn) {
  using T = decltype(fn());
  using Result = std::conditional_t<std::is_same_v<T, LogicalResult>, LogicalResult, FailureOr<T>>;
  try {
    return Result(fn());
  } catch (const flydsl::layout::LayoutError &error) {
    return Result(op->emitOpError(error.what()));
  }
}

/// The lowering of the operations that are not algebra; each replaces `op` and gives its uses
/// something known.
LogicalResult lowerMemRefLoad(MemRefLoadOp op, AlgebraLowering &lowering);
LogicalResult lowerMemRefStore(MemRefStoreOp op, AlgebraLowering &lowering);
LogicalResult lowerMemRefLoadVec(MemRefLoadVecOp op, AlgebraLowering &lowering);
LogicalResult lowerMemRefStoreVec(MemRefStoreVecOp op, AlgebraLowering &lowering);
/// make_fragment_like, mma.make_fragment, memref.alloca: register memory of the result's layout.
LogicalResult lowerRegisterAllocation(Operation *op, AlgebraLowering &lowering);
LogicalResult lowerAssume(AssumeOp op, AlgebraLowering &lowering);
LogicalResult lowerPtrLoad(PtrLoadOp op, AlgebraLowering &lowering);
LogicalResult lowerPrint(PrintOp op, AlgebraLowering &lowering);
LogicalResult expandCopy(CopyOp op, AlgebraLowering &lowering);
LogicalResult expandGemm(GemmOp op, AlgebraLowering &lowering);

} // namespace mlir::fly
