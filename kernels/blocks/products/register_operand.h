// Operands of a product that go from global memory straight into the registers of their
// instructions: rows of A, where there are few of them, and prepared weights.
#pragma once

#include "blocks/products/operand.h"
#include "blocks/products/operand_reach.h"
#include "blocks/products/operand_tile.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <cstdint>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Fragments of `count` parts of a tile of A, (V, m, 1) each, and of a tile of B, (V, n, 1) for each
/// half. K is the fastest mode: the registers of a piece are neighbours. The tiled mma is of the
/// transposed product, whose first operand is B.
inline std::vector<Tensor> partsOfA(const LoopShape &shape, const TiledMma &mma, int count) {
  std::vector<Tensor> fragments;
  const int round = shape.round();
  for (int i = 0; i < count; ++i)
    fragments.push_back(
        mma.make_fragment_B(make_layout({shape.tileM, round}, {round, 1}))); // (V, m, k)
  return fragments;
}
inline std::vector<Tensor> partsOfB(const LoopShape &shape, const TiledMma &mma, int count) {
  std::vector<Tensor> fragments;
  const int round = shape.round();
  for (int i = 0; i < count * shape.halves; ++i)
    fragments.push_back(
        mma.make_fragment_A(make_layout({shape.tileOfHalf(), round}, {round, 1}))); // (V, n, k)
  return fragments;
}

/// Rows of A. Each wave of the block loads all of them.
class RowsInRegisters {
public:
  /// `thread` counts those of the waves that share a step.
  RowsInRegisters(const LoopShape &shape, const TiledMma &mma, const RowsOfA &operand,
                  const Int32 &thread)
      : shape_(shape), atom_(make_copy_atom(BoundedCopy128b(), shape.form.a)),
        slice_(make_tiled_copy_B(atom_, mma).get_slice(thread)),
        place_(
            slice_.partition_S(make_identity_tensor({shape.tileM, shape.tileK}))) { // (V, m, parts)
    std::visit([&](const auto &rows) { addRows(rows); }, operand);
  }

  /// Loads a part of a step. `guarded`: pieces past the end of K are zeros; otherwise all of the
  /// part exists.
  void fetch(const Int32 &step, int part, const Tensor &fragment, bool guarded) const {
    const Tensor to = slice_.retile(fragment); // (V, m, 1)
    const CopyOptions ofStep{.soffset = step * shape_.tileK};
    const bool byPieces = guarded && shape_.k % shape_.form.part() != 0;
    for (int i = 0; i < shape_.tilesM(); ++i) {
      const Tensor &row = rows_[static_cast<std::size_t>(i)]; // (V, parts)
      if (byPieces) {
        fetchPieces(step, part, i, row(_, part), to(_, i, 0), ofStep); // (V)
        continue;
      }
      const Boolean inside = testedOfPart<Int32>(shape_, shape_.k, step, part, Int32(0)) <
                             static_cast<std::int32_t>(shape_.k);
      copy(atom_, (guarded ? zerosUnless(inside, row) : row)(_, part), to(_, i, 0), ofStep); // (V)
    }
  }

private:
  void addRows(const OperandTile &tile) {
    const Tensor all = slice_.partition_S(firstStepOf(shape_, tile)); // (V, m, parts)
    for (int i = 0; i < shape_.tilesM(); ++i)
      rows_.push_back(all(_, i, _)); // (V, parts)
  }
  void addRows(const GatheredTile &tile) {
    const RowPlaces places(shape_, tile);
    // The lane's pieces in a row, which is that of all its pieces of a tile of 16 rows.
    const Tensor columns = slice_.partition_S(
        make_view(places.buffer().iter(),
                  make_layout({shape_.tileM, shape_.tileK}, {0, 1}))); // (V, m, parts)
    for (int i = 0; i < shape_.tilesM(); ++i) {
      const Tensor ofRow = columns(_, i, _); // (V, parts)
      const Int32 row(IntTuple(place_(0, i, 0)).at(0));
      rows_.push_back(
          make_view(ofRow.iter() + places.at(row, Int32(0)), ofRow.layout())); // (V, parts)
    }
  }
  /// A lane holds one piece of each granule of a part, whose columns may end between the two.
  void fetchPieces(const Int32 &step, int part, int i, const Tensor &from, const Tensor &to,
                   const CopyOptions &ofStep) const {
    const int piece = shape_.form.piece();
    for (int at = 0; at < shape_.form.part() / shape_.form.granule(); ++at) {
      const Int32 column(IntTuple(place_(at * piece, i, part)).at(1));
      const Boolean inside = step * shape_.tileK + column < static_cast<std::int32_t>(shape_.k);
      copy(atom_, zerosUnless(inside, pieceOf(from, at)), pieceOf(to, at), ofStep); // (piece)
    }
  }
  /// Piece `at` of a lane's values.
  Tensor pieceOf(const Tensor &values, int at) const {
    return flat_divide(values, make_tile(shape_.form.piece()))(_, at); // (piece)
  }

