// Which register memories can be values, and the part of them that each access is.
#pragma once

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace mlir::fly::promotion {

/// Memories, by the operations that make them.
using Roots = llvm::SmallSetVector<Operation *, 8>;

/// A load or store of promoted memory: elements [offset, offset + size) of the root's vector.
struct Slot {
  Operation *root;
  int64_t offset;
};

/// Decides which memories can be values, and where each access points.
class PromotionAnalysis {
public:
  /// If `requireStatic`, an access at an offset that is known only at run time is an error.
  PromotionAnalysis(FunctionOpInterface func, bool requireStatic);

  bool failed() const { return sawError_; }
  const Roots &promoted() const { return roots_; }
  VectorType typeOf(Operation *root) const { return types_.lookup(root); }
  /// Where the parts of its vector begin that no access crosses but one of the whole.
  ArrayRef<int64_t> partsOf(Operation *root) const { return parts_.find(root)->second; }
  std::optional<Slot> slotOf(Value pointer) const {
    auto it = slots_.find(pointer);
    return it == slots_.end() ? std::nullopt : std::optional(it->second);
  }

private:
  void addRoot(MakePtrOp op);
  /// By the accesses of a memory that were followed.
  SmallVector<int64_t> partsFor(VectorType vector) const;
  bool followUse(MakePtrOp root, VectorType vector, OpOperand &use, int64_t offset,
                 llvm::SmallVectorImpl<std::pair<Value, int64_t>> &pointers);
  void reportDynamic(MakePtrOp root, AddOffsetOp add);

  bool requireStatic_, sawError_ = false;
  Roots roots_;
  llvm::DenseMap<Operation *, VectorType> types_;
  llvm::DenseMap<Operation *, SmallVector<int64_t>> parts_;
  // Of the memory at hand:
  SmallVector<std::pair<int64_t, int64_t>> accesses_; ///< offset and size
  bool isWholeInside_ = false; ///< whether control flow has an access of the whole
  llvm::DenseMap<Value, Slot> slots_;
};

} // namespace mlir::fly::promotion
