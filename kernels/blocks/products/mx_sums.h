// Sums of products of the microscaling formats, in which each 32 elements of K of a row have a scale
// of 8 bits, a power of two. The matrix instruction multiplies by the scales itself. Of 128 elements
// of K, on CDNA each lane of group g of 16 lanes gives a byte for elements 32 g to 32 g + 31 of its
// row; on gfx1250 a lane gives the four bytes of its row.
//
// Scales lie as they are made, row after row of K / 32 bytes. The four bytes of a part of K are
// loaded by all lanes of a row as a word. A load brings the scales of up to four parts. On CDNA an
// instruction names the byte of a lane's register that is the scale: a lane puts its own bytes of two
// neighbouring parts into one register by one permutation, and shifts that of a part alone down. (FlyDSL
// and aiter shuffle the scales in memory, so that a lane's bytes of several parts are a word.) Where
// rows of scales do not start at multiples of words, each lane loads its bytes.
#pragma once

#include "blocks/products/product_sums.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The scales of a block's tile in global memory, u8, over the block's part of K.
struct MxScales {
  Tensor a;                   // (tileM, K / 32)
  Int32 rows;                 ///< of them that exist
  std::vector<Tensor> b;      // (tileN / halves, K / 32), of each half
  Int32 columns;              ///< rows of each that exist
  std::int64_t ofRow, ofPart; ///< scales of a row of the matrix, and of the block's part of K
  DType elementA, elementB;   ///< of the operands
  /// Of gathered rows of A: their scales are rows of `gathered->matrix` (rows, K / 32), by the same
  /// indices, and `a` and `rows` are not looked at.
  std::optional<GatheredTile> gathered = {};
};

class MxSums final : public Sums {
public:
  /// `mma` is that of the sums; operands are fragments of one part.
  MxSums(const LoopShape &shape, const TiledMma &mma, const MxScales &scales)
      : Sums(shape, mma), scales_(scales), lane_(thread_idx().x % shape.form.lanes),
        ownBytes_(lane_ / 16 * 0x0101 + 0x0400), word_(mxWords(scales.ofRow, shape.parts())),
        a_(scales.gathered
               ? bufferOf(scales.gathered->matrix, {scales.gathered->rows, scales.ofRow},
                          scales.gathered->rows > 0)
               : bufferOf(scales.a, {scales.rows, blocks()}, scales.rows > 0)) { // (tileM, K / 32)
    for (const Tensor &half : scales.b)
      b_.push_back(bufferOf(half, {scales.columns, blocks()},
                            scales.columns > 0)); // (tileN / halves, K / 32)
    const Int32 row = lane_ % 16,
                waveM = thread_idx().x / (shape.form.lanes * shape.waves) % shape.wavesM,
                waveN = thread_idx().x / shape.form.lanes % shape.waves;
    for (int i = 0; i < shape.tilesM(); ++i)
      places_.push_back(placeOfA(row + 16 * (waveM + shape.wavesM * i)));
    for (int half = 0; half < shape.halves; ++half)
      for (int j = 0; j < shape.tilesOfHalf(); ++j)
        places_.push_back(
            placeOf(b_[at(half)], row + 16 * (waveN + shape.waves * j), scales.columns));
    for (int stage = 0; stage < 2; ++stage)
      words_.push_back(make_rmem_tensor(
          make_layout({shape.parts() * ofPart(), rows()}, {1, shape.parts() * ofPart()}),
          u32)); // (part, row)
  }

