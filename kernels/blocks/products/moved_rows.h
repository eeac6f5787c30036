// Rows of an operand that a tensor data mover brings to LDS (gfx1250), a tile at a time.
//
// Each wave that loads issues one instruction for its rows of a tile, whatever a row's length is. The
// mover knows no swizzle: a gap of 16 bytes follows each row in LDS (LoopShape::gapBytes), so that the
// 16 rows that are read together lie in different banks. What is past the end of K or of the rows is
// zeros, by the tensor's own extents, so that no step needs a branch.
#pragma once

#include "blocks/products/operand_tile.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>
#include <flydsl/rocdl/schedule.h>
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
      : shape_(shape), tile_(tile), rows_(min(tile.exist, tile.size())) {}

  /// Starts to move the columns of a step that K has all of.
  void fetch(const Int32 &step, const Tensor &stage) const { move(step, shape_.tileK, stage); }
  /// The same of the last step.
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

private:
  void move(const Int32 &step, std::int64_t columns, const Tensor &stage) const {
    const Tensor from =
        tileFrom(tile_.tile, {0, step * shape_.tileK}, {rows_, columns}); // (rows, columns)
    rocdl::tensor_load_to_lds(from, {0, 0}, stage, {.waves = shape_.loaders() / shape_.form.lanes});
  }

  LoopShape shape_;
  OperandTile tile_;
  Int32 rows_; ///< of the tile, that exist
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
