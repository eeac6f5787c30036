// The traced body of a chain. A thread has one access of up to 16 bytes of one row, whatever the
// operands are: rows are short and many as often as long and few, so threads are counted over all
// accesses of all rows.
#pragma once

#include "blocks/common/where.h"
#include "blocks/quant/quant.h"
#include "elementwise/elementwise_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The traced body.
class ChainBody {
public:
  ChainBody(const ElementwiseChain &chain, const ElementwiseProblem &problem)
      : chain_(chain), problem_(problem), access_(accessOf(problem)) {}

  void operator()(const ChainParams<OnDevice> &p) const {
    const auto ofRow = static_cast<std::int32_t>(problem_.n / access_);
    // A launch has fewer than 2^31 threads, and its last block ends below 2^32.
    const Numeric thread = (block_idx().x * kChainBlock + thread_idx().x).to(u32),
                  row = thread / UInt32(ofRow), column = thread % UInt32(ofRow);
    if (!problem_.rows)
      return ofRows(p, p.m, row, column);
    const Int32 there(
        max(min(gpu::uniform(Int32(p.count.view(i32, 1)(0))), p.m), 0).to(i32)); // (1)
    // Blocks whose first row is not there have none.
    if_((block_idx().x * kChainBlock).to(u32) / UInt32(ofRow) < there.to(u32),
        [&] { ofRows(p, there, row, column); });
  }

private:
  /// The element of a thread, if its row is one of the first `rows`.
  void ofRows(const ChainParams<OnDevice> &p, const Int32 &rows, const Numeric &row,
              const Numeric &column) const {
    const Boolean isInside(row < rows.to(u32));
    // Threads of a group reduce together, so those past the last row stay, and store nothing.
    if (std::ranges::any_of(problem_.y, [](const ChainOutput &y) { return y.group > 0; }))
      element(p, select(isInside, row, (rows - 1).to(u32)).to(i32), column.to(i32), isInside);
    else
      if_(isInside, [&] { element(p, row.to(i32), column.to(i32), std::nullopt); });
  }
  void element(const ChainParams<OnDevice> &p, const Int32 &row, const Int32 &column,
               const std::optional<Boolean> &isInside) const {
    const std::optional<Numeric> id =
        gathers(problem_) ? std::optional(number(p.ids, p.m, row)) : std::nullopt;
    std::vector<Vector> x;
    for (std::size_t i = 0; i < problem_.x.size(); ++i)
      x.push_back(input(p, i, row, column, id).to(f32));
    const std::vector<Vector> y = resultsOf(x);
    const Numeric rowOfY = problem_.scatter ? number(p.to, p.m, row) : Numeric(row);
    const std::optional<Boolean> known =
        problem_.scatter ? std::optional(isBelow(rowOfY, p.rowsOfY)) : std::nullopt;
    const std::optional<Boolean> stores = known && isInside
                                              ? std::optional<Boolean>(*known & *isInside)
                                          : known ? known
                                                  : isInside;
    std::vector<Vector> results;
    std::vector<std::optional<Numeric>> scales;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto [result, scale] = written(problem_.y[i], y[i]);
      results.push_back(result);
      scales.push_back(scale);
    }
    where(stores, [&] {
      for (std::size_t i = 0; i < y.size(); ++i)
        place(p, i, rowOfY, column).store(results[i]);
      for (std::size_t i = 0; i < y.size(); ++i)
        if (scales[i]) {
          const int lanes = lanesOf(problem_.y[i]);
          if_(column % lanes == 0, [&] { scalesOf(p, i)(rowOfY, column / lanes) = *scales[i]; });
        }
    });
  }
  /// What the chain gives. A lambda may return vectors of any size and type.
  std::vector<Vector> resultsOf(const std::vector<Vector> &x) const {
    std::vector<Vector> results;
    for (const Vector &result : chain_(x)) {
      if (result.size() != access_)
        throw Error("elementwise: " + chain_.name() + ": result " + std::to_string(results.size()) +
                    " has " + std::to_string(result.size()) + " elements where the operands have " +
                    std::to_string(access_) + "; a chain computes each element from its own");
      results.push_back(result.to(f32));
    }
    return results;
  }
  /// The threads of a group.
  int lanesOf(const ChainOutput &y) const { return y.group / access_; }
  Tensor scalesOf(const ChainParams<OnDevice> &p, std::size_t i) const {
    const ChainOutput &y = problem_.y[i];
    return p.scales[i].view(writtenScale(y.scale),
                            {p.rowsOfY, problem_.n / y.group}); // (rows, groups)
  }
  /// A result as it is written, and the scale of its group if it has one. All threads of a group take
  /// part: those of a row are there or are not together.
  std::pair<Vector, std::optional<Numeric>> written(const ChainOutput &output,
                                                    const Vector &values) const {
    if (!output.group)
      return {values.to(output.type), std::nullopt};
    const QuantisedGroup group = quantisedGroup(
        values, lanesOf(output), {output.group, output.scale, output.block}, output.type);
    return {group.values, group.scale};
  }
  /// A row's number in another operand, of the type problem.index.
  Numeric number(const Strided<OnDevice, 0> &of, const Int32 &m, const Int32 &row) const {
    return of.view(problem_.index, m)(row); // (m)
  }
  static Boolean isBelow(const Numeric &number, const Int64 &rows) {
    return (number >= 0) & (number < rows);
  }
  Vector input(const ChainParams<OnDevice> &p, std::size_t i, const Int32 &row, const Int32 &column,
               const std::optional<Numeric> &id) const {
    const auto [type, operand] = problem_.x[i];
    const Strided<OnDevice, 1> &x = p.x[i];
    const Strided<OnDevice, 0> vector{.address = x.address, .stride = {}};
    switch (operand) {
    case ChainOperand::matrix:
      return access(matrix(x, type, p.m)(row, _), column).load(); // (access)
    case ChainOperand::row:
      return access(vector.view(type, problem_.n, access_ * type.bytes()), column)
          .load(); // (access)
    case ChainOperand::column:
      return Vector::splat(x.view(type, {p.m, 1})(row, 0), access_); // (m, 1)
    case ChainOperand::number:
      return Vector::splat(vector.view(type, 1)(0), access_); // (1)
    case ChainOperand::gathered:
      return if_(
          isBelow(*id, p.rows[i]),
          [&] { return access(matrix(x, type, p.rows[i])(*id, _), column).load(); }, // (access)
          [&] { return Vector::splat(0, access_, type); });
    }
    throw Error("an operand of no kind");
  }
  /// (rows, N)
  Tensor matrix(const Strided<OnDevice, 1> &operand, DType type, const Numeric &rows) const {
    return operand.view(type, {rows, problem_.n}, access_ * type.bytes()); // (rows, n)
  }
  /// Where a thread writes result i: (access), or (access / 2) bytes of elements that share them.
  Tensor place(const ChainParams<OnDevice> &p, std::size_t i, const Numeric &row,
               const Int32 &column) const {
    const RowShape shape{problem_.n, access_};
    const Tensor y = rowsOf(p.y[i], problem_.y[i].type, p.rowsOfY, shape)(row, _); // (N)
    const std::int64_t extent = size(y).value(), each = access_ * extent / problem_.n;
    return composition(y, make_layout({each, extent / each}, {1, each}))(_, column); // (each)
  }
  /// One access of a row (N): (access)
  Tensor access(const Tensor &row, const Int32 &column) const {
    return composition(row, make_layout({access_, problem_.n / access_}, {1, access_}))(
        _, column); // (access)
  }

  const ElementwiseChain &chain_;
  const ElementwiseProblem &problem_;
  int access_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
