// Softmax of scores that come tile by tile (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018): each row keeps a reference, a number near its largest score so far, and the sum
// of the exponentials relative to it. If a tile has a larger score, the sums so far are scaled down:
// this sum, and the caller's sums of values.
//
// Scaling is lazy: a row keeps an older score as its reference as long as no row of the wave has a score
// above its reference by more than a tolerance, a factor of 2^8. Nothing is lost: floats are as exact at
// 256 times the size. Floats of 8 bits have few exponents: see Headroom.
//
// Sums are of the probabilities as they are rounded for the product with the values, so that the
// probabilities of a row add up to 1, whichever way they were rounded.
#pragma once

#include "blocks/attention/scores.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The smallest reference of a row. A score below it counts as masked.
inline constexpr float kLeastScore = -0x1p100f;

/// Combines the numbers of all lanes that share a row.
using OverRow = std::function<Numeric(const Numeric &value, Reduction op)>;

/// Lanes share a row whose numbers in the wave differ by a multiple of `stride`.
inline OverRow overLanes(int stride) {
  return [stride](const Numeric &value, Reduction op) {
    std::vector<Numeric> all{value};
    for (int step = stride; step < gpu::num_warp_threads(); step *= 2) {
      const Numeric other = gpu::shuffle_xor(all.back(), step);
      all.push_back(op == Reduction::max ? max(all.back(), other) : Numeric(all.back() + other));
    }
    return all.back();
  };
}

/// 2 to the power of x by the hardware's instruction, whose results below 2^-126 are 0.
template <class X> X powerOf2(const X &x) {
  const FastMathScope approximate(FastMath::afn);
  return math::exp2(x);
}

/// How large the probabilities of a row are in the type to which they are rounded, as powers of 2.
struct Headroom {
  int start; ///< the probability of a score that is the row's reference
  int lazy;  ///< how far a later score may be above the reference before the row is scaled

  /// Types of 16 bits have exponents enough. For those of 8 bits both together stay below the
  /// largest number, 448 of f8E4M3FN and 240 of f8E4M3FNUZ, and the probabilities of other keys lie
  /// as far above the smallest, 2^-9 and 2^-10, as the lazy part lets them.
  static Headroom of(DType type) {
    if (type == f8E4M3FN)
      return {5, 3};
    if (type == f8E4M3FNUZ)
      return {4, 3};
    return {0, 8};
  }
};

/// What is left of a row at the end.
struct SoftmaxEnd {
  Numeric inverse; ///< the factor of the caller's sums: 1 over the sum; 0 if no key was seen
  Numeric lse;     ///< the base-2 logarithm of the sum of all powers; -infinity if no key was seen
};

/// The softmax of the rows that a wave works on; every lane that shares a row keeps the row's
/// numbers.
class OnlineSoftmax {
public:
  /// `factor`: from a score to its power of 2, positive. `rounded`: the type of probabilities. `addsUp`:
  /// whether it sums the probabilities; otherwise the caller sums them and ends by finishWith.
  OnlineSoftmax(int rows, const Float32 &factor, DType rounded, OverRow overRow, bool addsUp = true)
      : factor_(factor), rounded_(rounded), headroom_(Headroom::of(rounded)),
        tolerance_(static_cast<float>(headroom_.lazy) / factor), overRow_(std::move(overRow)),
        addsUp_(addsUp) {
    for (int row = 0; row < rows; ++row) {
      reference_.emplace_back(Float32(kLeastScore));
      sum_.emplace_back(Float32(0.0f));
    }
  }

  /// Takes a tile: the lane's scores of each row, in registers, -infinity where a key is masked.
  /// Gives their probabilities in the rounded type, as large as Headroom says. If a row passes its tolerance,
  /// calls `rescale` with a factor for each row, by which the caller multiplies its sums; the call stands in a
  /// branch of the wave.
  std::vector<Vector> add(const std::vector<Tensor> &scores,
                          const std::function<void(int row, const Numeric &factor)> &rescale) {
    std::vector<Numeric> largest;
    for (std::size_t row = 0; row < scores.size(); ++row)
      largest.push_back(
          max(reference_[row].get(), overRow_(largestOf(scores[row]), Reduction::max)));
    if_(passesTolerance(largest), [&] {
      for (std::size_t row = 0; row < scores.size(); ++row) {
        const Numeric factor = powerOf2(Numeric((reference_[row] - largest[row]) * factor_));
        if (addsUp_)
          sum_[row] *= factor;
        reference_[row] = largest[row];
        rescale(static_cast<int>(row), factor);
      }
    });
    std::vector<Vector> probabilities;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const Numeric shift = -base(reference_[row]);
      const Vector powers = powerOf2(math::fma(scores[row].load(), factor_, shift));
      probabilities.push_back(powers.to(rounded_));
      if (addsUp_)
        sum_[row] += probabilities.back().to(f32).reduce(Reduction::add);
    }
    return probabilities;
  }

  /// The end of a row. `sink`: a score, times log2(e), that takes part in the sum and has no value.
  SoftmaxEnd finish(int row, const std::optional<Numeric> &sink = {}) const {
    const std::size_t at = static_cast<std::size_t>(row);
    return endOf(base(reference_[at]), overRow_(sum_[at], Reduction::add), sink);
  }

  /// The end of a row whose probabilities the caller has summed.
  SoftmaxEnd finishWith(int row, const Numeric &sum, const std::optional<Numeric> &sink) const {
    return endOf(base(reference_[static_cast<std::size_t>(row)]), sum, sink);
  }

  /// The end of a row whose powers, relative to `largest`, add up to `sum`.
  static SoftmaxEnd endOf(const Numeric &largest, const Numeric &sum,
                          const std::optional<Numeric> &sink) {
    if (!sink) {
      const Boolean none = sum == 0.0f;
      return {select(none, 0.0f, 1.0f / sum),
              select(none, -std::numeric_limits<float>::infinity(), largest + math::log2(sum))};
    }
    const Numeric top = max(largest, *sink), scaled = powerOf2(Numeric(largest - top)),
                  all = sum * scaled + powerOf2(Numeric(*sink - top));
    // A sink of -infinity and no key leave nothing.
    return {select(Boolean(all == 0.0f), 0.0f, scaled / all), top + math::log2(all)};
  }

private:
  /// The power of 2 for which a probability of 1 stands in a row with this reference.
  Numeric base(const Numeric &reference) const {
    const Numeric power = reference * factor_;
    return headroom_.start ? Numeric(power - static_cast<float>(headroom_.start)) : power;
  }
  static Numeric largestOf(const Tensor &scores) { return scores.load().reduce(Reduction::max); }
  /// Whether any row of the wave has a score too far above its reference.
  Boolean passesTolerance(const std::vector<Numeric> &largest) const {
    std::vector<Boolean> any{largest[0] > reference_[0] + tolerance_};
    for (std::size_t row = 1; row < largest.size(); ++row)
      any.push_back(Boolean(any.back() | (largest[row] > reference_[row] + tolerance_)));
    return gpu::any_of_wave(any.back());
  }

  Float32 factor_;
  DType rounded_;
  Headroom headroom_;
  Float32 tolerance_; ///< how far a score may be above the reference of its row
  OverRow overRow_;
  bool addsUp_;
  std::vector<Var<Float32>> reference_, sum_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
