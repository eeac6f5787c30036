// Sums of products of the microscaling formats, in which each 32 elements of K of a row have a scale
// of 8 bits, a power of two. The matrix instruction multiplies by the scales itself; mx_rows.h has how
// they come to it.
#pragma once

#include "blocks/common/as_index.h"
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
  std::vector<MxScalesOfRows> b; ///< the scales of each half of B
  DType elementA, elementB;      ///< the types of the operands' elements
};

class MxSums final : public Sums {
public:
  /// `mma` is that of the sums; operands are fragments of one part.
  MxSums(const LoopShape &shape, const TiledMma &mma, const MxScales &scales)
      : Sums(shape, mma), elementA_(scales.elementA), elementB_(scales.elementB) {
    const ThreadPlace thread(shape);
    const Int32 waveM = thread.waveM(), waveN = thread.waveN();
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
  void fetch(const Int32 &step, int set, int parts, bool guarded) const override {
    a_->fetch(step, set, parts, guarded);
    for (const auto &half : b_)
      half->fetch(step, set, parts, guarded);
  }
  void add(int half, int set, int part, int parts, const Tensor &b,
           const Tensor &a) const override {
    std::vector<OwnScale> ofA;
    for (int i = 0; i < shape().tilesM(); ++i)
      ofA.push_back(a_->own(set, part, parts, i));
    for (int j = 0; j < shape().tilesOfHalf(); ++j) {
      const OwnScale ofB = b_[asIndex(half)]->own(set, part, parts, j);
      const Tensor operandB = elements(b(_, j, 0), elementB_); // (V)
      for (int i = 0; i < shape().tilesM(); ++i) {
        // The instruction's first operand is our B (operand.h).
        const MmaAtom atom = atomOf(ofB.byte, ofA[asIndex(i)].byte)
                                 .set_value("scale_a", ofB.word)
                                 .set_value("scale_b", ofA[asIndex(i)].word);
        const Tensor sums = fragment(half)(_, j, i);                                // (V)
        mma_atom_call(atom, sums, operandB, elements(a(_, i, 0), elementA_), sums); // (V)
      }
    }
  }

private:
  static std::unique_ptr<MxRows> rowsOf(const LoopShape &shape, const MxScalesOfRows &scales,
                                        const MxTiles &tiles) {
    if (const auto *prepared = std::get_if<PreparedMxTile>(&scales))
      return std::make_unique<MxRowsPrepared>(shape, *prepared, tiles);
    return std::make_unique<MxRowsAsMade>(shape, std::get<MxTile>(scales), tiles);
  }
  /// The instruction that takes the scales of its first and second operand from these bytes.
  MmaAtom atomOf(int firstByte, int secondByte) const {
    const rocdl::MatrixProduct &product = shape().form.instruction;
    if (firstByte == 0 && secondByte == 0)
      return matrixAtom(shape().form);
    return make_mma_atom(rocdl::MFMAScale(product.m, product.n, product.k, product.a, product.b,
                                          product.acc, firstByte, secondByte));
  }
  /// A lane's bytes as what the instruction takes.
  static Tensor elements(const Tensor &fragment, DType type) {
    return type.memory_bits() < 8 ? fragment.recast(type) : fragment;
  }

  DType elementA_, elementB_;
  std::unique_ptr<MxRows> a_;
  std::vector<std::unique_ptr<MxRows>> b_; ///< the scales of each half of B
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
