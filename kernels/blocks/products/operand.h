// Operands of a product in a kernel: the tiled mma, and the layouts of its weights.
//
// The product is computed transposed, C^T = B * A^T: the weights B are the instruction's first
// operand, so that make_fragment_A is of B, and make_fragment_B of A. The values of a lane, four on
// CDNA and eight on RDNA4, are then neighbours in a row of C and are stored together. RDNA3 deals
// the columns to the halves of a wave in turn. kernels/README.md has the words: step, part, piece.
#pragma once

#include "blocks/facts/matrix_form.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/preshuffle.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The instruction as an atom.
inline MmaAtom matrixAtom(const MatrixForm &form) {
  return make_mma_atom(rocdl::Mma(form.instruction));
}

/// The instruction as an atom for operands without scales. Scales of 0 select the form of an instruction with scales
/// that multiplies by 1.
inline MmaAtom unscaledAtom(const MatrixForm &form) {
  const MmaAtom atom = matrixAtom(form);
  return form.scaled ? atom.set_value("scale_a", Int32(0)).set_value("scale_b", Int32(0)) : atom;
}
/// The instruction whose layouts the operands have on their way.
inline MmaAtom movingAtom(const MatrixForm &form) { return make_mma_atom(rocdl::Mma(form.moved)); }
/// The options of a product of whole fragments without scales.
inline GemmOptions unscaled(const MatrixForm &form, GemmOptions options = {}) {
  if (form.scaled) {
    options.scale_a.emplace(Int32(0));
    options.scale_b.emplace(Int32(0));
  }
  return options;
}

/// The order of K in a tile, which is mode 2 of the tiled mma's permutation. An instruction takes `run`
/// neighbours along K of a lane, but a load brings a piece, which is piece / run runs. So the instructions' K,
/// (run, lane of the row, run of the piece), is the memory's K with the strides (1, piece, run): columns of A and
/// of B change places alike, and the sums are the same. gfx942, f16: (4,4,2):(1,8,4). `slices` groups of
/// waves take parts in turn. `_` if a run is a piece already.
inline Tile::Mode alongK(const MatrixForm &form, int slices = 1) {
  const int piece = form.piece(), run = form.run, across = form.across;
  if (run >= piece)
    return _;
  // An instruction takes whole pieces of a lane, each in several runs, or a part of one.
  if (const int pieces = form.perLane() / piece; pieces > 0)
    return make_layout({run, across, piece / run, pieces, slices},
                       {1, piece, run, piece * across,
                        form.part()}); // (run, across, runs of a piece, pieces, slices)
  return slices > 1 ? make_layout({run, across, slices, piece / run},
                                  {1, piece, form.part(), run}) // (run, across, slices, runs)
                    : make_layout({run, across, piece / run},
                                  {1, piece, run}); // (run, across, runs of a piece)
}

/// The product of `waves` waves side by side along N, and `wavesM` rows of them along M; `slices`
/// such groups of waves share K. Its tile is (16 waves, 16 wavesM, part slices): in K, each lane
/// takes pieces of 16 bytes. A piece serves several instructions if they are short.
inline TiledMma weightsFirst(const MatrixForm &form, int waves, int wavesM = 1, int slices = 1) {
  const Layout sideBySide = make_layout(
      {waves, wavesM, slices}, {1, wavesM > 1 ? waves : 0, slices > 1 ? waves * wavesM : 0});
  if (form.run >= form.piece())
    return make_tiled_mma(movingAtom(form), sideBySide);
  return make_tiled_mma(movingAtom(form), sideBySide, make_tile(_, _, alongK(form, slices)));
}

/// A thread's place among the waves of a block, which `weightsFirst` puts side by side along N, then along M;
/// after them come those that share K. `thread` is the number of the thread.
class ThreadPlace {
public:
  explicit ThreadPlace(const LoopShape &shape, const Int32 &thread = thread_idx().x)
      : shape_(shape), thread_(thread) {}
  /// The number of the lane in its wave.
  Int32 lane() const { return thread_ % shape_.form.lanes; }
  /// The number of the wave along N, and along M.
  Int32 waveN() const { return thread_ / shape_.form.lanes % shape_.waves; }
  Int32 waveM() const { return thread_ / (shape_.form.lanes * shape_.waves) % shape_.wavesM; }
  /// The number of the wave among those that share the K of a step.
  Int32 slice() const { return shape_.slices() > 1 ? Int32(thread_ / shape_.threads()) : Int32(0); }

private:
  LoopShape shape_;
  Int32 thread_;
};

/// The shape of preshuffled weights of `blocks` blocks of 16 rows, and `columns` columns.
inline IntTuple preshuffledShape(const Preshuffled &weights, const IntTuple &blocks,
                                 std::int64_t columns) {
  return {{Preshuffled::kRows, blocks},
          {weights.piece(), Preshuffled::kPieces, columns / weights.blockK()}};
}
/// The layout of `rows` x `columns` elements at the start of preshuffled weights.
inline Layout preshuffledTile(const Preshuffled &weights, std::int64_t rows, std::int64_t columns) {
  constexpr int r = Preshuffled::kRows;
  const int piece = weights.piece();
  return make_layout(preshuffledShape(weights, rows / r, columns),
                     {{piece, weights.rowOfBlocks()}, {1, r * piece, weights.block()}});
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
