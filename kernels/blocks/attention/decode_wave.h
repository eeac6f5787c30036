// Attention of few queries over many keys, by a wave that keeps all of its queries in registers and
// goes over keys by itself: no wave waits for another before the end, when `mergeWaves` adds up
// what they found.
//
// The rows of queries, 16 to a tile, are the columns of both products (see
// attention_products.h): S^T = K * Q^T gives a lane the scores of one row for runs of 8
// neighbouring keys, and O^T = V^T * P^T takes the probabilities as they are. The operand
// V^T wants of each element of a value the lane's 8 keys. Values lie the other way in
// memory; each lane loads neighbouring elements of its 8 keys and takes the columns of what
// it got: a transposition without moving anything.
#pragma once

#include "blocks/attention/attention_products.h"
#include "blocks/attention/combine.h"
#include "blocks/attention/value_scaled_softmax.h"
#include "blocks/products/wave_product.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The keys and the elements that the lanes of a wave hold in a step.
class DecodeLane {
public:
  /// `piece`: neighbouring elements of a key that a lane loads, a multiple of what an instruction
  /// takes. `headV`: elements of a value, a multiple of 16. `most`: neighbouring elements of a
  /// value that a lane may load together. `repeats`: how often a lane has in a step the runs of 8
  /// keys of an instruction.
  DecodeLane(const MatrixForm &form, int piece, int headV, int most, int repeats = 1)
      : lane_(form, piece), runs_(RunsOfEight::of(form)), headV_(headV),
        repeats_(repeats * form.runsOfEight()) {
    while (2 * width_ <= most && headV % (32 * width_) == 0)
      width_ *= 2;
  }
  /// The same lane by a number that the compiler does not recognise: what follows from it is computed again,
  /// and no register holds it from before.
  DecodeLane recomputed() const {
    return {*this, ProductLane(form(), lane_.piece(), rematerialised(lane_.lane()).to<Int32>())};
  }

  const ProductLane &product() const { return lane_; }
  const MatrixForm &form() const { return lane_.form(); }
  /// Keys of a step.
  int keys() const { return runs_.rows() * repeats_; }
  /// The runs of 8 keys that a lane has, and the tiles of 16 keys over which each is dealt.
  int repeats() const { return repeats_; }
  int tilesOfRun() const { return runs_.rows() / 16; }
  /// Tiles of 16 keys of a step.
  int keyTiles() const { return keys() / 16; }
  /// The key, of those of a step, whose elements the lane holds of a tile.
  Int32 key(int tile) const {
    const Int32 &row = lane_.row();
    const int more = tile / tilesOfRun() * runs_.rows();
    if (form().sumRun == 4)
      return row / 4 * 8 + (tile % tilesOfRun() * 4 + more) + row % 4;
    return form().interleaved() ? Int32(row % 2 * 8 + row / 2 + more) : Int32(row + more);
  }
  /// The lane has the scores of runs of keys: the first key of them, and the distance of score i from
  /// it.
  Int32 scoreKey() const { return lane_.group() * RunsOfEight::kRun; }
  int scoreOffset(int i) const { return runs_.offset(i); }

  /// Keys of whose values the lane holds elements: its runs, and on RDNA3 all of them.
  int valueKeys() const { return form().replicated() ? keys() : RunsOfEight::kRun * repeats_; }
  Int32 valueKey(int i) const {
    return form().replicated() ? Int32(i) : Int32(scoreKey() + runs_.offset(i));
  }
  /// Tiles of 16 elements of a value. Of each, `width()` neighbouring elements of the lane are in
  /// tiles of their own.
  int valueTiles() const { return headV_ / 16; }
  int width() const { return width_; }
  /// The element of a value that is row `row` of a tile of 16 elements.
  Int32 element(int tile, const Int32 &row) const { return row * width_ + elementOfTile(tile); }
  /// The element of a value that is row 0 of a tile.
  int elementOfTile(int tile) const { return tile / width_ * 16 * width_ + tile % width_; }

private:
  DecodeLane(const DecodeLane &other, const ProductLane &lane)
      : lane_(lane), runs_(other.runs_), headV_(other.headV_), repeats_(other.repeats_),
        width_(other.width_) {}

