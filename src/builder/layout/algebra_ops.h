// The eDSL's operations of the algebra, as operations of the IR.
#pragma once

#include "builder/trace/ir_builder.h"
#include "layout/operations.h"

#include <flydsl/detail/algebra_op.h>

namespace flydsl::builder {

/// One operation in the IR.
struct AlgebraRow {
  llvm::StringRef irName;
  /// The row of the registry; null for operations on iterators, which have none.
  const layout::Operation *operation;
  /// The type that inference gives for the result.
  mlir::Type (*infer)(IrBuilder &, Loc, mlir::ValueRange, llvm::ArrayRef<std::int32_t> numbers);
  /// The operation, its type known.
  mlir::Value (*emit)(IrBuilder &, Loc, mlir::Type, mlir::ValueRange,
                      llvm::ArrayRef<std::int32_t> numbers);
};

const AlgebraRow &rowOf(detail::AlgebraOp op);

} // namespace flydsl::builder
