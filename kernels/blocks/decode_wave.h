// Attention of few queries over many keys, by a wave that keeps all of its queries in registers and
// goes over keys by itself: no wave waits for another before the end, when `mergeWaves` adds up what
// they found.
//
// The rows of queries, 16 to a tile, are the columns of both products (see attention_products.h):
// S^T = K * Q^T gives a lane the scores of one row for runs of 8 neighbouring keys, and
// O^T = V^T * P^T takes the probabilities as they are. The operand V^T wants of each element of a
// value the lane's 8 keys. Values lie the other way in memory; each lane loads neighbouring elements
// of its 8 keys and takes the columns of what it got: a transposition without moving anything.
#pragma once

#include "blocks/attention_products.h"
#include "blocks/combine.h"
#include "blocks/wave_product.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The keys and the elements that the lanes of a wave hold in a step.
class DecodeLane {
public:
  /// `piece`: neighbouring elements of a key that a lane loads, a multiple of what an instruction
  /// takes. `headV`: elements of a value, a multiple of 16. `most`: neighbouring elements of a value
  /// that a lane may load together.
  DecodeLane(const MatrixForm &form, int piece, int headV, int most)
      : lane_(form, piece), runs_(RunsOfEight::of(form)), headV_(headV) {
    while (2 * width_ <= most && headV % (32 * width_) == 0)
      width_ *= 2;
  }

  const ProductLane &product() const { return lane_; }
  const MatrixForm &form() const { return lane_.form(); }
  /// Keys of a step.
  int keys() const { return runs_.rows(); }
  /// Tiles of 16 keys of a step.
  int keyTiles() const { return keys() / 16; }
  /// The key, of those of a step, whose elements the lane holds of a tile.
  Int32 key(int tile) const {
    const Int32 &row = lane_.row();
    if (form().lanes == 64)
      return row / 4 * 8 + tile * 4 + row % 4;
    return form().across == 1 ? Int32(row % 2 * 8 + row / 2) : row;
  }
  /// The first key of the run of which the lane has scores.
  Int32 scoreKey() const { return runs_.first(); }

  /// Keys of whose values the lane holds elements: its run, and on RDNA3 all of them.
  int valueKeys() const { return form().across == 1 ? keys() : RunsOfEight::kRun; }
  Int32 valueKey(int i) const { return form().across == 1 ? Int32(i) : Int32(scoreKey() + i); }
  /// Tiles of 16 elements of a value. Of each, `width()` neighbouring elements of the lane are in
  /// tiles of their own.
  int valueTiles() const { return headV_ / 16; }
  int width() const { return width_; }
  /// The element of a value that is row `row` of a tile.
  Int32 element(int tile, const Int32 &row) const {
    return row * width_ + (tile / width_ * 16 * width_ + tile % width_);
  }

private:
  ProductLane lane_;
  RunsOfEight runs_;
  int headV_, width_ = 1;
};

/// The values of a step: for each tile of 16 elements the lane's keys.
using ValueOperands = std::vector<Vector>;

/// `width()` tiles of values from `tile` on, from memory in which the elements of a value are
/// neighbours: `load(i, element)` gives `width()` elements of the value of the lane's key i.
inline ValueOperands valuesOfRows(const DecodeLane &lane, int tile,
                                  const std::function<Vector(int i, const Int32 &element)> &load) {
  const int width = lane.width(), keys = lane.valueKeys();
  const Tensor block = make_rmem_tensor(IntTuple({width, keys}), lane.form().b);
  for (int i = 0; i < keys; ++i)
    block(_, i).store(load(i, lane.element(tile, lane.product().row())));
  ValueOperands tiles;
  for (int e = 0; e < width; ++e)
    tiles.push_back(block(e, _).load());
  return tiles;
}

/// A wave's rows of queries, and what it has found of them.
class DecodeWave {
public:
  /// `queries`: for each tile of 16 rows and each piece the lane's elements. `factor`: see
  /// ScoreRules.
  DecodeWave(const DecodeLane &lane, std::vector<std::vector<Vector>> queries, float factor)
      : lane_(lane), product_(lane.form()), queries_(std::move(queries)),
        softmax_(static_cast<int>(queries_.size()), factor, lane.form().a, overLanes(16)) {
    for (std::size_t tile = 0; tile < queries_.size(); ++tile) {
      sums_.emplace_back();
      for (int i = 0; i < lane.valueTiles(); ++i)
        sums_.back().push_back(product_.zeros());
    }
  }

  int rowTiles() const { return static_cast<int>(queries_.size()); }

