// The sums of a product's main loop, and how the products of a part of K are added to them.
//
// Sums adds them as they are. BlockScaledSums multiplies those of each 128 elements of K by the
// scales of that block: of A for each row, of B for 128 of its rows. The instructions of gfx950 and
// gfx1250 that take scales as exponents do so themselves; elsewhere the products of a block are summed
// on their own, and multiplied and added in f32.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/epilogue.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/operand.h"
#include "blocks/products/operand_tile.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <cstdint>
#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Products that need no scales.
class Sums {
public:
  Sums(const LoopShape &shape, const TiledMma &mma) : shape_(shape), mma_(mma) {
    for (int half = 0; half < shape.halves; ++half)
      of_.push_back(makeFragment());
  }
  virtual ~Sums() = default;
  Sums(const Sums &) = delete;

  void start() const {
    for (const Tensor &sums : of_)
      sums.fill(0);
  }
  /// Loads what the products of a step's parts need besides the operands, into one of two sets of registers.
  /// `guarded`: parts past the end of K are zeros; otherwise all exist.
  virtual void fetch(const Int32 &step, int set, int parts, bool guarded) const {}
  /// Loads of each thread for what `fetch` brings for so many parts.
  virtual int loads(int parts) const { return 0; }
  /// Adds the products of one part of `parts` of a step, of fragments (V, n, k) and (V, m, k).
  virtual void add(int half, int set, int part, int parts, const Tensor &b, const Tensor &a) const {
    multiply(fragment(half), b, a);
  }
  /// Adds the product of one instruction to tile (j, i) of 16 x 16 of a half.
  void addTile(int half, int j, int i, const Tensor &b, const Tensor &a) const {
    const Tensor sums = fragment(half)(_, j, i); // (V)
    mma_atom_call(unscaledAtom(shape_.form), sums, b, a, sums);
  }
  /// The sums of a half of B as an epilogue takes them, in groups of neighbours.
  SumsAt groups(int half) const { return groupsOf(shape_.form, fragment(half)); }
  /// The sums of a half of B, (V, n, m): V values are neighbours along N.
  const Tensor &fragment(int half) const { return of_[static_cast<std::size_t>(half)]; }

protected:
  const LoopShape &shape() const { return shape_; }
  const TiledMma &mma() const { return mma_; }
  Tensor makeFragment() const {
    const Tensor sums = mma_.make_fragment_C({shape_.tileOfHalf(), shape_.tileM}); // (V, n, m)
    // What operands are moved by may have another type of sums, in the same lanes.
    return sums.dtype() == shape_.form.acc
               ? sums
               : make_rmem_tensor(sums.layout(), shape_.form.acc); // (V, n, m)
  }
  void multiply(const Tensor &sums, const Tensor &b, const Tensor &a) const {
    gemm(mma_, sums, b, a, sums,
         unscaled(shape_.form, {.order = GemmTraversalOrder::MKN})); // (V, n, m)
  }

private:
  LoopShape shape_;
  TiledMma mma_;
  std::vector<Tensor> of_; // (V, n, m), of each half
};

/// Sums of blocks of K whose products are summed on their own, then scaled and added.
class SumsOfBlocks : public Sums {
public:
  /// A block has `columns` elements of K.
  SumsOfBlocks(const LoopShape &shape, const TiledMma &mma, int columns)
      : Sums(shape, mma), parts_(columns / shape.form.part()) {
    for (int half = 0; half < shape.halves; ++half)
      products_.push_back(makeFragment());
  }
  void add(int half, int set, int part, int parts, const Tensor &b,
           const Tensor &a) const override {
    const Tensor &products = products_[static_cast<std::size_t>(half)];
    const int inBlock = part % parts_;
    if (inBlock == 0)
      products.fill(0);
    multiply(products, b, a);
    if (inBlock == parts_ - 1 || part == parts - 1)
      addScaled(half, set, part / parts_, products);
  }

protected:
  /// The number of a part's block in the step.
  int blockOf(int part) const { return part / parts_; }
  /// Adds the products of a block, (V, n, m), to the sums.
  virtual void addScaled(int half, int set, int block, const Tensor &products) const = 0;

private:
  int parts_;                    // parts of a block
  std::vector<Tensor> products_; // (V, n, m): the products of a block of K, of each half
};

