// Reference arithmetic of the tables: exact values in 113 bits, rounded once, by integers.
#pragma once

#include <cstdint>

namespace flyemu::test {

using Quad = __float128;

/// A binary floating-point format.
struct Format {
  int exponent, mantissa; ///< bits of the fields
};
constexpr Format kF16{5, 10}, kBf16{8, 7}, kF32{8, 23}, kF64{11, 52};

constexpr int width(Format f) { return 1 + f.exponent + f.mantissa; }
bool isNan(Format f, uint64_t x);
bool isSignalling(Format f, uint64_t x);
bool isInf(Format f, uint64_t x);
bool isDenormal(Format f, uint64_t x);
bool isNegative(Format f, uint64_t x);
uint64_t quietNan(Format f);

/// The value of a code.
Quad valueOf(Format f, uint64_t x);

enum Rounding : int { kNearest, kUp, kDown, kToZero };

/// The code nearest to x in the direction. `flush`: results below the normal range become zero
/// (judged after rounding with an unbounded exponent).
uint64_t roundTo(Format f, Quad x, int rounding = kNearest, bool flush = false);

/// a + b, rounded to odd: rounding it again gives what rounding the exact sum once would.
Quad sumToOdd(Quad a, Quad b);
Quad squareRoot(Quad x);
bool signOf(Quad x);
Quad withSign(Quad x, bool negative);

} // namespace flyemu::test
