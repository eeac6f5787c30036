// Softmax of scores whose probabilities are multiplied by the scales of their keys' values (KvScales::token)
// before they are rounded to the type of the products with the values: that type may have no room for a scale
// afterwards.
//
// A row's powers are relative to its reference, a score near the largest one, as in online_softmax.h. Their
// sum has no scales. The rounded numbers are powers times the scales of values, signs included, relative to
// the row's largest magnitude of these (its reach): what is lost is small next to what counts. Reference and
// reach are lazy both. Both maxima of a tile are found by powers of the present reference, so that a score
// takes one exponential. If a row passes a tolerance, the tile's powers are computed again.
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
class ValueScaledSoftmax {
public:
  /// See OnlineSoftmax. `rounded`: the type of what `add` gives.
  ValueScaledSoftmax(int rows, const Float32 &factor, DType rounded, OverRow overRow)
      : factor_(factor), rounded_(rounded), headroom_(Headroom::of(rounded)),
        tolerance_(kLazyPowers / factor), overRow_(std::move(overRow)) {
    for (int row = 0; row < rows; ++row) {
      reference_.emplace_back(Float32(kLeastScore));
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
    std::vector<Numeric> largest;
    std::vector<Var<Vector>> scaled;
    std::vector<Var<Float32>> sums;
    std::vector<Boolean> passes;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const Vector powers = powersOf(scores[row], row);
      scaled.emplace_back(powers * scales);
      sums.emplace_back(powers.reduce(Reduction::add).to(f32));
      largest.push_back(max(reference_[row].get(),
                            overRow_(scores[row].load().reduce(Reduction::max), Reduction::max)));
      const Boolean own((largest[row] > reference_[row] + tolerance_) |
                        (reachOf(scaled[row]) > reach_[row] * powerOf(headroom_.lazy)));
      passes.push_back(passes.empty() ? own : Boolean(passes.back() | own));
    }
    if_(gpu::any_of_wave(passes.back()), [&] {
      for (std::size_t row = 0; row < scores.size(); ++row) {
        const Numeric factor = powerOf2(Numeric((reference_[row] - largest[row]) * factor_));
        reference_[row] = largest[row];
        const Vector powers = powersOf(scores[row], row);
        scaled[row] = powers * scales;
        sums[row] = powers.reduce(Reduction::add);
        sum_[row] *= factor;
        const Numeric before = reach_[row] * factor,
                      reach = max(max(before, kLeastReach), reachOf(scaled[row]));
        rescale(static_cast<int>(row), before / reach);
        reach_[row] = reach;
        inverse_[row] = powerOf(headroom_.start) / reach;
      }
    });
    std::vector<Vector> rounded;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      sum_[row] += sums[row];
      rounded.push_back((scaled[row].get() * inverse_[row].get()).to(rounded_));
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
  /// How far a score may be above its row's reference, as a power of 2. The reference's own power is as far
  /// below 1.
  static constexpr float kLazyPowers = 8;
  /// The least magnitude that a row's products of powers and scales are relative to; its inverse, times
  /// any headroom, is a float.
  static constexpr float kLeastReach = 0x1p-118f;

  static float powerOf(int exponent) { return std::ldexp(1.0f, exponent); }
  Vector powersOf(const Tensor &scores, std::size_t row) const {
    return powerOf2(math::fma(scores.load(), factor_, shiftOf(row)));
  }
  /// The number that is added to the power of 2 of a row's score.
  Numeric shiftOf(std::size_t row) const {
    return math::fma(reference_[row].get(), -factor_, -kLazyPowers);
  }
  /// The largest magnitude of a row's products of powers and scales.
  Numeric reachOf(const Vector &scaled) const {
    return overRow_(math::abs(scaled).reduce(Reduction::max), Reduction::max);
  }

  Float32 factor_;
  DType rounded_;
  Headroom headroom_;
  Float32 tolerance_; ///< how far a score may be above the reference of its row
  OverRow overRow_;
  std::vector<Var<Float32>> reference_, sum_;
  std::vector<Var<Float32>>
      reach_; ///< the magnitude to which products of powers and scales are relative
  std::vector<Var<Float32>> inverse_; ///< the factor of these products: headroom over reach
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
