// The loop over tiles of keys that all waves of a block take together: a tile goes through registers
// into LDS while the one before is worked on.
#pragma once

#include "attention/kv_tile.h"
#include "attention/wave_queries.h"

#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class TileLoop {
public:
  TileLoop(const AttentionShape &shape, const KvSource &source, const BlockPlace &place,
           WaveQueries &queries)
      : shape_(shape), keys_(place.keys), queries_(queries), runs_(RunsOfEight::of(shape.form)),
        tile_(shape, source, place.valuePart), scoresMma_(keysByQueries(shape.form, sideBySide())),
        valuesMma_(valuesByQueries(shape.second, sideBySide())),
        scores_(scoresMma_.make_fragment_C({shape.tileK, shape.tileQ})),  // (V, keys, queries)
        results_(valuesMma_.make_fragment_C({shape.headV, shape.tileQ})), // (V, elements, queries)
        keyAtom_(make_copy_atom(UniversalCopy128b(), shape.form.b)),
        runAtom_(make_copy_atom(UniversalCopy(8 * RunsOfEight::kRun * shape.second.bytes()),
                                shape.second.b)),
        readKeys_(make_tiled_copy_A(keyAtom_, scoresMma_)
                      .get_slice(threadOf(shape, shape.keep.acrossTiles))),
        readValues_(make_tiled_copy_A(runAtom_, valuesMma_)
                        .get_slice(threadOf(shape, shape.keep.acrossTiles))) {
    for (int chunk = 0; chunk < shape.head / shape.form.part(); ++chunk)
      operandQ_.push_back(scoresMma_.make_fragment_B(make_layout(
          {shape.tileQ, shape.form.part()}, {shape.form.part(), 1}))); // (V, queries, k)
  }

  /// Goes over the keys: all of them or, if `isSplit`, the block's part of them.
  void run(bool isSplit) {
    const TilesOfBlock tiles = queries_.tiles(isSplit);
    results_.fill(0);
    if (shape_.keepsQueries())
      for (std::size_t chunk = 0; chunk < operandQ_.size(); ++chunk)
        loadQueries(chunk);
    const bool ahead = shape_.fetchesAhead();
    if (ahead)
      if_(tiles.begin < tiles.end, [&] { tile_.fetch(tiles.begin * shape_.tileK, keys_); });
    for (Int32 tile : range(tiles.begin, tiles.end)) {
      gpu::barrier(AddressSpace::shared); // all waves are done with the tile before
      if (ahead)
        tile_.store(); // registers -> LDS
      else
        tile_.move(tile * shape_.tileK, keys_); // memory -> LDS
      gpu::barrier(AddressSpace::shared);       // all waves have written
      if (ahead)
        if_(tile + 1 < tiles.end, [&] { tile_.fetch((tile + 1) * shape_.tileK, keys_); });
      multiplyKeys();
      endPhase(shape_.keep.phasesOverlap);
      const std::vector<Vector> probabilities = softmax(tile, tiles.seen);
      endPhase(shape_.keep.phasesOverlap);
      multiplyValues(probabilities);
    }
  }
  /// Writes the results; see WaveQueries::store.
  void store(bool isSplit) const {
    queries_.store(
        [&](int r, int from, int count) {
          return make_view(results_(_, _, r).iter() + from, make_layout(count)).load(); // (count)
        },
        {RunsOfEight::kRun, [&](int i) { return runs_.run(i); }}, isSplit);
  }