  ProductLane lane_;
  RunsOfEight runs_;
  int headV_, repeats_, width_ = 1;
};

/// The lane's elements of a piece of the queries of a tile of rows.
using QueryPiece = std::function<Vector(int tile, int piece)>;

/// The values of a step: for each tile of 16 elements the lane's keys.
using ValueOperands = std::vector<Vector>;

/// Transposes rows of bytes, `row(i)` of `width` bytes each: 4 x 4 bytes at a time, first pairs of rows
/// and then pairs of these.
inline ValueOperands columnsOfBytes(int width, int rows, DType type,
                                    const std::function<Vector(int i)> &row) {
  // Byte i of a selector names the byte of (high, low) that byte i of
  // the result is; low has 0 to 3.
  constexpr std::uint32_t kLowPairs = 0x05010400, kHighPairs = 0x07030602, kLowHalves = 0x05040100,
                          kHighHalves = 0x07060302;
  std::vector<std::vector<Numeric>> columns(static_cast<std::size_t>(width));
  for (int first = 0; first < rows; first += 4) {
    std::vector<Vector> words;
    for (int i = 0; i < 4; ++i)
      words.push_back(row(first + i).bitcast(i32));
    for (int word = 0; word < width / 4; ++word) {
      const auto pairs = [&](int low, std::uint32_t selector) {
        return permute_bytes(Int32(words[std::size_t(low) + 1].at(word)),
                             Int32(words[std::size_t(low)].at(word)), selector);
      };
      for (int half = 0; half < 2; ++half) {
        const std::uint32_t selector = half ? kHighPairs : kLowPairs;
        const Int32 low = pairs(0, selector), high = pairs(2, selector);
        const std::size_t column = std::size_t(4 * word + 2 * half);
        columns[column].push_back(permute_bytes(high, low, kLowHalves));
        columns[column + 1].push_back(permute_bytes(high, low, kHighHalves));
      }
    }
  }
  ValueOperands all;
  for (const std::vector<Numeric> &column : columns) {
    const Tensor words = make_rmem_tensor(IntTuple(rows / 4), i32); // (rows / 4)
    for (std::size_t i = 0; i < column.size(); ++i)
      words(int(i)) = column[i];
    all.push_back(words.load().bitcast(type));
  }
  return all;
}

/// `width` tiles of values, from memory in which the elements of a value are neighbours: `load(i)`
/// gives `width` elements of the value of the lane's key i.
inline ValueOperands valuesOfRows(const DecodeLane &lane, int width,
                                  const std::function<Vector(int i)> &load) {
  const int keys = lane.valueKeys();
  if (lane.form().bytes() == 1 && width % 4 == 0)
    return columnsOfBytes(width, keys, lane.form().b, load);
  const Tensor block = make_rmem_tensor(IntTuple({width, keys}), lane.form().b); // (width, keys)
  for (int i = 0; i < keys; ++i)
    block(_, i).store(load(i)); // (width)
  ValueOperands tiles;
  for (int e = 0; e < width; ++e)
    tiles.push_back(block(e, _).load()); // (keys)
  return tiles;
}

/// A wave's rows of queries, and their results so far.
class DecodeWave {
public:
  /// Queries are of `tiles` tiles of 16 rows, each of so many pieces. `factor`: see ScoreRules.
  /// `scaledValues`: values have scales of their own, which `step` gets. `roomy`: there are registers for
  /// sums of probabilities among those of products.
  DecodeWave(const DecodeLane &lane, int tiles, int pieces, float factor, bool scaledValues = false,
             bool roomy = true)
      : lane_(lane), product_(lane.form()), pieces_(pieces), roomy_(roomy) {
    if (scaledValues)
      scaled_.emplace(tiles, Float32(factor), lane.form().a, overLanes(16));
    else
      softmax_.emplace(tiles, Float32(factor), lane.form().a, overLanes(16), !sumsByProducts());
    for (int tile = 0; tile < tiles; ++tile) {
      sums_.emplace_back();
      for (int i = 0; i < lane.valueTiles() + sumsByProducts(); ++i)
        sums_.back().push_back(product_.zeros());
    }
  }

