// A chunk of lanes, and loops over it.
// All in it is in an anonymous namespace (lanes.h).
#pragma once

#include <cstdint>

// A loop over the lanes of a chunk, whose iterations are independent whatever the pointers may be.
// The plain level is left to the compiler's own judgement: without fused multiply-adds, forced
// vectors of calls only bloat the code.
#if !defined(__AVX2__)
#define FLYEMU_EACH(i) for (int i = 0; i < kChunk; ++i)
#elif defined(__clang__)
#define FLYEMU_EACH(i)                                                                             \
  _Pragma("clang loop vectorize(assume_safety) unroll(disable)") for (int i = 0; i < kChunk; ++i)
#else
#define FLYEMU_EACH(i) _Pragma("GCC ivdep") for (int i = 0; i < kChunk; ++i)
#endif

namespace flyemu {
namespace {

constexpr int kChunk = 32;

template <class To, class From> inline To bitCast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}
inline uint32_t bitsOf(float x) { return bitCast<uint32_t>(x); }
inline uint64_t bitsOf(double x) { return bitCast<uint64_t>(x); }
inline float asFloat(uint32_t x) { return bitCast<float>(x); }
inline double asDouble(uint64_t x) { return bitCast<double>(x); }

} // namespace
} // namespace flyemu
