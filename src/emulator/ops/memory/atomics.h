// The arithmetic of atomics: one struct each, apply(memory, data, compare) -> new value of the
// memory.
#pragma once

#include "emulator/isa/traits.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace flyemu::atomics {

template <class T> using Signed = std::make_signed_t<T>;

#define FLYEMU_ATOMIC(NAME, COMPARE, EXPR)                                                         \
  struct NAME {                                                                                    \
    static constexpr bool kCompare = COMPARE;                                                      \
    template <class T> static T apply([[maybe_unused]] T m, T x, [[maybe_unused]] T c) {           \
      return EXPR;                                                                                 \
    }                                                                                              \
  };

FLYEMU_ATOMIC(Swap, false, x)
FLYEMU_ATOMIC(CompareSwap, true, m == c ? x : m)
FLYEMU_ATOMIC(Add, false, m + x)
FLYEMU_ATOMIC(Sub, false, m - x)
FLYEMU_ATOMIC(ReverseSub, false, x - m)
FLYEMU_ATOMIC(SMin, false, static_cast<Signed<T>>(x) < static_cast<Signed<T>>(m) ? x : m)
FLYEMU_ATOMIC(UMin, false, x < m ? x : m)
FLYEMU_ATOMIC(SMax, false, static_cast<Signed<T>>(x) > static_cast<Signed<T>>(m) ? x : m)
FLYEMU_ATOMIC(UMax, false, x > m ? x : m)
FLYEMU_ATOMIC(And, false, m &x)
FLYEMU_ATOMIC(Or, false, m | x)
FLYEMU_ATOMIC(Xor, false, m ^ x)
FLYEMU_ATOMIC(Inc, false, m >= x ? T(0) : m + 1)
FLYEMU_ATOMIC(Dec, false, m == 0 || m > x ? x : m - 1)
FLYEMU_ATOMIC(CondSub, false, m >= x ? m - x : m)
FLYEMU_ATOMIC(SubClamp, false, m >= x ? m - x : T(0))
#undef FLYEMU_ATOMIC

template <class To, class From> To cast(From x) { return __builtin_bit_cast(To, x); }
template <class T> using FloatOf = std::conditional_t<sizeof(T) == 4, float, double>;

float halfBitsToFloat(uint16_t h);
uint16_t floatToHalfBits(float x);
uint16_t floatToBfloat(float x);

/// Floating-point addition; denormals are kept, as global float atomics of CDNA3 do.
struct FAdd {
  static constexpr bool kCompare = false;
  template <class T> static T apply(T m, T x, T) {
    using L = FloatOf<T>;
    return cast<T>(static_cast<L>(cast<L>(m) + cast<L>(x)));
  }
};
template <bool Max> struct FMinMax {
  static constexpr bool kCompare = false;
  template <class T> static T apply(T m, T x, T) {
    using L = FloatOf<T>;
    L a = cast<L>(m), b = cast<L>(x);
    if (a != a)
      return x;
    if (b != b)
      return m;
    if (a == b) // orders the zeros
      return Max == std::signbit(a) ? x : m;
    return (a < b) == Max ? x : m;
  }
};
/// As FMinMax, chosen by the data operand where an LDS compare-and-store compares floats.
struct FCompareSwap {
  static constexpr bool kCompare = true;
  template <class T> static T apply(T m, T x, T c) {
    return cast<FloatOf<T>>(m) == cast<FloatOf<T>>(c) ? x : m;
  }
};
struct PkAddF16 {
  static constexpr bool kCompare = false;
  static uint32_t apply(uint32_t m, uint32_t x, uint32_t) {
    auto half = [](uint32_t a, uint32_t b) {
      return uint32_t(floatToHalfBits(halfBitsToFloat(static_cast<uint16_t>(a)) +
                                      halfBitsToFloat(static_cast<uint16_t>(b))));
    };
    return half(m, x) | half(m >> 16, x >> 16) << 16;
  }
};
struct PkAddBf16 {
  static constexpr bool kCompare = false;
  static uint32_t apply(uint32_t m, uint32_t x, uint32_t) {
    auto sum = [](uint32_t a, uint32_t b) {
      return uint32_t(floatToBfloat(cast<float>(a << 16) + cast<float>(b << 16)));
    };
    return sum(m & 0xffff, x & 0xffff) | sum(m >> 16, x >> 16) << 16;
  }
};

/// What an operation of the tables with this arithmetic has.
template <class F>
constexpr TraitSet kTraitsOf = std::is_same_v<F, Swap> ? TraitSet(Trait::Overwrites) : TraitSet();

} // namespace flyemu::atomics
