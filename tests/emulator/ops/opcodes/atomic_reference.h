// Parts that the memory tests share: contents, and references of atomic operations.
#pragma once

#include "numbers.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu::test {

/// "v4", "v[4:7]": so many bytes of vector registers.
std::string registers(unsigned first, unsigned bytes);

void scramble(std::vector<uint8_t> &bytes, unsigned seed);

template <unsigned Bits> int64_t signedOf(uint64_t x) {
  return int64_t(x << (64 - Bits)) >> (64 - Bits);
}
template <Format F> uint64_t sum(uint64_t m, uint64_t x, uint64_t) {
  return roundTo(F, sumToOdd(valueOf(F, m), valueOf(F, x)));
}
/// Of both halves of a dword.
template <Format F> uint64_t sums(uint64_t m, uint64_t x, uint64_t) {
  return sum<F>(m & 0xffff, x & 0xffff, 0) | sum<F>(m >> 16, x >> 16, 0) << 16;
}
template <Format F, bool Max> uint64_t extreme(uint64_t m, uint64_t x, uint64_t) {
  if (isNan(F, m))
    return x;
  if (isNan(F, x))
    return m;
  const Quad a = valueOf(F, m), b = valueOf(F, x);
  const bool less = a < b || (a == b && signOf(a) && !signOf(b));
  return less == Max ? x : m;
}

/// Operands at the edges of a kind - i: integers, f, d: floats, h, b: two halves or bfloats - by
/// number.
uint64_t edge(char kind, unsigned at, unsigned bits);
/// Equal, or no number in the same place.
bool agree(char kind, uint64_t a, uint64_t b);

} // namespace flyemu::test
