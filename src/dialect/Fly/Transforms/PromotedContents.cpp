#include "dialect/Fly/Transforms/PromotedContents.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fly::promotion {

int64_t elementCount(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

Value Contents::gather(OpBuilder &builder, Location loc, int64_t offset, int64_t size) {
  SmallVector<Piece> inside;
  int64_t covered = 0;
  for (const Piece &piece : pieces_) {
    if (!piece.overlaps(offset, size))
      continue;
    if (piece.contains(offset, size) || piece.offset < offset || offset + size < piece.end())
      return load(builder, loc, offset, size, /*asVector=*/true);
    inside.push_back({piece.offset - offset, piece.value});
    covered += elementCount(piece.value.getType());
  }
  auto type = VectorType::get({size}, cast<VectorType>(whole_.getType()).getElementType());
  Contents part(covered == size ? ub::PoisonOp::create(builder, loc, type).getResult()
                                : slice(builder, loc, whole_, offset, size, /*asVector=*/true),
                asPieces_);
  part.pieces_ = std::move(inside);
  return part.joined(builder, loc);
}

Value Contents::joined(OpBuilder &builder, Location loc) {
  for (const Piece &piece : pieces_)
    if (isa<VectorType>(piece.value.getType()))
      whole_ = vector::InsertStridedSliceOp::create(
          builder, loc, piece.value, whole_, ArrayRef<int64_t>{piece.offset}, ArrayRef<int64_t>{1});
    else
      whole_ = vector::InsertOp::create(builder, loc, piece.value, whole_,
                                        ArrayRef<int64_t>{piece.offset});
  pieces_.clear();
  return whole_;
}

Value Contents::load(OpBuilder &builder, Location loc, int64_t offset, int64_t size,
                     bool asVector) {
  for (const Piece &piece : pieces_) {
    if (!piece.overlaps(offset, size))
      continue;
    bool isVector = isa<VectorType>(piece.value.getType());
    if (!piece.contains(offset, size) || (asVector && !isVector))
      break;
    return isVector ? slice(builder, loc, piece.value, offset - piece.offset, size, asVector)
                    : piece.value;
  }
  if (llvm::any_of(pieces_, [&](const Piece &piece) { return piece.overlaps(offset, size); }))
    joined(builder, loc);
  return slice(builder, loc, whole_, offset, size, asVector);
}

void Contents::store(OpBuilder &builder, Location loc, Value value, int64_t offset) {
  int64_t size = elementCount(value.getType());
  if (!asPieces_) {
    pieces_.push_back({offset, value});
    joined(builder, loc);
    return;
  }
  if (value.getType() == whole_.getType()) {
    whole_ = value;
    pieces_.clear();
    return;
  }
  llvm::erase_if(pieces_, [&](const Piece &piece) {
    return offset <= piece.offset && piece.end() <= offset + size;
  });
  if (llvm::any_of(pieces_, [&](const Piece &piece) { return piece.overlaps(offset, size); }))
    joined(builder, loc);
  pieces_.push_back({offset, value});
}

Value Contents::slice(OpBuilder &builder, Location loc, Value vector, int64_t offset, int64_t size,
                      bool asVector) const {
  if (!asVector)
    return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{offset});
  if (asPieces_ && size == elementCount(vector.getType()))
    return vector;
  return vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{offset},
                                               ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
}

} // namespace mlir::fly::promotion
