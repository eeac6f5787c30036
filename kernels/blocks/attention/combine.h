// Attention of a row whose keys were shared among several blocks, or calls. Each left its own result,
// divided by its own sum, and the logarithm of that sum (SoftmaxEnd); the row's result is their
// mean, weighted by the sums. The order is always the same, so the result does not depend on which
// block comes first.
#pragma once

#include "blocks/attention/online_softmax.h"
#include "blocks/attention/row_result.h"

#include <limits>
#include <optional>
#include <vector>

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

/// The parts that are taken together: what is loaded of them is on its way at the same time, and their weights do
/// not wait for one another. Where the code does not know the count, fewer are taken together.
inline constexpr int kPartsTogether = 16, kUnknownTogether = 4;

/// What is known of a row after some of its parts: sums of powers and of values, relative to the largest
/// logarithm so far.
struct PartSums {
  Numeric largest, sum;
  Vector values;
};

/// Some neighbours among the parts of a row, loaded.
struct LoadedParts {
  std::vector<Numeric> lse;
  std::vector<Vector> values;

  /// Parts `first` to first + count - 1.
  static LoadedParts of(const RowParts &parts, const Int32 &first, int count) {
    LoadedParts loaded;
    for (int i = 0; i < count; ++i)
      loaded.lse.push_back(parts.lse(first + i));
    for (int i = 0; i < count; ++i)
      loaded.values.push_back(parts.values(first + i));
    return loaded;
  }
  /// The same where there may be fewer: parts after the last one are the last one again, with a weight of 0.
  static LoadedParts upTo(const RowParts &parts, const Int32 &first, int count) {
    LoadedParts loaded;
    for (int i = 0; i < count; ++i) {
      const Int32 part = first + i, known = min(part, parts.count - 1);
      const Vector own = parts.values(known);
      loaded.lse.push_back(select(Boolean(part < parts.count), parts.lse(known),
                                  -std::numeric_limits<float>::infinity()));
      loaded.values.push_back(select(Vector::splat(part, own.size()) < parts.count, own,
                                     Vector::splat(0.0f, own.size(), f32)));
    }
    return loaded;
  }
  /// The sums with these parts, after those of the parts `before`.
  PartSums addedTo(const std::optional<PartSums> &before, const RowParts &parts) const {
    const auto power = [&parts](const Numeric &difference) {
      return powerOf2(parts.toBase2 == 1 ? difference : Numeric(difference * parts.toBase2));
    };
    std::vector<Numeric> largest{before ? before->largest : Float32{kLeastScore}};
    for (const Numeric &each : lse)
      largest.push_back(max(largest.back(), each));
    const Numeric &now = largest.back();
    std::vector<PartSums> sums;
    if (before) {
      const Numeric old = power(before->largest - now);
      sums.push_back({now, before->sum * old, before->values * old});
    }
    for (std::size_t i = 0; i < lse.size(); ++i) {
      const Numeric weight = power(lse[i] - now);
      const Vector own = values[i] * weight;
      sums.push_back(sums.empty()
                         ? PartSums{now, weight, own}
                         : PartSums{now, sums.back().sum + weight, sums.back().values + own});
    }
    return sums.back();
  }
};

/// Combines the parts in their order. `size`: elements of the thread. `sink`: see OnlineSoftmax; it
/// counts once, here.
inline CombinedRow combineParts(const RowParts &parts, std::int64_t size,
                                const std::optional<Numeric> &sink = {}) {
  const auto rowOf = [&](const PartSums &sums) -> CombinedRow {
    const Numeric largest =
        parts.toBase2 == 1 ? sums.largest : Numeric(sums.largest * parts.toBase2);
    const SoftmaxEnd end = OnlineSoftmax::endOf(largest, sums.sum, sink);
    return {sums.values * end.inverse, end.lse};
  };
  const int whole = parts.known / kPartsTogether * kPartsTogether;
  if (parts.known && parts.known <= kPartsTogether)
    return rowOf(LoadedParts::of(parts, Int32(0), parts.known).addedTo(std::nullopt, parts));

  const Var<Float32> largest(Float32{kLeastScore}), sum(Float32{0.0f});
  const Var<Vector> values(Vector::splat(0.0f, size, f32));
  const auto soFar = [&] { return PartSums{largest.get(), sum.get(), values.get()}; };
  const auto add = [&](const LoadedParts &loaded) {
    const PartSums now = loaded.addedTo(soFar(), parts);
    largest = now.largest;
    sum = now.sum;
    values = now.values;
  };
  if (!parts.known) {
    for (Int32 first : range(Int32(0), parts.count, kUnknownTogether))
      add(LoadedParts::upTo(parts, first, kUnknownTogether));
    return rowOf(soFar());
  }
  for (Int32 first : range(Int32(0), Int32(whole), kPartsTogether))
    add(LoadedParts::of(parts, first, kPartsTogether));
  if (parts.known > whole)
    add(LoadedParts::of(parts, Int32(whole), parts.known - whole));
  return rowOf(soFar());
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