  LoopShape shape_;
  CopyAtom atom_;
  ThrCopy slice_;
  Tensor place_;             // (V, m, parts) of (row, column)
  std::vector<Tensor> rows_; // (V, parts), of each m
};

/// A block's tile of prepared weights, given all of their elements. They lie in blocks of 16 rows by
/// `blockK` elements of K; the rows of a second half begin halfway.
inline PreparedTile preparedTile(const Tensor &memory, const Preshuffled &weights,
                                 const LoopShape &shape, const Int32 &tileN, const Int32 &part,
                                 std::int64_t blockK, const ReadOnce &once = {}) {
  const Layout blocks =
      preshuffledTile(weights, weights.blocksN() * Preshuffled::kRows, weights.paddedK());
  const Tensor b = make_view(memory.iter(), blocks); // ((16, n / 16), (piece, 4, K / blockK))
  PreparedTile result{.weights = weights,
                      .halves = {},
                      .validBlocks = blocksOfWeightsLeft<Int32>(weights, shape, tileN),
                      .once = once};
  const auto ofHalf = static_cast<std::int32_t>(weights.blocksN() / shape.halves);
  for (int half = 0; half < shape.halves; ++half) {
    const Int32 row = firstBlockOfWeights(shape, tileN) + half * ofHalf,
                step = part * static_cast<std::int32_t>(shape.k / blockK);
    result.halves.push_back(
        make_view(b.iter() + b.layout()(make_coord(0, row), make_coord(0, 0, step)),
                  blocks)); // ((16, n / 16), (piece, 4, K / blockK))
  }
  return result;
}

/// A block's tile of prepared weights. Each wave loads its own rows of them, which are columns of C.
class WeightsInRegisters {
public:
  /// `thread` counts those of the waves that share a step. Each half of B has a tile (tileN / halves, K),
  /// from the start of the block's part of K on, in which `blocks` blocks of 16 rows are the weights'.
  WeightsInRegisters(const LoopShape &shape, const Preshuffled &weights, const TiledMma &mma,
                     const Int32 &thread, const std::vector<Tensor> &halves, const Int32 &blocks)
      : shape_(shape), columns_(paddedPart(shape, weights)), load_(128, shape.form.b),
        slice_(make_tiled_copy_A(load_.atom(), mma).get_slice(thread)),
        inRound_(shape.slices() == 1
                     ? Int32(0)
                     : Int32(gpu::uniform(thread / shape.threads()) * shape.form.part())) {
    for (const Tensor &half : halves)
      tiles_.push_back(slice_.partition_S(buffer(shape, weights, half, blocks))); // (V, n, parts)
  }

  /// The policy of the loads from here on.
  void loadBy(CachePolicy cache) { load_.by(cache); }
  /// Loads a part of a step's tile into a fragment of a part. If `guarded`, a part past the end of the block's
  /// part of K reads zeros; memory there holds another part's columns or other rows.
  void fetch(const Int32 &step, int part, int half, const Tensor &fragment,
             bool guarded = false) const {
    const Tensor &tile = tiles_[static_cast<std::size_t>(half)];
    const Boolean inside = testedOfPart<Int32>(shape_, columns_, step, part, inRound_) <
                           static_cast<std::int32_t>(columns_);
    const Tensor from = guarded ? zerosUnless(inside, tile) : tile;
    copy(load_.atom(), from(_, _, part), slice_.retile(fragment)(_, _, 0),
         {.soffset = step * (Preshuffled::kRows * shape_.tileK)}); // (V, n)
  }

private:
  /// The tile of step 0, as a buffer of all steps; see firstStepOf.
  static Tensor buffer(const LoopShape &shape, const Preshuffled &weights, const Tensor &half,
                       const Int32 &blocks) {
    const Int32 valid = min(blocks, shape.tileOfHalf() / Preshuffled::kRows);
    const Layout step = preshuffledTile(weights, shape.tileOfHalf(), shape.tileK);
    const IntTuple part = preshuffledShape(weights, valid, paddedPart(shape, weights));
    return bufferOf(make_view(half.iter(), step),
                    part); // ((16, n / 16), (piece, 4, tileK / blockK))
  }

  LoopShape shape_;
  std::int64_t columns_; // columns of the block's part of K, whole blocks
  CopyByPolicy load_;
  ThrCopy slice_;
  Int32 inRound_;             // the wave's first element of K in those that all waves multiply
  std::vector<Tensor> tiles_; // (V, n, parts) of each half
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
