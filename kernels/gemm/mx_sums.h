// Sums of products of the microscaling formats, in which each 32 elements of K of a row have a scale
// of 8 bits, a power of two. The matrix instruction multiplies by the scales itself; mx_rows.h has how
// they come to it.
#pragma once

#include "blocks/products/product_sums.h"
#include "gemm/mx_rows.h"

#include <memory>
#include <variant>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The scales of an operand's rows in a block, one way or the other.
using MxScalesOfRows = std::variant<MxTile, PreparedMxTile>;

/// The scales of a block's tile.
struct MxScales {
  MxScalesOfRows a;
  std::vector<MxScalesOfRows> b; ///< of each half
  DType elementA, elementB;      ///< of the operands
};

class MxSums final : public Sums {
public:
  /// `mma` is that of the sums; operands are fragments of one part.
  MxSums(const LoopShape &shape, const TiledMma &mma, const MxScales &scales)
      : Sums(shape, mma), elementA_(scales.elementA), elementB_(scales.elementB) {
    const int lanes = shape.form.lanes;
    const Int32 waveM = thread_idx().x / (lanes * shape.waves) % shape.wavesM,
                waveN = thread_idx().x / lanes % shape.waves;
    a_ = rowsOf(shape, scales.a, {shape.tilesM(), waveM, shape.wavesM});
    for (const MxScalesOfRows &half : scales.b)
      b_.push_back(rowsOf(shape, half, {shape.tilesOfHalf(), waveN, shape.waves}));
  }

  int loads(int parts) const override {
    int all = a_->loads(parts);
    for (const auto &half : b_)
      all += half->loads(parts);
    return all;
  }
  void fetch(const Int32 &step, int stage, int parts, bool guarded) const override {
    a_->fetch(step, stage, parts, guarded);
    for (const auto &half : b_)
      half->fetch(step, stage, parts, guarded);
  }
  void add(int half, int stage, int part, int parts, const Tensor &b,
           const Tensor &a) const override {
    std::vector<OwnScale> ofA;
    for (int i = 0; i < shape().tilesM(); ++i)
      ofA.push_back(a_->own(stage, part, parts, i));
    for (int j = 0; j < shape().tilesOfHalf(); ++j) {
      const OwnScale ofB = b_[at(half)]->own(stage, part, parts, j);
      const Tensor operandB = elements(b(_, j, 0), elementB_); // (V)
      for (int i = 0; i < shape().tilesM(); ++i) {
        const MmaAtom atom = atomOf(ofB.byte, ofA[at(i)].byte)
                                 .set_value("scale_a", ofB.word)
                                 .set_value("scale_b", ofA[at(i)].word);
        const Tensor sums = of(half)(_, j, i);                                      // (V)
        mma_atom_call(atom, sums, operandB, elements(a(_, i, 0), elementA_), sums); // (V)
      }
    }
  }

private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  static std::unique_ptr<MxRows> rowsOf(const LoopShape &shape, const MxScalesOfRows &scales,
                                        const MxTiles &tiles) {
    if (const auto *prepared = std::get_if<PreparedMxTile>(&scales))
      return std::make_unique<MxRowsPrepared>(shape, *prepared, tiles);
    return std::make_unique<MxRowsAsMade>(shape, std::get<MxTile>(scales), tiles);
  }
  /// The instruction that takes the scales of its operands from these bytes.
  MmaAtom atomOf(int byteA, int byteB) const {
    const rocdl::MatrixProduct &product = shape().form.instruction;
    if (byteA == 0 && byteB == 0)
      return matrixAtom(shape().form);
    return make_mma_atom(rocdl::MFMAScale(product.m, product.n, product.k, product.a, product.b,
                                          product.acc, byteA, byteB));
  }
  /// A lane's bytes as what the instruction takes.
  static Tensor elements(const Tensor &fragment, DType type) {
    return type.memory_bits() < 8 ? fragment.recast(type) : fragment;
  }

  DType elementA_, elementB_;
  std::unique_ptr<MxRows> a_;
  std::vector<std::unique_ptr<MxRows>> b_; ///< of each half
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