private:
  /// Keeps the scheduler from mixing what stands before and after it, unless the two may overlap.
  static void endPhase(bool overlaps) {
    if (!overlaps)
      gpu::schedule_fence();
  }
  /// The waves of the products: all of them share the rows, and have queries of their own.
  Layout sideBySide() const { return make_layout({1, shape_.waves(), 1}, {0, 1, 0}); }

  /// Loads a chunk of the elements of the lane's queries: pieces of 16 bytes, which lanes that share a query
  /// take in turn.
  void loadQueries(std::size_t chunk) const {
    const MatrixForm &form = shape_.form;
    const int piece = form.piece(), lanes = form.across;
    const Int32 lane = threadOf(shape_, shape_.keep.addresses) / 16 % lanes;
    for (int r = 0; r < shape_.repeats(); ++r) {
      const Tensor operand = operandQ_[chunk](_, r, _); // (V, k)
      const int count = size(operand).value() / piece;
      for (int i = 0; i < count; ++i) {
        const Vector own = queries_.piece(r, lane, static_cast<int>(chunk) * count + i).to(form.a);
        for (int k = 0; k < piece; ++k)
          operand(i * piece + k) = own.at(k);
      }
    }
  }

  /// S^T = K * Q^T, over chunks of the head's elements.
  void multiplyKeys() const {
    const int width = shape_.form.part();
    const Tensor from = readKeys_.partition_S(tile_.keys()), // (V, keys, chunks)
        operand = scoresMma_.make_fragment_A(
            make_layout({shape_.tileK, width}, {width, 1})); // (V, keys, 1)
    scores_.fill(0);
    for (std::size_t chunk = 0; chunk < operandQ_.size(); ++chunk) {
      if (!shape_.keepsQueries())
        loadQueries(chunk);
      copy(keyAtom_, from(_, _, static_cast<int>(chunk)),
           readKeys_.retile(operand)(_, _, 0)); // (V, keys)
      gemm(scoresMma_, scores_, operand, operandQ_[chunk], scores_,
           unscaled(shape_.form)); // (V, keys, queries)
      endPhase(shape_.keep.queries);
    }
  }
  /// The probabilities of a tile for each repeat, of the products in scores_. Results so far are rescaled.
  std::vector<Vector> softmax(const Int32 &tile, const TileSpan<Int32> &seen) {
    std::vector<Tensor> scores;
    for (int r = 0; r < shape_.repeats(); ++r)
      scores.push_back(scores_(_, _, r)); // (V, keys)
    return queries_.probabilities(scores, tile, seen, [&](int r, const Numeric &factor) {
      const auto scale = [&factor](const Tensor &result) { result.store(result.load() * factor); };
      if (shape_.form.accumulates())
        return scale(results_(_, _, r)); // (V, elements)
      // Scaling all values at once would make the compiler keep them in consecutive registers.
      for (int tile = 0; tile < shape_.headV / 16; ++tile)
        scale(results_(_, tile, r)); // (V)
    });
  }
  /// O^T += V^T * P^T, over steps of the tile's keys. The rows of V^T, elements, are in the order of the
  /// instructions (rowsInRuns), so that a lane's results are runs of 8 neighbours.
  void multiplyValues(const std::vector<Vector> &probabilities) const {
    const int width = keysTogether(shape_.second), own = width / runs_.groups;
    const Tensor from = readValues_.partition_S(tile_.values()), // (V, elements, steps)
        operand = valuesMma_.make_fragment_A(
            make_layout({shape_.headV, width}, {width, 1})), // (V, elements, 1)
        operandP = valuesMma_.make_fragment_B(
            make_layout({shape_.tileQ, width}, {width, 1})); // (V, queries, 1)
    for (int step = 0; step < shape_.tileK / width; ++step) {
      for (int r = 0; r < shape_.repeats(); ++r)
        giveProbabilities(shape_.second, part(probabilities[std::size_t(r)], step * own, own),
                          operandP(_, r, _));                                 // (V, 1)
      copy(runAtom_, from(_, _, step), readValues_.retile(operand)(_, _, 0)); // (V, elements)
      gemm(valuesMma_, results_, operand, operandP, results_,
           unscaled(shape_.second)); // (V, elements, queries)
      endPhase(shape_.keep.nextTile);
    }
  }

  AttentionShape shape_;
  Int32 keys_;
  WaveQueries &queries_;
  RunsOfEight runs_;
  KvTile tile_;
  TiledMma scoresMma_, valuesMma_;
  Tensor scores_;  // (V, keys, queries)
  Tensor results_; // (V, elements, queries)
  CopyAtom keyAtom_, runAtom_;
  ThrCopy readKeys_, readValues_;
  std::vector<Tensor> operandQ_; // for each chunk of the head's elements (V, queries, k)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