  int rowTiles() const { return static_cast<int>(sums_.size()); }

  /// Takes a step of keys. The lane's elements are given by `query(tile, piece)` of a tile of rows,
  /// by `key(tile, piece)` of the keys of a tile, and by `values(tile)` of `width()` tiles of
  /// values. `finish` makes scores of the products of a tile of rows, masked where a row does not
  /// see a key. `change` may change the probabilities before they are multiplied with the values. `scales`: the
  /// scales of the values of the lane's keys, with `scaledValues`; `change` gets the probabilities times these.
  ///
  /// Probabilities of 8 bits have no room for a scale after they are rounded: see ValueScaledSoftmax.
  template <class Key, class Values, class Finish, class Change>
  void step(const QueryPiece &query, Key key, Values values, Finish finish, Change change,
            const std::vector<Numeric> &scales = {}) {
    std::vector<Tensor> scores;
    for (int tile = 0; tile < rowTiles(); ++tile) {
      scores.push_back(make_rmem_tensor(IntTuple({lane_.product().sums(), lane_.keyTiles()}),
                                        f32)); // (sums, tiles)
      scores.back().fill(0);
    }
    const int together = std::max(1, product_.together() / lane_.product().piece());
    for (int piece = 0; piece < pieces_; piece += together) {
      const int count = std::min(together, pieces_ - piece);
      std::vector<Vector> queries;
      for (int tile = 0; tile < rowTiles(); ++tile)
        queries.push_back(joined(count, [&](int i) { return query(tile, piece + i); }));
      for (int t = 0; t < lane_.keyTiles(); ++t) {
        const Vector own = joined(count, [&](int i) { return key(t, piece + i); });
        for (std::size_t tile = 0; tile < scores.size(); ++tile)
          product_.add(scores[tile](_, t), own, queries[tile]); // (V)
      }
    }
    for (int tile = 0; tile < rowTiles(); ++tile)
      finish(tile, scores[static_cast<std::size_t>(tile)]);
    const auto rescale = [&](int row, const Numeric &factor) {
      for (const Tensor &sum : sums_[static_cast<std::size_t>(row)])
        sum.store(sum.load() * factor);
    };
    std::vector<Vector> probabilities;
    for (const Vector &ofTile :
         scaled_ ? scaled_->add(scores, vectorOf(scales), rescale) : softmax_->add(scores, rescale))
      probabilities.push_back(operand(change(ofTile)));
    for (int first = 0; first < lane_.valueTiles(); first += lane_.width()) {
      const ValueOperands some = values(first);
      for (std::size_t tile = 0; tile < scores.size(); ++tile)
        for (std::size_t i = 0; i < some.size(); ++i)
          product_.add(sums_[tile][static_cast<std::size_t>(first) + i], some[i],
                       probabilities[tile]);
    }
    for (std::size_t tile = 0; tile < scores.size() && sumsByProducts(); ++tile)
      product_.add(sums_[tile].back(),
                   Vector::splat(1.0f, static_cast<std::int64_t>(probabilities[tile].size()),
                                 lane_.form().b),
                   probabilities[tile]);
  }

