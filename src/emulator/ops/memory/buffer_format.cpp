#include "emulator/ops/memory/buffer_format.h"

#include "emulator/ops/memory/atomics.h"

#include "support/float_format.h"

#include <algorithm>
#include <cmath>

namespace flyemu {

namespace {
using K = NumberKind;

struct Shape {
  uint8_t count, bits[4];
};
// By gfx9's data format. Names of packed formats put the highest component first.
constexpr Shape kShapes[16] = {{0, {}},
                               {1, {8}},
                               {1, {16}},
                               {2, {8, 8}},
                               {1, {32}},
                               {2, {16, 16}},
                               {3, {11, 11, 10}},
                               {3, {10, 11, 11}},
                               {4, {2, 10, 10, 10}},
                               {4, {10, 10, 10, 2}},
                               {4, {8, 8, 8, 8}},
                               {2, {32, 32}},
                               {4, {16, 16, 16, 16}},
                               {3, {32, 32, 32}},
                               {4, {32, 32, 32, 32}},
                               {0, {}}};

/// A run of gfx11's unified codes: one data format with some of the number formats, as bits of
/// NumberKind in their order.
struct Run {
  uint8_t shape, kinds;
};
constexpr unsigned bit(K k) { return 1u << static_cast<unsigned>(k); }
constexpr uint8_t kAllIntegers =
    bit(K::Unorm) | bit(K::Snorm) | bit(K::Uscaled) | bit(K::Sscaled) | bit(K::Uint) | bit(K::Sint);
constexpr uint8_t kWide = bit(K::Uint) | bit(K::Sint) | bit(K::Float);
constexpr uint8_t kNotScaled = bit(K::Unorm) | bit(K::Snorm) | bit(K::Uint) | bit(K::Sint);
constexpr Run kRuns[] = {{1, kAllIntegers},
                         {2, kAllIntegers | bit(K::Float)},
                         {3, kAllIntegers},
                         {4, kWide},
                         {5, kAllIntegers | bit(K::Float)},
                         {6, bit(K::Float)},
                         {7, bit(K::Float)},
                         {8, kNotScaled},
                         {9, kAllIntegers},
                         {10, kAllIntegers},
                         {11, kWide},
                         {12, kAllIntegers | bit(K::Float)},
                         {13, kWide},
                         {14, kWide}};

BufferFormat make(unsigned shape, K kind) {
  const Shape &s = kShapes[shape];
  BufferFormat f;
  f.kind = kind;
  f.count = s.count;
  std::copy(std::begin(s.bits), std::end(s.bits), f.bits);
  return f;
}

uint32_t signExtend(uint32_t x, unsigned bits) {
  return static_cast<uint32_t>(static_cast<int32_t>(x << (32 - bits)) >> (32 - bits));
}

/// Floats of 10 and 11 bits: five of exponent, no sign.
constexpr flydsl::detail::FloatFormat formatOf(unsigned bits) {
  return {5, static_cast<int>(bits) - 5, 15, flydsl::detail::FloatSpecials::ieee,
          /*isSigned=*/false};
}
float smallFloat(uint32_t x, unsigned bits) { return formatOf(bits).toFloat(x); }
uint32_t toSmallFloat(float x, unsigned bits) {
  return formatOf(bits).fromFloat(x, flydsl::detail::FloatOverflow::special);
}
} // namespace

BufferFormat bufferFormat(const Machine &target, unsigned code) {
  if (target.encoding == Encoding::Gfx9) {
    const unsigned shape = code & 15, kind = code >> 4 & 7;
    if (kind == 6 || kShapes[shape].count == 0)
      return {};
    if (kind == 7 && !(kRuns[shape - 1].kinds & bit(K::Float))) // no components of such sizes
      return {};
    return make(shape, kind == 7 ? K::Float : static_cast<K>(kind));
  }
  unsigned next = 1;
  for (const Run &r : kRuns)
    for (unsigned kind = 0; kind < 7; ++kind)
      if (r.kinds >> kind & 1 && next++ == code)
        return make(r.shape, static_cast<K>(kind));
  return {};
}

uint32_t fromComponent(NumberKind kind, unsigned bits, uint32_t x) {
  auto asBits = [](float f) { return atomics::cast<uint32_t>(f); };
  const auto sx = static_cast<int32_t>(signExtend(x, bits));
  // Quotients of 32-bit integers are rounded once.
  const double top = std::ldexp(1.0, static_cast<int>(bits)) - 1;
  const double half = std::ldexp(1.0, static_cast<int>(bits) - 1) - 1;
  switch (kind) {
  case K::Unorm:
    return asBits(static_cast<float>(x / top));
  case K::Snorm:
    return asBits(static_cast<float>(std::max(sx / half, -1.0)));
  case K::Uscaled:
    return asBits(static_cast<float>(x));
  case K::Sscaled:
    return asBits(static_cast<float>(sx));
  case K::Uint:
    return x;
  case K::Sint:
    return static_cast<uint32_t>(sx);
  case K::Float:
    return bits == 32   ? x
           : bits == 16 ? asBits(atomics::halfBitsToFloat(static_cast<uint16_t>(x)))
                        : asBits(smallFloat(x, bits));
  }
  return 0;
}

uint32_t toComponent(NumberKind kind, unsigned bits, uint32_t x) {
  const auto f = atomics::cast<float>(x);
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  const double top = std::ldexp(1.0, static_cast<int>(bits)) - 1;
  const double half = std::ldexp(1.0, static_cast<int>(bits) - 1);
  auto rounded = [&](double v, double lowest, double highest) {
    if (v != v)
      return 0u;
    v = std::nearbyint(std::min(std::max(v, lowest), highest));
    return static_cast<uint32_t>(static_cast<int64_t>(v)) & mask;
  };
  switch (kind) {
  case K::Unorm:
    return rounded(double(f) * top, 0, top);
  case K::Snorm:
    return rounded(double(f) * (half - 1), 1 - half, half - 1);
  case K::Uscaled:
    return rounded(std::trunc(double(f)), 0, top);
  case K::Sscaled:
    return rounded(std::trunc(double(f)), -half, half - 1);
  case K::Uint:
  case K::Sint:
    return x & mask;
  case K::Float:
    return bits == 32 ? x : bits == 16 ? atomics::floatToHalfBits(f) : toSmallFloat(f, bits);
  }
  return 0;
}

} // namespace flyemu
