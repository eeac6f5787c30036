// What a promoted register memory contains at some point of the program.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/SmallVector.h"

namespace mlir::fly::promotion {

/// The elements of a vector; 1 for a scalar.
int64_t elementCount(Type type);

/// What a promoted memory contains: `whole`, and over it pieces, scalars or vectors that do not
/// overlap. Most stores are read back as they are; as pieces they need no insertion into a vector
/// that is many times their size. Without `asPieces` every store makes a new vector, as FlyDSL has
/// it.
class Contents {
public:
  Contents() = default;
  Contents(Value whole, bool asPieces) : whole_(whole), asPieces_(asPieces) {}

  /// The elements [offset, offset + size) as a vector, put together of the pieces in it.
  Value gather(OpBuilder &builder, Location loc, int64_t offset, int64_t size);
  /// The whole memory as one vector.
  Value joined(OpBuilder &builder, Location loc);
  /// A vector of `size` elements that starts at `offset`; a scalar if `size` is 1.
  Value load(OpBuilder &builder, Location loc, int64_t offset, int64_t size, bool asVector);
  /// Puts a scalar or a vector over the elements from `offset` on.
  void store(OpBuilder &builder, Location loc, Value value, int64_t offset);

private:
  struct Piece {
    int64_t offset;
    Value value;
    int64_t end() const { return offset + elementCount(value.getType()); }
    bool overlaps(int64_t from, int64_t size) const { return from < end() && offset < from + size; }
    bool contains(int64_t from, int64_t size) const {
      return offset <= from && from + size <= end();
    }
  };

  Value slice(OpBuilder &builder, Location loc, Value vector, int64_t offset, int64_t size,
              bool asVector) const;

  Value whole_;
  bool asPieces_ = false;
  SmallVector<Piece> pieces_;
};

} // namespace mlir::fly::promotion