  /// The end of the lane's row of a tile.
  SoftmaxEnd finish(int tile) const {
    if (sumsByProducts())
      return softmax_->finishWith(tile, sums_[static_cast<std::size_t>(tile)].back()(0), {});
    return scaled_ ? scaled_->finish(tile) : softmax_->finish(tile);
  }
  /// The sums of a tile of rows and a tile of elements.
  const Tensor &sums(int rowTile, int tile) const {
    return sums_[static_cast<std::size_t>(rowTile)][static_cast<std::size_t>(tile)];
  }
  const DecodeLane &lane() const { return lane_; }

private:
  /// Whether rounded probabilities are summed by the matrix units, as products with ones after those with
  /// the values. To convert those of 8 bits back takes vector units longer than their exponentials do.
  bool sumsByProducts() const {
    return roomy_ && !scaled_ && lane_.form().accumulates() && lane_.form().bytes() == 1;
  }
  /// Vectors of one length, one after another.
  static Vector joined(int count, const std::function<Vector(int i)> &part) {
    const Vector first = part(0);
    if (count == 1)
      return first;
    const int size = static_cast<int>(first.size());
    const Tensor all = make_rmem_tensor(IntTuple({size, count}), first.dtype()); // (size, count)
    all(_, 0).store(first);                                                      // (size)
    for (int i = 1; i < count; ++i)
      all(_, i).store(part(i)); // (size)
    return all.load();
  }
  static Vector vectorOf(const std::vector<Numeric> &numbers) {
    const Tensor all = make_rmem_tensor(IntTuple(int(numbers.size())), f32); // (keys)
    for (std::size_t i = 0; i < numbers.size(); ++i)
      all(int(i)) = numbers[i];
    return all.load();
  }
  /// The probabilities as the instruction takes them.
  Vector operand(const Vector &probabilities) const {
    if (!lane_.form().replicated())
      return probabilities;
    const Tensor both = make_rmem_tensor(IntTuple(lane_.keys()), lane_.form().a); // (keys)
    giveProbabilities(lane_.form(), probabilities, both);
    return both.load();
  }

  DecodeLane lane_;
  WaveProduct product_;
  int pieces_;
  bool roomy_;
  std::optional<OnlineSoftmax> softmax_;
  std::optional<ValueScaledSoftmax> scaled_; ///< if values have scales of their own
  std::vector<std::vector<Tensor>> sums_;
};

/// What the waves of a block found of some rows of a tile of 16, in shared memory.
class WaveParts {
public:
  static constexpr int kPad = 4; ///< elements between rows, against bank conflicts

  /// `rows`: of a tile, those that are here at a time.
  WaveParts(int waves, int rows, int headV)
      : waves_(waves), rows_(rows), headV_(headV),
        values_(SharedAllocator()
                    .allocate(std::int64_t(waves) * rows * (headV + kPad) * 4)
                    .recast(f32)),
        lse_(SharedAllocator().allocate(std::int64_t(waves) * rows * 4).recast(f32)) {}

  int rows() const { return rows_; }
  /// Writes what a wave found of the rows of a tile from `firstRow` on, of the elements from `first`
  /// on.
  void put(const DecodeWave &wave, int rowTile, int firstRow, const Int32 &number,
           const Int32 &first) const {
    const DecodeLane &lane = wave.lane();
    const SoftmaxEnd end = wave.finish(rowTile);
    const Int32 own = lane.product().row() - firstRow;
    const auto write = [&] {
      const Int32 row = number * rows_ + own;
      if_(Boolean((lane.product().group() == 0) & (first == 0)),
          [&] { (lse_ + row).store(end.lse); });
      for (int v = 0; v < lane.product().sums(); ++v)
        for (int tile = 0; tile < lane.valueTiles(); tile += lane.width()) {
          const Tensor run = make_rmem_tensor(IntTuple(lane.width()), f32); // (width)
          for (int e = 0; e < lane.width(); ++e)
            run(e) = wave.sums(rowTile, tile + e)(v) * end.inverse;
          const Int32 at =
              row * (headV_ + kPad) + (first + lane.element(tile, lane.product().sumRow(v)));
          (values_ + at).store(run.load());
        }
    };
    if (firstRow > 0)
      if_(Boolean((own >= 0) & (own < rows_)), write);
    else if (rows_ < 16)
      if_(own < rows_, write);
    else
      write();
  }
  /// The combined result of a row of those that are here, for `size` elements from `element` on.
  CombinedRow combined(const Int32 &row, const Int32 &element, int size) const {
    const auto place = [&](const Int32 &wave) { return Int32(wave * rows_ + row); };
    return combineParts(
        {.count = Int32(waves_),
         .lse = [&](const Int32 &wave) { return (lse_ + place(wave)).load(); },
         .values =
             [&](const Int32 &wave) {
               return (values_ + (place(wave) * (headV_ + kPad) + element)).load(size);
             },
         .known = waves_},
        size);
  }

private:
  int waves_, rows_, headV_;
  Pointer values_, lse_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
