// Register memories become values: every load and store of those that an analysis gives.
#pragma once

#include "dialect/Fly/Transforms/PromotedContents.h"
#include "dialect/Fly/Transforms/PromotionAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fly::promotion {

/// What each promoted memory (the operation that makes it) contains at some point of the program.
using State = llvm::DenseMap<Operation *, Contents>;

/// Goes through blocks in order, with the state before each operation. Control flow gets operands
/// and results for the memories that are touched in it.
class Promoter {
public:
  Promoter(const PromotionAnalysis &analysis, bool asPieces)
      : analysis_(analysis), asPieces_(asPieces) {}

  void run(Block &block, State &state);

private:
  void promoteLoad(PtrLoadOp op, State &state);
  void promoteStore(PtrStoreOp op, State &state);
  void promoteFor(scf::ForOp op, State &state);
  void promoteIf(scf::IfOp op, State &state);
  void promoteWhile(scf::WhileOp op, State &state);

  /// The memories made outside `op` that are loaded or stored inside, in the order in which they
  /// are made.
  SmallVector<Operation *> touchedIn(Operation *op, const State &state);

  /// Calls `take(root, offset, size)` for what control flow passes on of each memory.
  template <class Take> void forParts(ArrayRef<Operation *> roots, Take take) const {
    for (Operation *root : roots) {
      const int64_t count = analysis_.typeOf(root).getNumElements();
      if (!asPieces_) {
        take(root, int64_t(0), count);
        continue;
      }
      ArrayRef<int64_t> parts = analysis_.partsOf(root);
      for (size_t i = 0; i < parts.size(); ++i)
        take(root, parts[i], (i + 1 < parts.size() ? parts[i + 1] : count) - parts[i]);
    }
  }

  /// Their parts, made in front of `op`.
  SmallVector<Value> valuesBefore(Operation *op, ArrayRef<Operation *> roots, State &state) const;
  SmallVector<Type> typesOf(ArrayRef<Operation *> roots) const;
  /// `at` is where nothing is known of memories that go in parts.
  void assign(State &state, ArrayRef<Operation *> roots, ValueRange values, OpBuilder at) const;
  void passOn(Operation *terminator, ArrayRef<Operation *> roots, State &state) const;
  /// Replaces `op` by `with`, whose first results are the old ones and whose last ones the
  /// memories'.
  void replace(Operation *op, Operation *with, ArrayRef<Operation *> roots, State &state);

  Contents contents(Value whole) const { return Contents(whole, asPieces_); }

  const PromotionAnalysis &analysis_;
  const bool asPieces_;
};

} // namespace mlir::fly::promotion
