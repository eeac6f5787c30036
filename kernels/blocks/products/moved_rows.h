// Rows of an operand that a tensor data mover brings to LDS (gfx1250), a tile at a time.
//
// Each wave that loads issues one instruction for its rows of a tile, whatever a row's length is. The
// mover knows no swizzle: a gap of 16 bytes follows each row in LDS (LoopShape::gapBytes), so that the
// 16 rows that are read together lie in different banks. What is past the end of K or of the rows is
// zeros, by the tensor's own extents, so that no step needs a branch.
//
// Rows that indices name are gathered: 8 of them by an instruction, whose numbers stay in scalar registers
// over all steps. Where the matrix has no row for an index, its first row comes: what a number
// out of range brings is not defined (docs/emulator.md), and the results of such rows are made zeros
// (withoutMissingRows).
#pragma once

#include "blocks/products/operand_tile.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/schedule.h>
#include <flydsl/rocdl/tensor_gather.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <algorithm>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The most moves of a wave that a wait can let be under way. Source: docs/emulator.md, "tensorcnt".
inline constexpr int kMostMoves = 63;

class MovedRows {
public:
  MovedRows(const LoopShape &shape, const OperandTile &tile)
      : shape_(shape), tile_(tile), rows_(min(tile.validRows, tile.size())) {}

  /// Starts to move the columns of a step that K has all of.
  void fetch(const Int32 &step, const Tensor &stage) const { move(step, shape_.tileK, stage); }
  /// Starts to move the columns of the last step.
  void fetchLast(const Tensor &stage) const {
    const int last = shape_.steps() - 1;
    const std::int64_t left = shape_.k - std::int64_t{last} * shape_.tileK;
    move(Int32(last), std::min<std::int64_t>(left, shape_.tileK), stage);
  }

  /// All waves go on when all but the last `moves` moves of each have ended, and its reads of LDS: what
  /// these moves brought is there for all, and what was read may be overwritten.
  static void meet(int moves) {
    rocdl::s_wait_tensorcnt(std::min(moves, kMostMoves));
    gpu::barrier(AddressSpace::shared);
  }

  /// Moves of a wave for a tile.
  static int movesOf(const LoopShape &, int) { return 1; }

private:
  void move(const Int32 &step, std::int64_t columns, const Tensor &stage) const {
    const Tensor from =
        tileFrom(tile_.tile, {0, step * shape_.tileK}, {rows_, columns}); // (rows, columns)
    rocdl::tensor_load_to_lds(from, {0, 0}, stage, {.waves = shape_.loaders() / shape_.form.lanes});
  }

  LoopShape shape_;
  OperandTile tile_;
  Int32 rows_; ///< rows of the tile that the matrix has
};

/// Rows of a GatheredTile. Each wave that loads has its own.
class MovedGather {
public:
  MovedGather(const LoopShape &shape, const GatheredTile &tile)
      : shape_(shape), matrix_(tileFrom(tile.matrix, {0, 0}, {tile.rows, shape.k})),
        wave_(Int32(rocdl::wave_id())), rows_(shape.rowsOfMover(tile.size())),
        numbers_(numbersOf(tile)) {}

  void fetch(const Int32 &step, const Tensor &stage) const { move(step, stage); }
  /// What is past the end of K is past the end of the matrix's rows.
  void fetchLast(const Tensor &stage) const { move(Int32(shape_.steps() - 1), stage); }

  static int movesOf(const LoopShape &shape, int size) {
    return rocdl::tensor_moves(shape.rowsOfMover(size));
  }

private:
  rocdl::TensorRows numbersOf(const GatheredTile &tile) const {
    const Int32 lane = thread_idx().x % shape_.form.lanes;
    const GatheredTile::Found found = tile.find(Int32(wave_ * rows_ + min(lane, rows_ - 1)));
    return rocdl::tensor_rows(Int32(select(found.valid, found.row, Int32(0))), rows_);
  }
  void move(const Int32 &step, const Tensor &stage) const {
    const Tensor own = tileFrom(stage, {wave_ * rows_, 0}, {rows_, shape_.tileK}); // (rows, tileK)
    rocdl::tensor_load_gather(matrix_, numbers_, step, own);
  }

  LoopShape shape_;
  Tensor matrix_; // (rows, K)
  Int32 wave_;
  int rows_; ///< rows of a wave
  rocdl::TensorRows numbers_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