  /// Takes a step of keys. `key(tile, piece)` gives the lane's elements of the keys of a tile,
  /// `values(tile)` those of `width()` tiles of values. `finish` makes scores of the products of a
  /// tile of rows, masked where a row does not see a key. `weigh` may change the probabilities
  /// before they meet the values.
  template <class Key, class Values, class Finish, class Weigh>
  void step(Key key, Values values, Finish finish, Weigh weigh) {
    std::vector<Tensor> scores;
    for (int tile = 0; tile < rowTiles(); ++tile) {
      scores.push_back(make_rmem_tensor(IntTuple({lane_.product().sums(), lane_.keyTiles()}), f32));
      scores.back().fill(0);
    }
    const int pieces = static_cast<int>(queries_[0].size());
    for (int piece = 0; piece < pieces; ++piece)
      for (int t = 0; t < lane_.keyTiles(); ++t) {
        const Vector own = key(t, piece);
        for (std::size_t tile = 0; tile < scores.size(); ++tile)
          product_.add(scores[tile](_, t), own, queries_[tile][static_cast<std::size_t>(piece)]);
      }
    for (int tile = 0; tile < rowTiles(); ++tile)
      finish(tile, scores[static_cast<std::size_t>(tile)]);
    std::vector<Vector> weights;
    for (const Vector &probabilities : softmax_.add(scores, [&](int row, const Numeric &factor) {
           for (const Tensor &sum : sums_[static_cast<std::size_t>(row)])
             sum.store(sum.load() * factor);
         }))
      weights.push_back(operand(weigh(probabilities)));
    for (int first = 0; first < lane_.valueTiles(); first += lane_.width()) {
      const ValueOperands some = values(first);
      for (std::size_t tile = 0; tile < scores.size(); ++tile)
        for (std::size_t i = 0; i < some.size(); ++i)
          product_.add(sums_[tile][static_cast<std::size_t>(first) + i], some[i], weights[tile]);
    }
  }

  /// The end of the lane's row of a tile.
  SoftmaxEnd finish(int tile) const { return softmax_.finish(tile); }
  /// The sums of a tile of rows and a tile of elements.
  const Tensor &sums(int rowTile, int tile) const {
    return sums_[static_cast<std::size_t>(rowTile)][static_cast<std::size_t>(tile)];
  }
  const DecodeLane &lane() const { return lane_; }

private:
  /// The probabilities as the instruction takes them.
  Vector operand(const Vector &probabilities) const {
    if (lane_.form().across > 1)
      return probabilities;
    const Tensor both = make_rmem_tensor(IntTuple(lane_.keys()), lane_.form().a);
    giveProbabilities(lane_.form(), probabilities, both);
    return both.load();
  }

  DecodeLane lane_;
  WaveProduct product_;
  std::vector<std::vector<Vector>> queries_;
  OnlineSoftmax softmax_;
  std::vector<std::vector<Tensor>> sums_;
};

/// What the waves of a block found of 16 rows, in shared memory.
class WaveParts {
public:
  static constexpr int kPad = 4; ///< elements between rows, against bank conflicts
  /// The bytes for rows of so many elements.
  static std::int64_t bytes(int waves, int headV) {
    return std::int64_t(waves) * 16 * (headV + kPad + 1) * 4;
  }

  WaveParts(int waves, int headV)
      : waves_(waves), headV_(headV),
        values_(
            SharedAllocator().allocate(std::int64_t(waves) * 16 * (headV + kPad) * 4).recast(f32)),
        lse_(SharedAllocator().allocate(std::int64_t(waves) * 16 * 4).recast(f32)) {}

  /// Writes what a wave found of a tile of rows.
  void put(const DecodeWave &wave, int rowTile, const Int32 &number) const {
    const DecodeLane &lane = wave.lane();
    const Int32 row = number * 16 + lane.product().row();
    const SoftmaxEnd end = wave.finish(rowTile);
    if_(lane.product().group() == 0, [&] { (lse_ + row).store(end.lse); });
    for (int v = 0; v < lane.product().sums(); ++v)
      for (int tile = 0; tile < lane.valueTiles(); tile += lane.width()) {
        const Tensor run = make_rmem_tensor(IntTuple(lane.width()), f32);
        for (int e = 0; e < lane.width(); ++e)
          run(e) = wave.sums(rowTile, tile + e)(v) * end.inverse;
        const Int32 at = row * (headV_ + kPad) + lane.element(tile, lane.product().sumRow(v));
        store(at, run);
      }
  }
  /// The combined result of a row, for `size` elements from `element` on.
  CombinedRow combined(const Int32 &row, const Int32 &element, int size) const {
    const auto place = [&](const Int32 &wave) { return Int32(wave * 16 + row); };
    return combineParts(
        {.count = Int32(waves_),
         .lse = [&](const Int32 &wave) { return (lse_ + place(wave)).load(); },
         .values =
             [&](const Int32 &wave) {
               return (values_ + (place(wave) * (headV_ + kPad) + element)).load(size);
             }},
        size);
  }

private:
  void store(const Int32 &at, const Tensor &run) const { (values_ + at).store(run.load()); }
  int waves_, headV_;
  Pointer values_, lse_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