/// The scales of a block's tile in global memory, over the block's part of K: f32, or exponents as
/// bytes (u8).
struct BlockScales {
  Tensor a;                      // (tileM, blocks of K)
  Int32 rows;                    ///< rows of the tile that A has
  std::vector<Tensor> b;         // (tileN / halves / 128, blocks of K), of each half
  std::vector<Int32> blocksLeft; ///< rows of scales that B has from there on, in each half
  /// If rows of A are gathered: their scales are rows of `gathered->matrix` (rows, blocks of K), by the
  /// same indices, and `a` and `rows` are not looked at.
  std::optional<GatheredTile> gathered = {};
};

class BlockScaledSums final : public SumsOfBlocks {
public:
  BlockScaledSums(const LoopShape &shape, const TiledMma &mma, const BlockScales &scales)
      : SumsOfBlocks(shape, mma, kScaleBlock), type_(scales.a.dtype()),
        a_(scales.gathered ? bufferOf(scales.gathered->matrix, {scales.gathered->rows, blocks()},
                                      scales.gathered->rows > 0)
                           : bufferOf(scales.a, {scales.rows, blocks()})) { // (tileM, K / 128)
    const Int32 wave = ThreadPlace(shape).waveM(), row = thread_idx().x % 16 + wave * 16;
    for (int i = 0; i < shape.tilesM(); ++i)
      rows_.push_back(placeOfRow(scales, row + 16 * shape.wavesM * i));
    for (int half = 0; half < shape.halves; ++half)
      b_.push_back(
          bufferOf(scales.b[asIndex(half)], {scales.blocksLeft[asIndex(half)],
                                             blocks()})); // (tileN / halves / 128, K / 128)
    const int count = shape.blocksOf(shape.parts());
    for (int set = 0; set < 2; ++set) {
      ofA_.push_back(make_rmem_tensor(make_layout({shape.tilesM(), count}, {1, shape.tilesM()}),
                                      raw())); // (m, blocks)
      const int columns = shape.halves * shape.scalesOfHalf();
      ofB_.push_back(make_rmem_tensor(make_layout({columns, count}, {1, columns}),
                                      raw())); // (columns, blocks)
    }
  }

