// Attention of a row whose keys were shared among several blocks. Each left its own result, divided
// by its own sum, and the base-2 logarithm of that sum (SoftmaxEnd); the row's result is their mean,
// weighted by the sums. The order is always the same, so the result does not depend on which block
// comes first.
#pragma once

#include "blocks/online_softmax.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The results of the parts of a row. A part without keys has the logarithm -infinity.
struct RowParts {
  Int32 count;
  std::function<Numeric(const Int32 &part)> lse;   ///< the logarithm of its sum
  std::function<Vector(const Int32 &part)> values; ///< the thread's elements of its result, in f32
};

struct CombinedRow {
  Vector values;
  Numeric lse; ///< base 2
};

/// Combines the parts in their order. `size`: elements of the thread. `sink`: see OnlineSoftmax; it
/// counts once, here.
inline CombinedRow combineParts(const RowParts &parts, std::int64_t size,
                                const std::optional<Numeric> &sink = {}) {
  const Var<Float32> largest(Float32{kLeastScore}), sum(Float32{0.0f});
  const Var<Vector> values(Vector::splat(0.0f, size, f32));
  for (Int32 part : range(parts.count)) {
    const Numeric lse = parts.lse(part), before = largest.get(), now = max(before, lse);
    const Numeric old = powerOf2(Numeric(before - now)), own = powerOf2(Numeric(lse - now));
    values = values * old + parts.values(part) * own;
    sum = sum * old + own;
    largest = now;
  }
  const SoftmaxEnd end = OnlineSoftmax::endOf(largest, sum, sink);
  return {values * end.inverse, end.lse};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