  int loads(int parts) const override {
    return rows() * (word_ ? (parts + word_ - 1) / word_ : parts * ofPart());
  }
  void fetch(const Int32 &step, int stage, int parts, bool guarded) const override {
    for (int row = 0; row < rows(); ++row)
      for (int part = 0; part < parts; part += std::max(word_, 1))
        load(step, stage, part, row, guarded);
  }
  void add(int half, int stage, int part, int parts, const Tensor &b,
           const Tensor &a) const override {
    std::vector<OwnScale> ofA;
    for (int i = 0; i < shape().tilesM(); ++i)
      ofA.push_back(own(stage, part, parts, i));
    for (int j = 0; j < shape().tilesOfHalf(); ++j) {
      const OwnScale ofB = own(stage, part, parts, rowOfB(half, j));
      const Tensor operandB = elements(b(_, j, 0), scales_.elementB); // (V)
      for (int i = 0; i < shape().tilesM(); ++i) {
        const MmaAtom atom = atomOf(ofB.byte, ofA[at(i)].byte)
                                 .set_value("scale_a", ofB.word)
                                 .set_value("scale_b", ofA[at(i)].word);
        const Tensor sums = of(half)(_, j, i);                                             // (V)
        mma_atom_call(atom, sums, operandB, elements(a(_, i, 0), scales_.elementA), sums); // (V)
      }
    }
  }

private:
  /// A lane's register, and the byte of it that is the scale, or where its scales begin.
  struct OwnScale {
    Numeric word;
    int byte = 0;
  };
  /// The instruction that takes the scales of its operands from these bytes.
  MmaAtom atomOf(int byteA, int byteB) const {
    const rocdl::MatrixProduct &product = shape().form.instruction;
    if (byteA == 0 && byteB == 0)
      return matrixAtom(shape().form);
    return make_mma_atom(rocdl::MFMAScale(product.m, product.n, product.k, product.a, product.b,
                                          product.acc, byteA, byteB));
  }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  /// Registers of a row's scales of a part: a word, or bytes.
  int ofPart() const { return word_ ? 1 : shape().form.scalesOfLane(); }
  /// True if a lane gives the scales of its row's part of K, false if it gives one of them.
  bool ofRow() const { return shape().form.scalesOfLane() == kMxScalesOfPart; }
  /// Scales of the block's part of K.
  std::int64_t blocks() const { return scales_.ofPart; }
  /// Rows of a lane's scales: those of A, then those of each half of B.
  int rows() const { return shape().tilesM() + shape().halves * shape().tilesOfHalf(); }
  int rowOfB(int half, int j) const { return shape().tilesM() + half * shape().tilesOfHalf() + j; }
  /// Bytes from the start of a buffer to a row that exists.
  static Int32 placeOf(const Tensor &buffer, const Int32 &row, const Int32 &exist) {
    return Int32(buffer.layout()(min(row, max(exist - 1, 0)), 0));
  }
  /// The same to those of a row of A.
  Int32 placeOfA(const Int32 &row) const {
    if (!scales_.gathered)
      return placeOf(a_, row, scales_.rows);
    const Int32 index = scales_.gathered->indexOf(row);
    const Boolean there = (index >= 0) & (index < scales_.gathered->rows);
    return insideOf(a_, there, Int32(a_.layout()(index, 0)));
  }
  const Tensor &bufferOfRow(int row) const {
    return row < shape().tilesM() ? a_ : b_[at((row - shape().tilesM()) / shape().tilesOfHalf())];
  }
  void load(const Int32 &step, int stage, int part, int row, bool guarded) const {
    const Pointer buffer = bufferOfRow(row).iter();
    const Int32 first = (step * shape().parts() + part) * kMxScalesOfPart;
    const auto end = static_cast<std::int32_t>(blocks());
    const Tensor to = words_[at(stage)](_, row); // (part)
    if (word_ == 0) {
      for (int i = 0; i < ofPart(); ++i) {
        const Int32 own = ofRow() ? Int32(i) : Int32(lane_ / 16);
        to(part * ofPart() + i) =
            bounded_load(
                buffer, {select(first + own < end, places_[at(row)] + own, kPastTheEnd), first}, u8)
                .to(u32);
      }
      return;
    }
    const Int32 place =
        guarded ? Int32(select(first < end, places_[at(row)], kPastTheEnd)) : places_[at(row)];
    if (word_ == 1)
      to(part) = bounded_load(buffer, {place, first}, u32);
    else
      make_view(to.iter() + part, make_layout(word_))
          .store(bounded_load(buffer, {place, first}, u32, word_)); // (word)
  }
  /// The lane's scales of a row, in a step of so many parts.
  OwnScale own(int stage, int part, int parts, int row) const {
    const Tensor words = words_[at(stage)](_, row); // (words)
    const Numeric word = joined(words, part * ofPart(), ofPart());
    if (!word_ || ofRow())
      return {word.to(i32)};
    const int first = part / 2 * 2;
    if (first + 1 == parts)
      return {Numeric(word >> (lane_ / 16 * 8).to(u32)).to(i32)};
    const auto ofPart = [&](int number) { return Int32(Numeric(words(number)).to(i32)); };
    return {permute_bytes(ofPart(first + 1), ofPart(first), ownBytes_), part % 2};
  }
  /// `count` registers from `first` on, whose lowest bytes become the bytes of a word; one as it is.
  static Numeric joined(const Tensor &words, int first, int count) {
    if (count == 1)
      return words(first);
    return joined(words, first, count - 1) | words(first + count - 1)
                                                 << static_cast<unsigned>(8 * (count - 1));
  }
  /// A lane's bytes as what the instruction takes.
  static Tensor elements(const Tensor &fragment, DType type) {
    return type.memory_bits() < 8 ? fragment.recast(type) : fragment;
  }

  MxScales scales_;
  Int32 lane_;
  Int32 ownBytes_; ///< the numbers of the lane's bytes in two words
  int word_;
  Tensor a_;                  // (tileM, K / 32)
  std::vector<Tensor> b_;     // (tileN / halves, K / 32), of each half
  std::vector<Int32> places_; // of each row
  std::vector<Tensor> words_; // (part, row), of each stage
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
