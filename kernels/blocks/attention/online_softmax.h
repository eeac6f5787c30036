// Softmax of scores that come tile by tile (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018): each row keeps a number near its largest score so far, and the sum of the
// exponentials relative to it. Where a tile has a larger score, what was summed before is scaled
// down, sums of others that were weighted by the exponentials too.
//
// Scaling is lazy: a row stays relative to an older score as long as no row of the wave has one
// above it by more than 2^8. Nothing is lost: numbers of floats are as exact 256 times as large.
// Floats of 8 bits have few exponents: see Headroom.
//
// Sums are of the probabilities as they are rounded for the product with the values, so that the
// weights of a row add up to 1, whichever way they were rounded.
#pragma once

#include "blocks/attention/scores.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The smallest number that rows are relative to. A score below counts as masked.
inline constexpr float kLeastScore = -0x1p100f;

/// Combines a number of all lanes that share a row.
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
  int start; ///< of the key that the row is relative to
  int lazy;  ///< how far a later key may be above it before the row is scaled

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
  Numeric inverse; ///< by which sums are multiplied: 1 over the sum; 0 if no key was seen
  Numeric lse;     ///< the base-2 logarithm of the sum of all powers; -infinity if no key was seen
};

/// The softmax of the rows that a wave works on; every lane that shares a row keeps the row's
/// numbers.
class OnlineSoftmax {
public:
  /// `factor`: from a score to its power of 2, positive. `rounded`: the type of
  /// probabilities. `addsUp`: whether it sums the probabilities; otherwise the
  /// caller does, and ends by finishWith.
  OnlineSoftmax(int rows, const Float32 &factor, DType rounded, OverRow overRow, bool addsUp = true)
      : factor_(factor), rounded_(rounded), headroom_(Headroom::of(rounded)),
        most_(static_cast<float>(headroom_.lazy) / factor), overRow_(std::move(overRow)),
        addsUp_(addsUp) {
    for (int row = 0; row < rows; ++row) {
      largest_.emplace_back(Float32(kLeastScore));
      sum_.emplace_back(Float32(0.0f));
    }
  }

  /// Takes a tile: the lane's scores of each row, in registers, -infinity where a key is masked.
  /// Gives their probabilities in the rounded type, as large as Headroom says. Calls `rescale`
  /// with a factor for each row where what was summed before is to be multiplied; the call stands
  /// in a branch of the wave.
  std::vector<Vector> add(const std::vector<Tensor> &scores,
                          const std::function<void(int row, const Numeric &factor)> &rescale) {
    std::vector<Numeric> now;
    for (std::size_t row = 0; row < scores.size(); ++row)
      now.push_back(max(largest_[row].get(), overRow_(largestOf(scores[row]), Reduction::max)));
    if_(grows(now), [&] {
      for (std::size_t row = 0; row < scores.size(); ++row) {
        const Numeric factor = powerOf2(Numeric((largest_[row] - now[row]) * factor_));
        if (addsUp_)
          sum_[row] *= factor;
        largest_[row] = now[row];
        rescale(static_cast<int>(row), factor);
      }
    });
    std::vector<Vector> probabilities;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const Numeric shift = -base(largest_[row]);
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
    return endOf(base(largest_[at]), overRow_(sum_[at], Reduction::add), sink);
  }

  /// The same where the caller has summed the row's probabilities.
  SoftmaxEnd finishWith(int row, const Numeric &sum, const std::optional<Numeric> &sink) const {
    return endOf(base(largest_[static_cast<std::size_t>(row)]), sum, sink);
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
  /// The power of 2 that a probability of 1 stands for, where a row is relative to a score.
  Numeric base(const Numeric &largest) const {
    const Numeric power = largest * factor_;
    return headroom_.start ? Numeric(power - static_cast<float>(headroom_.start)) : power;
  }
  static Numeric largestOf(const Tensor &scores) { return scores.load().reduce(Reduction::max); }
  /// Whether any row of the wave has a score too far above what it is relative to.
  Boolean grows(const std::vector<Numeric> &now) const {
    std::vector<Boolean> any{now[0] > largest_[0] + most_};
    for (std::size_t row = 1; row < now.size(); ++row)
      any.push_back(Boolean(any.back() | (now[row] > largest_[row] + most_)));
    return gpu::any_of_wave(any.back());
  }

  Float32 factor_;
  DType rounded_;
  Headroom headroom_;
  Float32 most_; ///< by which a score may be above the one that its row is relative to
  OverRow overRow_;
  bool addsUp_;
  std::vector<Var<Float32>> largest_, sum_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
