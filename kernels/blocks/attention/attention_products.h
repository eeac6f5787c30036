// The two products of attention, whose operands pass from one to the other in registers.
//
// A wave computes the scores transposed, S^T = K * Q^T: a lane has scores of one query. With the
// keys in the right order, these are what the second product, O^T = V^T * P^T, takes of P^T:
// nothing moves between lanes, but on RDNA3, whose instructions want the keys of both halves of a
// wave in both. In every form, groups of 16 lanes share the queries, and group g holds runs of 8
// neighbours: of the keys 8 g to 8 g + 7, and of those a multiple of 8 groups after them. The rows
// of the second product, elements of the values, are dealt in the same way, so that a lane's
// results are neighbours in memory too. A run is 8 such neighbours: of keys, or of elements.
#pragma once

#include "blocks/attention/scores.h"
#include "blocks/products/operand.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// How the rows of a product, keys or elements of values, are dealt to the lanes of a column.
struct RunsOfEight {
  int groups; ///< groups of 16 lanes of a wave
  static constexpr int kRun = 8;

  static RunsOfEight of(const MatrixForm &form) { return {form.lanes / 16}; }
  /// Rows that the runs of all groups cover.
  int rows() const { return groups * kRun; }
  /// The row of a lane's value i, from the lane's first row.
  int offset(int i) const { return i / kRun * rows() + i % kRun; }
  /// The lane's first row.
  Int32 first() const { return gpu::lane_id() / 16 * kRun; }
  /// The run of the lane's value i, a multiple of 8, among the runs of all rows.
  Int32 run(int i) const { return gpu::lane_id() / 16 + i / kRun * groups; }
};

/// The rows of an operand in the order in which the instructions of a product take
/// them, so that each lane gets runs of 8. `stride` is that of rows, `stride8` that of
/// groups of 8, in elements.
inline Layout rowsInRuns(const MatrixForm &form, int rows, int stride, int stride8) {
  if (form.sumRun == 4) // two instructions make a run
    return make_layout({4, 4, 2, rows / 32}, {stride, stride8, 4 * stride, 4 * stride8});
  if (form.interleaved()) // the halves of a wave have every other row
    return make_layout({2, 8, rows / 16}, {stride8, stride, 2 * stride8});
  return make_layout({8, rows / 8}, {stride, stride8});
}
/// A tile of rows of `columns` neighbours, as the instructions of a product take the rows.
inline Layout tileInRuns(const MatrixForm &form, int rows, int columns, int stride, int stride8) {
  const Layout runs = rowsInRuns(form, rows, stride, stride8);
  return make_layout({runs.shape(), columns}, {runs.stride(), 1});
}

/// S^T = K * Q^T, keys by queries, for waves that lie as (keys, queries, 1) says. The keys are a
/// tile in runs. A lane takes pieces of 16 bytes of a key and of a query.
inline TiledMma keysByQueries(const MatrixForm &form, const Layout &waves) {
  return make_tiled_mma(matrixAtom(form), waves,
                        Tile({Tile::Mode(_), Tile::Mode(_), alongK(form)}));
}

/// The keys that the product with the values takes together: whole runs and instructions.
inline int keysTogether(const MatrixForm &form) {
  return std::max(form.k, RunsOfEight::kRun * form.across);
}
/// O^T = V^T * P^T, elements of values by queries, over keys in runs of 8. The elements are a tile
/// in runs too.
inline TiledMma valuesByQueries(const MatrixForm &form, const Layout &waves) {
  constexpr int kRun = RunsOfEight::kRun;
  const int perLane = form.perLane(), run = std::min(form.run, form.piece());
  const auto keys = [&]() -> Tile::Mode {
    if (perLane < kRun)
      return make_layout({perLane, form.across, kRun / perLane}, {1, kRun, perLane});
    if (run > kRun && !form.replicated()) // the instruction takes pieces, of several runs
      return make_layout({kRun, run / kRun, form.across, perLane / run},
                         {1, kRun * form.across, kRun, run * form.across});
    return _;
  };
  return make_tiled_mma(matrixAtom(form), waves, Tile({Tile::Mode(_), Tile::Mode(_), keys()}));
}

/// Puts a lane's probabilities of a query, in the order of its scores, into the operand's fragment
/// of that query, (V, keys).
inline void giveProbabilities(const MatrixForm &form, const Vector &probabilities,
                              const Tensor &operand) {
  constexpr int kRun = RunsOfEight::kRun;
  const int count = static_cast<int>(probabilities.size());
  if (!form.replicated()) {
    for (int i = 0; i < count; ++i)
      operand(i) = probabilities.at(i);
    return;
  }
  // An instruction takes the runs of both halves of the wave, the lower one's first.
  const Boolean upper = gpu::lane_id() >= 16;
  const Vector words = probabilities.bitcast(i32);
  const int perWord = 4 / form.bytes();
  for (int word = 0; word < count / perWord; ++word) {
    const Numeric own = words.at(word), other = gpu::shuffle_xor(own, 16);
    const int i = word * perWord, at = i / kRun * (2 * kRun) + i % kRun;
    const auto put = [&](int first, const Numeric &bits) {
      const Vector values = Vector::of({bits}).bitcast(form.b);
      for (int k = 0; k < perWord; ++k)
        operand(first + k) = values.at(k);
    };
    put(at, select(upper, other, own));
    put(at + kRun, select(upper, own, other));
  }
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