  int loads(int parts) const override {
    return shape().blocksOf(parts) * (shape().tilesM() + shape().halves * shape().scalesOfHalf());
  }
  void fetch(const Int32 &step, int set, int parts, bool guarded) const override {
    const Tensor &ofA = ofA_[asIndex(set)], &ofB = ofB_[asIndex(set)];
    for (int block = 0; block < shape().blocksOf(parts); ++block) {
      const Int32 number = step * (shape().tileK / kScaleBlock) + block;
      const auto load = [&](const Tensor &buffer, const Int32 &row) {
        const Boolean inside = number < static_cast<std::int32_t>(blocks());
        return scale(buffer, guarded ? insideOf(buffer, inside, row) : row,
                     Int32(buffer.layout()(0, number)));
      };
      for (int i = 0; i < shape().tilesM(); ++i)
        ofA(i, block) = load(a_, rows_[asIndex(i)]);
      for (int half = 0; half < shape().halves; ++half)
        for (int n = 0; n < shape().scalesOfHalf(); ++n)
          ofB(half * shape().scalesOfHalf() + n, block) =
              load(b_[asIndex(half)], Int32(b_[asIndex(half)].layout()(n, 0)));
    }
  }
  void add(int half, int set, int part, int parts, const Tensor &b,
           const Tensor &a) const override {
    if (byInstruction())
      return multiplyScaled(half, set, blockOf(part), b, a);
    SumsOfBlocks::add(half, set, part, parts, b, a);
  }

private:
  /// Whether the matrix instruction takes the scales: a part is a block then.
  bool byInstruction() const { return shape().form.scaled && type_ == u8; }
  /// Blocks of K.
  std::int64_t blocks() const { return shape().scaleBlocks(); }
  /// The type of scales in registers, which stay as they were loaded until they are needed.
  DType raw() const { return type_ == f32 ? f32 : i32; }
  /// The scale at `place` elements of a buffer, and `ofWave` more, which all lanes have in common.
  Numeric scale(const Tensor &buffer, const Int32 &place, const Int32 &ofWave) const {
    const int bytes = type_.memory_bits() / 8;
    const Numeric value = bounded_load(buffer.iter(), {place * bytes, ofWave * bytes}, type_);
    return type_ == f32 ? value : value.to(i32);
  }
  /// The elements from the start of the scales of A to those of a row of the tile.
  Int32 placeOfRow(const BlockScales &scales, const Int32 &row) const {
    if (!scales.gathered)
      return Int32(a_.layout()(min(row, scales.rows - 1), 0));
    const GatheredTile::Found found = scales.gathered->find(row);
    return insideOf(a_, found.valid, Int32(a_.layout()(found.row, 0)));
  }
  Numeric scaleOfA(int set, int i, int block) const { return ofA_[asIndex(set)](i, block); }
  /// The number of the scale of B of a column of tiles. Waves lie side by side, so that columns of
  /// tiles have a stride of `16 * waves`, which divides 128.
  int scaleNumber(int j) const { return j * 16 * shape().waves / kScaleBlock; }
  Numeric scaleOfB(int half, int set, int number, int block) const {
    return ofB_[asIndex(set)](half * shape().scalesOfHalf() + number, block);
  }
  /// A scale in f32.
  Numeric factor(const Numeric &scale) const {
    return type_ == f32 ? scale : scale.to(u8).bitcast(f8E8M0FNU).to(f32);
  }
  void addScaled(int half, int set, int block, const Tensor &products) const override {
    const FastMathScope contracted(FastMath::contract);
    for (int i = 0; i < shape().tilesM(); ++i) {
      const Numeric ofA = factor(scaleOfA(set, i, block));
      std::vector<Numeric> factors;
      for (int n = 0; n < shape().scalesOfHalf(); ++n)
        factors.push_back(ofA * factor(scaleOfB(half, set, n, block)));
      for (int j = 0; j < shape().tilesOfHalf(); ++j) {
        const Tensor sums = fragment(half)(_, j, i); // (V)
        sums.store(sums.load() +
                   products(_, j, i).load() * factors[asIndex(scaleNumber(j))]); // (V)
      }
    }
  }
  /// An exponent as the instruction takes it: in a byte for each 32 elements of K that a lane has
  /// scales for.
  Numeric ofBlock(const Numeric &scale) const {
    return shape().form.scalesOfLane() == 1 ? scale : permute_bytes(Int32(scale), Int32(scale), 0u);
  }
  void multiplyScaled(int half, int set, int block, const Tensor &b, const Tensor &a) const {
    for (int j = 0; j < shape().tilesOfHalf(); ++j)
      for (int i = 0; i < shape().tilesM(); ++i) {
        // The instruction's first operand is our B (operand.h).
        const MmaAtom atom =
            matrixAtom(shape().form)
                .set_value("scale_a", ofBlock(scaleOfB(half, set, scaleNumber(j), block)))
                .set_value("scale_b", ofBlock(scaleOfA(set, i, block)));
        const Tensor sums = fragment(half)(_, j, i);             // (V)
        mma_atom_call(atom, sums, b(_, j, 0), a(_, i, 0), sums); // (V)
      }
  }

  DType type_;
  Tensor a_;                      // (tileM, blocks of K); gathered: (rows, blocks of K)
  std::vector<Int32> rows_;       // the places of the rows' scales in it
  std::vector<Tensor> b_;         // (tileN / halves / 128, blocks of K), of each half
  std::vector<Tensor> ofA_, ofB_; // (row or column, block of K), for each set
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
