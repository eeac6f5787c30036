// Sums of products with narrow weights whose groups along K have scales. The products of a group
// are summed on their own, then multiplied by the scales of their columns of the product, and added
// in f32.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/product_sums.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Scales of groups in global memory, over the block's part of K.
struct GroupScales {
  DType type;
  int group;                  ///< elements of K that share a scale
  std::vector<Tensor> halves; // (groups, tileN / halves) as buffers, of each half
};

class GroupScaledSums final : public SumsOfBlocks {
public:
  GroupScaledSums(const LoopShape &shape, const TiledMma &mma, const GroupScales &scales)
      : SumsOfBlocks(shape, mma, scales.group), scales_(scales),
        odd_(ThreadPlace(shape).lane() / 16) {
    const MatrixForm &form = shape.form;
    const ThreadPlace thread(shape);
    const Int32 lane = thread.lane(), wave = thread.waveN();
    for (int j = 0; j < shape.tilesOfHalf(); ++j)
      columns_.push_back((wave + j * shape.waves) * 16 +
                         (form.interleaved() ? Int32(0) : Int32(lane / 16 * form.sums())));
    for (int set = 0; set < 2; ++set) {
      const int vectors = groups(shape.parts()) * shape.halves * shape.tilesOfHalf();
      words_.push_back(make_rmem_tensor(make_layout({words(), vectors}, {1, words()}),
                                        u32)); // (words, tiles and groups)
    }
  }

  int loads(int parts) const override {
    return groups(parts) * shape().halves * shape().tilesOfHalf() * ((words() + 3) / 4);
  }
  void fetch(const Int32 &step, int set, int parts, bool) const override {
    for (int group = 0; group < groups(parts); ++group)
      for (int half = 0; half < shape().halves; ++half)
        for (int j = 0; j < shape().tilesOfHalf(); ++j)
          load(step, set, group, half, j);
  }

private:
  /// The groups of so many parts.
  int groups(int parts) const {
    return (parts * shape().form.part() + scales_.group - 1) / scales_.group;
  }
  /// The scales that a lane loads for a tile of 16 columns, in words: of its own columns, or of all
  /// if lanes have them in turn.
  int loaded() const { return shape().form.interleaved() ? 16 : shape().form.sums(); }
  int words() const { return loaded() * scales_.type.memory_bits() / 32; }
  int number(int group, int half, int j) const {
    return (group * shape().halves + half) * shape().tilesOfHalf() + j;
  }
  void load(const Int32 &step, int set, int group, int half, int j) const {
    const Tensor &buffer = scales_.halves[asIndex(half)];
    const int bytes = scales_.type.memory_bits() / 8;
    const Int32 row = step * (shape().tileK / scales_.group) + group,
                ofWave = Int32(buffer.layout()(row, 0)) * bytes,
                ofLane = columns_[asIndex(j)] * bytes;
    const Tensor to = words_[asIndex(set)](_, number(group, half, j)); // (words)
    if (words() == 1) {
      to(0) = bounded_load(buffer.iter(), {ofLane, ofWave}, u32);
      return;
    }
    for (int first = 0; first < words(); first += 4) {
      const int size = std::min(words(), 4);
      make_view(to.iter() + first, make_layout(size))
          .store(bounded_load(buffer.iter(), {ofLane + 4 * first, ofWave}, u32, size)); // (size)
    }
  }
  /// The factors of a lane's values of a tile of 16 columns.
  Vector factors(int set, int group, int half, int j) const {
    const Tensor all = words_[asIndex(set)](_, number(group, half, j)); // (words)
    std::vector<Numeric> own;
    for (int v = 0; v < shape().form.sums(); ++v)
      own.push_back(shape().form.interleaved() ? inTurn(all, v) : element(all, v));
    return own.size() == 4
               ? Vector::of({own[0], own[1], own[2], own[3]})
               : Vector::of({own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7]});
  }
  /// Number `i` of the scales of the lane's 16 lanes of a wave of 32: these have every other scale. Shorter
  /// scales are moved to where those of the first half are, which takes an instruction for a word. A
  /// choice between both would be made of numbers that all lanes have in common: the compiler has these
  /// converted one by one in scalar registers, more than there are.
  Numeric inTurn(const Tensor &words, int i) const {
    const int bits = scales_.type.memory_bits();
    if (bits == 32)
      return select(Boolean(odd_ == 0), element(words, 2 * i), element(words, 2 * i + 1));
    const int perWord = 32 / bits;
    const Numeric word = words(2 * i / perWord);
    return scaleIn(word >> (odd_ * bits).to(u32), 2 * i % perWord);
  }
  /// Number `i` of the scales that were loaded, in f32.
  Numeric element(const Tensor &words, int i) const {
    const int perWord = 32 / scales_.type.memory_bits();
    return scaleIn(words(i / perWord), i % perWord);
  }
  /// Number `i` of the scales in a word.
  Numeric scaleIn(const Numeric &word, int i) const {
    const int bits = scales_.type.memory_bits(), inWord = i * bits;
    if (bits == 32)
      return word.bitcast(f32);
    const Numeric own = inWord ? Numeric(word >> static_cast<unsigned>(inWord)) : word;
    if (bits == 8)
      return own.to(u8).bitcast(f8E8M0FNU).to(f32);
    return own.to(u16).bitcast(scales_.type).to(f32);
  }
  void addScaled(int half, int set, int group, const Tensor &products) const override {
    const FastMathScope contracted(FastMath::contract);
    for (int j = 0; j < shape().tilesOfHalf(); ++j) {
      const Vector factors = this->factors(set, group, half, j);
      for (int i = 0; i < shape().tilesM(); ++i) {
        const Tensor sums = fragment(half)(_, j, i);                  // (V)
        sums.store(sums.load() + products(_, j, i).load() * factors); // (V)
      }
    }
  }

  GroupScales scales_;
  Int32 odd_;                  // a lane's 16 lanes of the wave: 0 or 1 in waves of 32 lanes
  std::vector<Int32> columns_; // a lane's first column, of each tile of 16
  std::vector<Tensor> words_;  // (words, tiles and groups), of each set
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
