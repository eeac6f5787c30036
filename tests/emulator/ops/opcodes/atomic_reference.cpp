#include "atomic_reference.h"

#include <cmath>

namespace flyemu::test {

using u64 = uint64_t;

std::string registers(unsigned r, unsigned bytes) {
  return bytes <= 4 ? "v" + std::to_string(r)
                    : "v[" + std::to_string(r) + ":" + std::to_string(r + bytes / 4 - 1) + "]";
}

void scramble(std::vector<uint8_t> &bytes, unsigned seed) {
  for (uint8_t &b : bytes) {
    seed = seed * 1103515245 + 12345;
    b = static_cast<uint8_t>(seed >> 16);
  }
}

u64 edge(char kind, unsigned at, unsigned bits) {
  static const double kValues[] = {0,     -0.0, 1,    -1,      0.1,    65504, -3.5,  INFINITY,
                                   1e-40, 2.5,  1e30, -1e-310, 1.0001, 7,     0.333, -INFINITY};
  static const u64 kInts[] = {0, 1,           ~u64(0),    0x8000000080000000, 0x7fffffff7fffffff,
                              5, 0x100000000, 0xffffffff, 0xdeadbeefcafef00d, 16,
                              3, 0xfffffffe};
  const double v = kValues[at % 16], w = kValues[at * 5 % 16];
  switch (kind) {
  case 'f':
    return at % 17 == 16 ? 0x7fc00000 : roundTo(kF32, v);
  case 'd':
    return at % 17 == 16 ? 0x7ff8000000000000 : roundTo(kF64, v);
  case 'h':
    return roundTo(kF16, v) | roundTo(kF16, w) << 16;
  case 'b':
    return roundTo(kBf16, v) | roundTo(kBf16, w) << 16;
  default:
    return kInts[at % 12] & (bits == 64 ? ~u64(0) : 0xffffffff);
  }
}

bool agree(char kind, u64 a, u64 b) {
  if (a == b)
    return true;
  auto same = [](Format f, u64 x, u64 y) { return x == y || (isNan(f, x) && isNan(f, y)); };
  if (kind == 'h' || kind == 'b') {
    const Format f = kind == 'h' ? kF16 : kBf16;
    return same(f, a & 0xffff, b & 0xffff) && same(f, a >> 16, b >> 16);
  }
  return kind != 'i' && same(kind == 'd' ? kF64 : kF32, a, b);
}

} // namespace flyemu::test
