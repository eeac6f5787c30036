// Where the result of a row of attention is: in the caller's operands, or in the workspace, where each
// part of the keys leaves its own.
#pragma once

#include "blocks/attention/scores.h"

#include <flydsl/flydsl.h>

#include <functional>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A thread's part of a row's result.
struct CombinedRow {
  Vector values; ///< neighbours, in f32
  Numeric lse;   ///< the logarithm of the sum of the row's powers, base 2
};

struct RowResult {
  Tensor values;                  ///< (value), in the type to which they are rounded
  std::optional<Tensor> lse = {}; ///< (1); none: it is not asked for
  /// Whether the logarithm has the base e, as callers get it. Parts have the base 2, by which they are combined.
  bool natural = false;
  /// What becomes of a run, in f32, from element `element` on, before it is rounded; none: it stays.
  std::function<Vector(const Vector &run, const Int32 &element)> stage = nullptr;

  /// Run `number` of `length` neighbours.
  Tensor run(int length, const Int32 &number) const {
    return logical_divide(values, length)(_, number); // (length)
  }
  void storeRun(int length, const Int32 &number, const Vector &numbers) const {
    const Vector staged = stage ? stage(numbers, Int32(number * length)) : numbers;
    run(length, number).store(staged.to(values.dtype()));
  }
  /// `owns`: whether the thread is the one of the row's threads that writes it.
  void storeLse(const Boolean &owns, const Numeric &base2) const {
    if (lse)
      if_(owns, [&] { (*lse)(0) = natural ? Numeric(base2 * kToNatural) : base2; });
  }
  /// Writes run `number`, with the first of them the logarithm; `withLse`: unless the caller knows that
  /// it is not among them.
  void store(int length, const Int32 &number, const CombinedRow &found, bool withLse = true) const {
    storeRun(length, number, found.values);
    if (withLse)
      storeLse(Boolean(number == 0), found.lse);
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
