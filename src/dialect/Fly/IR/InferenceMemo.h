// Result types that were inferred before. A kernel asks for the same partitions and divisions again and
// again, and each operation is inferred twice: when it is made, and when it is verified.
#pragma once

#include "dialect/Fly/IR/AlgebraValue.h"

#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringMap.h"

#include <mutex>

namespace mlir::fly {

/// An interface of the Fly dialect, and so kept with the context, as types are.
class InferenceMemo final : public DialectInterface::Base<InferenceMemo> {
public:
  explicit InferenceMemo(Dialect *dialect) : Base(dialect) {}

  /// Null where the context has not loaded the Fly dialect.
  static InferenceMemo *of(MLIRContext &context);

  /// What an operation is known by: its function, the types of its operands and the words of its
  /// properties. Fly's properties are attributes, which the context keeps once, and numbers.
  using Key = SmallVector<const void *, 8>;
  static Key keyOf(AlgebraFn fn, ValueRange operands, OperationName name,
                   OpaqueProperties properties);

  /// Appends the result types to `types`; false where they are not known.
  bool find(const Key &key, SmallVectorImpl<Type> &types) const;
  void add(const Key &key, ArrayRef<Type> types);

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InferenceMemo)

private:
  mutable std::mutex mutex_; ///< passes may run on several threads
  llvm::StringMap<SmallVector<Type, 1>> types_;
};

} // namespace mlir::fly
