// Products of 16 x 16 elements by one wave, whose lanes load the operands themselves.
//
// A lane holds, of the row `row()` of either operand, pieces of neighbouring elements of K: piece i
// starts at `element(i)`. Any order of K is right if both operands have the same one. Of the result
// a lane has the column `row()`, and the rows `sumRow(v)`.
#pragma once

#include "blocks/products/operand.h"

#include <flydsl/flydsl.h>

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The lane of a wave as products of 16 x 16 see it.
class ProductLane {
public:
  /// `piece`: elements of a piece, a multiple of what a lane has for an instruction. `lane`: the
  /// number of the lane.
  ProductLane(const MatrixForm &form, int piece, const Int32 &lane)
      : form_(form), piece_(piece), lane_(lane), row_(lane_ % 16), group_(lane_ / 16) {}
  ProductLane(const MatrixForm &form, int piece)
      : ProductLane(form, piece, Int32(thread_idx().x % form.lanes)) {}

  const MatrixForm &form() const { return form_; }
  const Int32 &lane() const { return lane_; }
  /// The row of each operand that the lane holds, and its column of the result.
  const Int32 &row() const { return row_; }
  /// The lane's number among those of its row.
  const Int32 &group() const { return group_; }
  /// Lanes of a row.
  int groups() const { return form_.lanes / 16; }

  /// The elements of a piece.
  int piece() const { return piece_; }
  /// The pieces that a lane holds of a row of so many elements.
  int pieces(int elements) const { return elements / (piece_ * form_.across); }
  /// The first element of a piece: that of the first piece, and its distance.
  Int32 element(int i) const {
    const Int32 start = form_.replicated() ? Int32(0) : Int32(group_ * piece_);
    return start + pieceAt(i);
  }
  int pieceAt(int i) const { return i * piece_ * form_.across; }
  /// The lane's pieces of a row (elements) of an operand: (piece, pieces).
  Tensor partition(const Tensor &row) const {
    const int count = pieces(size(row).value());
    const Tensor all =
        composition(row, make_layout({piece_, form_.across, count})); // (piece, across, pieces)
    return all(_, form_.replicated() ? Int32(0) : group_, _);         // (piece, pieces)
  }

  /// Values of the result that a lane has.
  int sums() const { return form_.sums(); }
  /// Whether they lie in neighbouring rows.
  bool neighbours() const { return !form_.interleaved(); }
  /// The row of the result to which the lane's value v belongs.
  Int32 sumRow(int v) const {
    return neighbours() ? Int32(group_ * sums() + v) : Int32(group_ + 2 * v);
  }
  /// Combines the values of the lanes that share a column of the result; all of them get it.
  template <class F> Numeric overGroups(const Numeric &own, F combine) const {
    const Var<Numeric> all(own);
    for (int distance = 16; distance < form_.lanes; distance *= 2)
      all = combine(all.get(), gpu::shuffle_xor(all.get(), distance));
    return all.get();
  }

private:
  MatrixForm form_;
  int piece_;
  Int32 lane_, row_, group_;
};

/// Adds products of 16 x 16 to sums. Any order of K is right, so that a longer instruction of the same
/// layouts takes what there is enough of (f8f6f4 on gfx950, of twice the rate).
class WaveProduct {
public:
  explicit WaveProduct(const MatrixForm &form) : form_(form), atom_(unscaledAtom(form)) {
    for (const MatrixForm &other : matrixForms(form.instruction.target, form.a, form.b))
      if (form.accumulates() && other.k > form.k && other.across == form.across &&
          other.sumRun == form.sumRun && !longer_) {
        longer_.emplace(other);
        longerAtom_.emplace(unscaledAtom(other));
      }
  }

  /// Registers for the sums of 16 x 16, which are 0.
  Tensor zeros() const {
    const Tensor sums = make_rmem_tensor(IntTuple(form_.sums()), form_.acc); // (V)
    sums.fill(0);
    return sums;
  }
  /// The elements of a lane that are worth giving together.
  int together() const { return longer_ ? longer_->perLane() : form_.perLane(); }
  /// sums += first second^T over the elements of a piece; each vector has those of a lane.
  /// `first` has the type form.b, `second` form.a.
  void add(const Tensor &sums, const Vector &first, const Vector &second) const {
    const int count = static_cast<int>(first.size());
    const int longs = longer_ ? count / longer_->perLane() : 0;
    if (longs)
      multiply(*longerAtom_, longer_->perLane(), 0, longs, sums, first, second);
    const int done = longs ? longs * longer_->perLane() : 0;
    multiply(atom_, form_.perLane(), done / form_.perLane(), count / form_.perLane(), sums, first,
             second);
  }

private:
  /// The products number `begin` to `end` of `each` elements.
  static void multiply(const MmaAtom &atom, int each, int begin, int end, const Tensor &sums,
                       const Vector &first, const Vector &second) {
    const Tensor a = held(first, each), b = held(second, each); // (each, products)
    for (int i = begin; i < end; ++i)
      mma_atom_call(atom, sums, a(_, i), b(_, i), sums); // (each)
  }
  /// (each, products), of as many as are whole.
  static Tensor held(const Vector &values, int each) {
    const int count = static_cast<int>(values.size());
    const Tensor registers = make_rmem_tensor(IntTuple(count), values.dtype()); // (count)
    registers.store(values);
    return make_view(registers.iter(),
                     make_layout({each, count / each}, {1, each})); // (each, products)
  }
  MatrixForm form_;
  MmaAtom atom_;
  std::optional<MatrixForm> longer_;
  std::optional<MmaAtom> longerAtom_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
