// Softmax of scores whose probabilities meet scales of their keys' values before they are rounded to
// the type of the products with the values, which may have no room for a scale afterwards.
//
// A row's powers are relative to a score near its largest one, as in online_softmax.h, and their sum
// has no scales. What is rounded is a power times the scale of its value, sign included, relative to
// the row's largest magnitude of these: what is lost is small next to what counts. Both are lazy, and both
// maxima of a tile are looked for by the powers that the row is relative to already, so that one
// exponential is all that a score takes. Where a row grows, the tile's powers are computed again.
//
// No power is above 1, so that its product with a scale is at most the scale: any finite scale will
// do. The inverse of what a row is relative to is exact as long as no scale of it is above 2^126.
#pragma once

#include "blocks/attention/online_softmax.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The softmax of the rows that a wave works on; every lane that shares a row keeps the row's
/// numbers.
class WeighedSoftmax {
public:
  /// See OnlineSoftmax. `rounded`: the type of what `add` gives.
  WeighedSoftmax(int rows, const Float32 &factor, DType rounded, OverRow overRow)
      : factor_(factor), rounded_(rounded), headroom_(Headroom::of(rounded)),
        most_(kLazyPowers / factor), overRow_(std::move(overRow)) {
    for (int row = 0; row < rows; ++row) {
      largest_.emplace_back(Float32(kLeastScore));
      sum_.emplace_back(Float32(0.0f));
      reach_.emplace_back(Float32(kLeastReach));
      inverse_.emplace_back(Float32(0.0f));
    }
  }

  /// Takes a tile: the lane's scores of each row, -infinity where a key is masked, and the scales of the
  /// values of the lane's keys. Gives the products of probabilities and scales in the rounded type, as
  /// large as Headroom says. `rescale`: see OnlineSoftmax::add.
  std::vector<Vector> add(const std::vector<Tensor> &scores, const Vector &scales,
                          const std::function<void(int row, const Numeric &factor)> &rescale) {
    std::vector<Numeric> now;
    std::vector<Var<Vector>> weights;
    std::vector<Var<Float32>> sums;
    std::vector<Boolean> grows;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const Vector powers = powersOf(scores[row], row);
      weights.emplace_back(powers * scales);
      sums.emplace_back(powers.reduce(Reduction::add).to(f32));
      now.push_back(max(largest_[row].get(),
                        overRow_(scores[row].load().reduce(Reduction::max), Reduction::max)));
      const Boolean own((now[row] > largest_[row] + most_) |
                        (reachOf(weights[row]) > reach_[row] * powerOf(headroom_.lazy)));
      grows.push_back(grows.empty() ? own : Boolean(grows.back() | own));
    }
    if_(gpu::any_of_wave(grows.back()), [&] {
      for (std::size_t row = 0; row < scores.size(); ++row) {
        const Numeric factor = powerOf2(Numeric((largest_[row] - now[row]) * factor_));
        largest_[row] = now[row];
        const Vector powers = powersOf(scores[row], row);
        weights[row] = powers * scales;
        sums[row] = powers.reduce(Reduction::add);
        sum_[row] *= factor;
        const Numeric before = reach_[row] * factor,
                      reach = max(max(before, kLeastReach), reachOf(weights[row]));
        rescale(static_cast<int>(row), before / reach);
        reach_[row] = reach;
        inverse_[row] = powerOf(headroom_.start) / reach;
      }
    });
    std::vector<Vector> rounded;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      sum_[row] += sums[row];
      rounded.push_back((weights[row].get() * inverse_[row].get()).to(rounded_));
    }
    return rounded;
  }

  /// The end of a row, see OnlineSoftmax::finish.
  SoftmaxEnd finish(int row, const std::optional<Numeric> &sink = {}) const {
    const std::size_t at = static_cast<std::size_t>(row);
    const SoftmaxEnd end =
        OnlineSoftmax::endOf(-shiftOf(at), overRow_(sum_[at], Reduction::add), sink);
    return {end.inverse * (reach_[at] * powerOf(-headroom_.start)), end.lse};
  }

private:
  /// How far a score may be above the one that its row is relative to, as a power of 2. That one's power
  /// is as far below 1.
  static constexpr float kLazyPowers = 8;
  /// The least magnitude that a row's products of powers and scales are relative to; its inverse, times
  /// any headroom, is a float.
  static constexpr float kLeastReach = 0x1p-118f;

  static float powerOf(int exponent) { return std::ldexp(1.0f, exponent); }
  Vector powersOf(const Tensor &scores, std::size_t row) const {
    return powerOf2(math::fma(scores.load(), factor_, shiftOf(row)));
  }
  /// What is added to the power of 2 of a row's score.
  Numeric shiftOf(std::size_t row) const {
    return math::fma(largest_[row].get(), -factor_, -kLazyPowers);
  }
  /// The largest magnitude of a row's products.
  Numeric reachOf(const Vector &weights) const {
    return overRow_(math::abs(weights).reduce(Reduction::max), Reduction::max);
  }

  Float32 factor_;
  DType rounded_;
  Headroom headroom_;
  Float32 most_;
  OverRow overRow_;
  std::vector<Var<Float32>> largest_, sum_;
  std::vector<Var<Float32>>
      reach_; ///< the magnitude that products of powers and scales are relative to
  std::vector<Var<Float32>> inverse_; ///< by which they are multiplied
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
