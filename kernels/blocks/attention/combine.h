// Attention of a row whose keys were shared among several blocks, or calls. Each left its own result,
// divided by its own sum, and the logarithm of that sum (SoftmaxEnd); the row's result is their
// mean, weighted by the sums. The order is always the same, so the result does not depend on which
// block comes first.
#pragma once

#include "blocks/attention/online_softmax.h"
#include "blocks/attention/row_result.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The results of the parts of a row. A part without keys has the logarithm -infinity.
struct RowParts {
  Int32 count;
  std::function<Numeric(const Int32 &part)> lse;   ///< the logarithm of its sum
  std::function<Vector(const Int32 &part)> values; ///< the thread's elements of its result, in f32
  int known = 0; ///< the count as a constant of the code; 0: it is not known there
  /// From the logarithms to those of base 2. Differences are taken first: they are exact where they
  /// are small.
  float toBase2 = 1;
};

/// Combines the parts in their order. `size`: elements of the thread. `sink`: see OnlineSoftmax; it
/// counts once, here.
inline CombinedRow combineParts(const RowParts &parts, std::int64_t size,
                                const std::optional<Numeric> &sink = {}) {
  const Var<Float32> largest(Float32{kLeastScore}), sum(Float32{0.0f});
  const Var<Vector> values(Vector::splat(0.0f, size, f32));
  // What is loaded of parts that are taken together is on its way at the same time.
  const auto toBase2 = [&parts](const Numeric &lse) {
    return parts.toBase2 == 1 ? lse : Numeric(lse * parts.toBase2);
  };
  const auto take = [&](const std::vector<Int32> &together) {
    std::vector<Numeric> lse;
    std::vector<Vector> own;
    for (const Int32 &part : together) {
      lse.push_back(parts.lse(part));
      own.push_back(parts.values(part));
    }
    for (std::size_t i = 0; i < together.size(); ++i) {
      const Numeric before = largest.get(), now = max(before, lse[i]);
      const Numeric old = powerOf2(toBase2(before - now)), more = powerOf2(toBase2(lse[i] - now));
      values = values * old + own[i] * more;
      sum = sum * old + more;
      largest = now;
    }
  };
  constexpr int kTogether = 8;
  const int whole = parts.known / kTogether * kTogether;
  const auto some = [](const Int32 &first, int count) {
    std::vector<Int32> together;
    for (int i = 0; i < count; ++i)
      together.push_back(first + i);
    return together;
  };
  if (!parts.known)
    for (Int32 part : range(parts.count))
      take({part});
  else if (whole)
    for (Int32 first : range(Int32(0), Int32(whole), kTogether))
      take(some(first, kTogether));
  if (parts.known > whole)
    take(some(Int32(whole), parts.known - whole));
  const SoftmaxEnd end = OnlineSoftmax::endOf(toBase2(largest), sum, sink);
  return {values * end.inverse, end.lse};
}

/// A row with a sink, which a row of all keys, or of all their parts, has once.
inline CombinedRow withSink(const CombinedRow &row, const Numeric &sink) {
  const Boolean none = row.lse == -std::numeric_limits<float>::infinity();
  const SoftmaxEnd end = OnlineSoftmax::endOf(max(row.lse, Float32{kLeastScore}),
                                              select(none, Float32{0.0f}, Float32{1.0f}), sink);
  return {row.values * end.inverse, end.lse};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
