// Uniform and normal numbers from random words, written once over what a number is: the host's are
// `float` and `std::int32_t`, a kernel's are traced.
//
// Both give the same bits, because only operations are used that IEEE 754 defines to the last bit:
// sums, products, fused multiply-adds, square roots, conversions, and integers. A product and a sum
// must not be fused where `fma` does not say so; the host's file is compiled with
// -ffp-contract=off, and a kernel's operations carry no fast-math flags.
#pragma once

#include <flydsl/export.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace random::algorithm {

// The operations without an operator, on the host. A kernel's are beside its class of numbers.
inline float toFloat(std::int32_t x) { return static_cast<float>(x); }
inline std::int32_t toInteger(float x) { return static_cast<std::int32_t>(x); }
inline std::int32_t bitsOf(float x) { return std::bit_cast<std::int32_t>(x); }
inline float fromBits(std::int32_t x) { return std::bit_cast<float>(x); }
inline float fusedMultiplyAdd(float a, float b, float c) { return std::fma(a, b, c); }
inline float squareRoot(float x) { return std::sqrt(x); }
inline float roundToEven(float x) { return std::nearbyint(x); }
inline float larger(float x, float least) { return x < least ? least : x; }
inline float choose(bool condition, float yes, float no) { return condition ? yes : no; }

/// The largest float below 2^-31, FlyDSL's and Triton's factor from 31 bits to [0, 1): the product
/// with what 2^31 - 1 rounds to is 1 - 2^-24.
inline constexpr float kUnit = 0x1.fffffep-32f;

/// A number of [0, 1) for a random word, given as a signed integer of 32 bits.
template <class Integer> auto uniform(const Integer &word) {
  // The bits of a negative word are flipped, which leaves 31 random ones.
  return toFloat(word ^ (word >> 31)) * kUnit;
}

/// c[0] + x (c[1] + x (c[2] + ...)).
template <class Float, std::size_t N> Float polynomial(const Float &x, const float (&c)[N]) {
  Float sum = fusedMultiplyAdd(x, c[N - 1], c[N - 2]);
  for (std::size_t i = N - 2; i-- > 0;)
    sum = fusedMultiplyAdd(sum, x, c[i]);
  return sum;
}

/// The natural logarithm of a normal x in (0, 1). The result is off by less than 1 unit of its
/// last place.
template <class Float> Float logarithm(const Float &x) {
  // x is m * 2^k, and 1 + f is m, which lies in [2/3, 4/3); f is exact.
  constexpr std::int32_t twoThirds = 0x3f2aaaab;
  const auto bits = bitsOf(x);
  const auto exponent = (bits - twoThirds) >> 23;
  const Float f = fromBits(bits - (exponent << 23)) - 1.0f;
  const Float k = toFloat(exponent);
  // (ln(1 + f) - f + f^2 / 2) / f^3, to 2^-27.6 of ln(1 + f): a minimax fit whose coefficients were
  // rounded one after the other.
  constexpr float cubic[] = {0x1.555506p-2f, -0x1.fffefap-3f, 0x1.99d05ap-3f, -0x1.559c2ap-3f,
                             0x1.1ed482p-3f, -0x1.f33d4cp-4f, 0x1.1e718ep-3f, -0x1.07a796p-3f};
  // ln 2 in two parts: the first has 16 bits, and its product with k is exact.
  constexpr float ln2High = 0x1.62e4p-1f, ln2Low = 0x1.7f7d1cp-20f;
  const Float square = f * f;
  const Float near1 = fusedMultiplyAdd(square, fusedMultiplyAdd(f, polynomial(f, cubic), -0.5f), f);
  return fusedMultiplyAdd(k, ln2High, fusedMultiplyAdd(k, ln2Low, near1));
}

template <class Float> struct SineCosine {
  Float sine, cosine;
};

/// Sine and cosine of 2 pi x, of x in [0, 1). The results are off by less than 1.6 units of their
/// last place.
template <class Float> SineCosine<Float> sineCosineOfTurn(const Float &x) {
  // The nearest quarter of a turn, and what is left of x in quarters: exact, and at most 1/2.
  const Float quarters = x * 4.0f;
  const Float nearest = roundToEven(quarters);
  const Float rest = quarters - nearest;
  const auto quadrant = toInteger(nearest);
  // sin(pi/2 r) / r and (cos(pi/2 r) - 1) / r^2 over r^2: minimax fits, to 2^-25 and 2^-31.
  constexpr float sineOver[] = {0x1.921fb6p+0f, -0x1.4abc22p-1f, 0x1.467faap-4f, -0x1.32e8a2p-8f};
  constexpr float cosineOver[] = {1.0f, -0x1.3bd3ccp+0f, 0x1.03c1bp-2f, -0x1.55b29ap-6f,
                                  0x1.d4e42p-11f};
  const Float square = rest * rest;
  const Float sine = rest * polynomial(square, sineOver), cosine = polynomial(square, cosineOver);
  // Odd quadrants swap the two; bit 1 of the quadrant, and of the next one, is the sign.
  const auto isOdd = (quadrant & 1) != 0;
  auto negatedIf = [](const Float &value, const auto &sign) {
    return fromBits(bitsOf(value) ^ ((sign & 2) << 30));
  };
  return {negatedIf(choose(isOdd, cosine, sine), quadrant),
          negatedIf(choose(isOdd, sine, cosine), quadrant + 1)};
}

/// Two standard normal numbers of two uniform ones, by Box and Muller:
/// sqrt(-2 ln a) cos(2 pi b) and sqrt(-2 ln a) sin(2 pi b).
template <class Float> std::array<Float, 2> normals(const Float &a, const Float &b) {
  constexpr float least = 1e-7f; // FlyDSL's and Triton's: a logarithm of 0 is none
  const Float radius = squareRoot(logarithm(larger(a, least)) * -2.0f);
  const SineCosine<Float> angle = sineCosineOfTurn(b);
  return {radius * angle.cosine, radius * angle.sine};
}

} // namespace random::algorithm
FLYDSL_NAMESPACE_END
