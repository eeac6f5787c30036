// Values of a row as numbers that are compared and added up without an error.
#pragma once

#include "blocks/common/logarithms.h"
#include "blocks/rows/key_search.h"
#include "sampling/sampling_row.h"

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl::sampling {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                       kNaN = std::numeric_limits<float>::quiet_NaN();
/// The largest probability of a row is 2 to this power; half of the bits are made at a time, because
/// a float has 24: a sum with one of these numbers, whose last bit is worth 2^-20 and 2^-40, is rounded
/// to it, and its bits count how often. Conversions would take four times as long.
inline constexpr int kProbabilityBits = 40, kHalfBits = kProbabilityBits / 2;
inline constexpr float kRoundsHigh = 0x1p3f, kRoundsLow = 0x1.8p-17f; // with a rest of either sign
inline constexpr std::int32_t kLeastOrder = std::numeric_limits<std::int32_t>::min();

/// The probabilities of values.
struct Shares {
  Numeric largest, scale; ///< the largest value; log2(e) over the temperature

  /// As a share of the largest, by the hardware's exp2. -infinity has none, at any temperature.
  Numeric of(const Numeric &value) const {
    const FastMathScope approximate(FastMath::afn);
    const Numeric share = math::exp2((value - largest) * scale);
    return select(value == -kInfinity, Float32(0.0f), share);
  }
  /// A share from 0 to 1 as an integer, an i64.
  static Numeric number(const Numeric &share) {
    const auto count = [](const Numeric &sum, float rounds) {
      return sum.bitcast(i32) - std::bit_cast<std::int32_t>(rounds);
    };
    const Numeric high = share + kRoundsHigh, rest = share - (high - kRoundsHigh);
    return count(high, kRoundsHigh) * Int64(std::int64_t{1} << kHalfBits) +
           count(rest + kRoundsLow, kRoundsLow);
  }
  /// An integer as a share.
  static Numeric shareOf(const Numeric &number) { return number.to(f32) * 0x1p-40f; }
};

/// What remains of a row's tokens.
struct Cuts {
  std::optional<Numeric> leastShare, leastKey;
};

/// The probabilities of the tokens that cuts leave.
struct Remaining {
  Shares shares;
  Cuts cuts;

  /// As an integer; 0 if the value is cut off.
  Numeric of(const Numeric &value) const {
    const Numeric share = shares.of(value), number = Shares::number(share);
    const Numeric large =
        cuts.leastShare ? select(share >= *cuts.leastShare, number, Int64(0)) : number;
    return cuts.leastKey ? select(keyOf(value) >= *cuts.leastKey, large, Int64(0)) : large;
  }
};

} // namespace kernels::impl::sampling
FLYDSL_NAMESPACE_END
