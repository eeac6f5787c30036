// Lane-wise execution: turns a function of one lane's values into a handler over the lanes of a
// wave.
//
// Files that include this header are compiled once for each instruction-set level of the host
// (FLYEMU_LEVEL); all here is in an anonymous namespace so that no code of one level can be linked
// into another. Lanes are processed in chunks of 32 by plain loops that compilers turn into vector
// code.
#pragma once

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#define FLYEMU_CONCAT2(a, b) a##b
#define FLYEMU_CONCAT(a, b) FLYEMU_CONCAT2(a, b)
/// Defines the function that hands a file's table to the registry of the level.
#define FLYEMU_EXPORT(name, ops)                                                                   \
  OpTable FLYEMU_CONCAT(table##name##_, FLYEMU_LEVEL)() { return {std::begin(ops), std::end(ops)}; }

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

// Operand tags: the type that a lane function sees, and how it lies in registers.
struct U32 {
  using type = uint32_t;
  static constexpr Type kind = Type::B32;
  static constexpr int bits = 32;
};
struct I32 {
  using type = int32_t;
  static constexpr Type kind = Type::B32;
  static constexpr int bits = 32;
};
struct F32 {
  using type = float;
  static constexpr Type kind = Type::F32;
  static constexpr int bits = 32;
};
struct U64 {
  using type = uint64_t;
  static constexpr Type kind = Type::B64;
  static constexpr int bits = 64;
};
struct I64 {
  using type = int64_t;
  static constexpr Type kind = Type::B64;
  static constexpr int bits = 64;
};
struct F64 {
  using type = double;
  static constexpr Type kind = Type::F64;
  static constexpr int bits = 64;
};
struct U16 {
  using type = uint16_t;
  static constexpr Type kind = Type::B16;
  static constexpr int bits = 16;
};
struct I16 {
  using type = int16_t;
  static constexpr Type kind = Type::B16;
  static constexpr int bits = 16;
};
/// The bits of a bfloat.
struct BF16 {
  using type = uint16_t;
  static constexpr Type kind = Type::BF16;
  static constexpr int bits = 16;
};
/// A half; the lane function computes in float, and the result is rounded once.
struct F16 {
  using type = float;
  static constexpr Type kind = Type::F16;
  static constexpr int bits = 16;
};
/// The bits of a half.
struct H16 {
  using type = uint16_t;
  static constexpr Type kind = Type::F16;
  static constexpr int bits = 16;
};
/// The bits of a half that follow MODE's denormals, as operations do that choose among operands.
struct N16 {
  using type = uint16_t;
  static constexpr Type kind = Type::F16;
  static constexpr int bits = 16;
};
/// The bits of a float: constants expand as for floats.
struct B32F {
  using type = uint32_t;
  static constexpr Type kind = Type::F32;
  static constexpr int bits = 32;
};
struct B64F {
  using type = uint64_t;
  static constexpr Type kind = Type::F64;
  static constexpr int bits = 64;
};

template <class To, class From> inline To bitCast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}
inline uint32_t bitsOf(float x) { return bitCast<uint32_t>(x); }
inline uint64_t bitsOf(double x) { return bitCast<uint64_t>(x); }
inline float asFloat(uint32_t x) { return bitCast<float>(x); }
inline double asDouble(uint64_t x) { return bitCast<double>(x); }

// Halves. With F16C the conversions follow MXCSR's rounding; without, they are exact and
// nearest-even.
inline float halfToFloatSoft(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, e = h >> 10 & 31, f = h & 1023;
  if (e == 31)
    return asFloat(sign | 0x7f800000 | f << 13 | (f ? 0x400000 : 0));
  if (e == 0) {
    float v = static_cast<float>(f) * 0x1p-24f;
    return sign ? -v : v;
  }
  return asFloat(sign | (e + 112) << 23 | f << 13);
}
inline uint16_t floatToHalfSoft(float x) {
  uint32_t b = bitsOf(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (a < 0x38800000) {
    uint32_t r = bitsOf(asFloat(a) + 0.5f) - bitsOf(0.5f); // adds at the ulp of 2^-24
    return static_cast<uint16_t>(sign | r);
  }
  uint32_t r = a + 0xfff + (a >> 13 & 1);
  return static_cast<uint16_t>(sign | (r - 0x38000000) >> 13);
}
/// To half, towards zero.
inline uint16_t halfRtz(float x) {
  uint32_t b = bitsOf(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a == 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (a >= 0x47800000)
    return static_cast<uint16_t>(sign | 0x7bff);
  if (a < 0x38800000) {
    int shift = 126 - static_cast<int>(a >> 23); // the unit is 2^-24
    uint32_t f = 0x800000 | (a & 0x7fffff);
    return static_cast<uint16_t>(sign | (a < 0x33800000 ? 0 : f >> shift));
  }
  return static_cast<uint16_t>(sign | (a - 0x38000000) >> 13);
}
/// To bfloat, nearest even.
inline uint16_t toBfloat(float x) {
  uint32_t b = bitsOf(x);
  if (x != x)
    return static_cast<uint16_t>(b >> 16 | 0x40);
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

#ifdef __F16C__
inline float halfToFloat(uint16_t h) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))); }
inline uint16_t floatToHalf(float x) {
  return static_cast<uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_CUR_DIRECTION), 0));
}
inline void halvesToFloats(const uint16_t *h, float *f) {
  for (int i = 0; i < kChunk; i += 8)
    _mm256_storeu_ps(f + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(h + i))));
}
inline void floatsToHalves(const float *f, uint16_t *h) {
  for (int i = 0; i < kChunk; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(h + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(f + i), _MM_FROUND_CUR_DIRECTION));
}
#else
inline float halfToFloat(uint16_t h) { return halfToFloatSoft(h); }
inline uint16_t floatToHalf(float x) { return floatToHalfSoft(x); }
inline void halvesToFloats(const uint16_t *h, float *f) {
  FLYEMU_EACH (i)
    f[i] = halfToFloatSoft(h[i]);
}
inline void floatsToHalves(const float *f, uint16_t *h) {
  FLYEMU_EACH (i)
    h[i] = floatToHalfSoft(f[i]);
}
#endif

/// The MXCSR for a rounding mode and a denormal mode (0: flush all, 1: inputs kept, 2: outputs
/// kept, 3: keep all).
inline unsigned mxcsrFor(unsigned round, unsigned denorm) {
  static constexpr unsigned kRc[4] = {0, 0x4000, 0x2000, 0x6000};
  return 0x1f80 | kRc[round & 3] | (denorm & 1 ? 0 : 0x40) | (denorm & 2 ? 0 : 0x8000);
}

/// Sets MXCSR for as long as it lives, if the wave's MODE asks for anything but the default.
/// Conversions between floats and doubles (`Mixed`) have denormals kept here, as each type has its
/// own mode: operands and results are flushed one by one.
template <bool Double, bool Half, bool Mixed = false> class FloatScope {
public:
  explicit FloatScope(const Wave &w) : active_(!w.plainFloat) {
    if (__builtin_expect(active_, 0)) {
      saved_ = _mm_getcsr();
      _mm_setcsr(Double || Half
                     ? mxcsrFor(Mixed ? (Half ? w.mode.round64 : w.mode.round32) : w.mode.round64,
                                Half || Mixed ? 3 : w.mode.denorm64)
                     : mxcsrFor(w.mode.round32, w.mode.denorm32));
    }
  }
  ~FloatScope() {
    if (__builtin_expect(active_, 0))
      _mm_setcsr(saved_);
  }

private:
  bool active_;
  unsigned saved_ = 0;
};

/// Returns true if the mode flushes denormals of the type: those of operands if `bit` is 1, of
/// results if it is 2.
template <class T> inline bool flushes(const Wave &w, unsigned bit) {
  if constexpr (std::is_same_v<T, F32>)
    return __builtin_expect(!w.plainFloat && !(w.mode.denorm32 & bit), 0);
  else if constexpr (std::is_same_v<T, F64> || std::is_same_v<T, F16> || std::is_same_v<T, N16>)
    return __builtin_expect(!w.plainFloat && !(w.mode.denorm64 & bit), 0);
  else
    return false;
}
inline uint16_t flushBits(uint16_t x) { return x & 0x7c00 ? x : x & 0x8000; }
inline uint32_t flushBits(uint32_t x) { return x & 0x7f800000 ? x : x & 0x80000000; }
inline uint64_t flushBits(uint64_t x) {
  return x & uint64_t(0x7ff) << 52 ? x : x & uint64_t(1) << 63;
}

/// The 32 bits of an operand's lanes of chunk c, without modifiers: a pointer into the file or to
/// `buf`.
inline const uint32_t *raw32(const Wave &w, const Operand &o, unsigned c, uint32_t *buf) {
  if (o.kind == Kind::Vgpr)
    return w.row(o.index) + c * kChunk;
  uint32_t x = read32(w, o);
  FLYEMU_EACH (i)
    buf[i] = x;
  return buf;
}

/// An operand's lanes of chunk c as the tag wants them, modifiers applied.
template <class T>
__attribute__((noinline)) const typename T::type *fetchAny(const Wave &w, const Operand &o,
                                                           unsigned c, typename T::type *buf) {
  if constexpr (T::bits == 32) {
    auto *out = reinterpret_cast<uint32_t *>(buf);
    const uint32_t *in = raw32(w, o, c, out);
    uint32_t keep = o.flags & kAbs ? 0x7fffffffu : ~0u, flip = o.flags & kNeg ? 0x80000000u : 0;
    FLYEMU_EACH (i)
      out[i] = (in[i] & keep) ^ flip;
    if (flushes<T>(w, 1))
      FLYEMU_EACH (i)
        out[i] = flushBits(out[i]);
    return buf;
  } else if constexpr (T::bits == 64) {
    uint64_t keep = o.flags & kAbs ? ~(uint64_t(1) << 63) : ~uint64_t(0);
    uint64_t flip = o.flags & kNeg ? uint64_t(1) << 63 : 0;
    auto *out = reinterpret_cast<uint64_t *>(buf);
    if (o.kind == Kind::Vgpr) {
      const uint32_t *lo = w.row(o.index) + c * kChunk, *hi = w.row(o.index + 1) + c * kChunk;
      FLYEMU_EACH (i)
        out[i] = ((lo[i] | uint64_t(hi[i]) << 32) & keep) ^ flip;
    } else {
      uint64_t x = (read64(w, o) & keep) ^ flip;
      FLYEMU_EACH (i)
        out[i] = x;
    }
    if (flushes<T>(w, 1))
      FLYEMU_EACH (i)
        out[i] = flushBits(out[i]);
    return buf;
  } else {
    alignas(64) uint32_t tmp[kChunk];
    alignas(64) uint16_t half[kChunk];
    const uint32_t *in = raw32(w, o, c, tmp);
    uint32_t shift = o.flags & kHigh ? 16 : 0;
    uint32_t keep = o.flags & kAbs ? 0x7fffu : 0xffffu, flip = o.flags & kNeg ? 0x8000u : 0;
    constexpr bool isHalf = std::is_same_v<T, F16>;
    uint16_t *out = isHalf ? half : reinterpret_cast<uint16_t *>(buf);
    FLYEMU_EACH (i)
      out[i] = static_cast<uint16_t>((in[i] >> shift & keep) ^ flip);
    if (flushes<T>(w, 1))
      FLYEMU_EACH (i)
        out[i] = flushBits(out[i]);
    if constexpr (isHalf)
      halvesToFloats(half, buf);
    return buf;
  }
}

template <class T>
__attribute__((always_inline)) inline const typename T::type *
fetch(const Wave &w, const Operand &o, unsigned c, typename T::type *buf) {
  if constexpr (T::bits == 32)
    if (__builtin_expect(o.kind == Kind::Vgpr && !(o.flags & (kNeg | kAbs)) &&
                             (!std::is_same_v<T, F32> || w.plainFloat),
                         1))
      return reinterpret_cast<const typename T::type *>(w.row(o.index) + c * kChunk);
  return fetchAny<T>(w, o, c, buf);
}

/// Output modifiers of a float result. `denorm` are the output-denormal bits of the type: hardware
/// ignores omod where output denormals are kept or IEEE mode is on (CDNA3 ISA, "Output Modifiers").
template <class L>
inline void outputModifiers(const Wave &w, const Inst &inst, L *r, unsigned denorm) {
  if (inst.omod && !(denorm & 2) && !w.mode.ieee) {
    const L scale = inst.omod == 1 ? L(2) : inst.omod == 2 ? L(4) : L(0.5);
    FLYEMU_EACH (i)
      r[i] *= scale;
  }
  if (inst.flags & kClamp) {
    const bool zeroNan = w.mode.dx10Clamp;
    FLYEMU_EACH (i) {
      L x = r[i];
      L y = x < L(1) ? x : x == x ? L(1) : x;
      y = y > L(0) ? y : y == y ? L(0) : y;
      r[i] = x == x ? y : zeroNan ? L(0) : x;
    }
  }
}

/// Floats to halves as MODE says: rounding, denormals, overflow.
inline void roundHalves(const Wave &w, const float *r, uint16_t *half) {
  floatsToHalves(r, half);
  if (flushes<F16>(w, 2))
    FLYEMU_EACH (i)
      half[i] = flushBits(half[i]);
  if (__builtin_expect(w.mode.fp16Ovfl, 0)) // overflow from finite values saturates
    FLYEMU_EACH (i)
      half[i] = (half[i] & 0x7fff) == 0x7c00 && (bitsOf(r[i]) & 0x7fffffff) != 0x7f800000
                    ? static_cast<uint16_t>((half[i] & 0x8000) | 0x7bff)
                    : half[i];
}

inline void storeRow(uint32_t *row, const uint32_t *r, uint32_t m) {
  if (__builtin_expect(m == ~0u, 1)) {
    std::memcpy(row, r, sizeof(uint32_t) * kChunk);
  } else {
#ifdef __AVX512F__
    _mm512_mask_storeu_epi32(row, static_cast<__mmask16>(m), _mm512_loadu_si512(r));
    _mm512_mask_storeu_epi32(row + 16, static_cast<__mmask16>(m >> 16), _mm512_loadu_si512(r + 16));
#else
    FLYEMU_EACH (i)
      row[i] = m >> i & 1 ? r[i] : row[i];
#endif
  }
}

/// Writes the lanes of chunk c that mask m has on. May change r.
template <class T>
inline void store(const Wave &w, const Inst &inst, unsigned c, uint32_t m, typename T::type *r) {
  if constexpr (std::is_same_v<T, N16>) {
    if (__builtin_expect(inst.omod || inst.flags & kClamp, 0)) {
      alignas(64) float wide[kChunk];
      halvesToFloats(r, wide);
      outputModifiers(w, inst, wide, w.mode.denorm64);
      floatsToHalves(wide, r);
    }
  }
  if constexpr (std::is_same_v<T, F32> || std::is_same_v<T, F64> || std::is_same_v<T, F16>) {
    if (__builtin_expect(inst.omod || inst.flags & kClamp, 0)) {
      if constexpr (std::is_same_v<T, F16>) { // they follow the rounding
        alignas(64) uint16_t first[kChunk];
        roundHalves(w, r, first);
        halvesToFloats(first, r);
      }
      outputModifiers(w, inst, r, std::is_same_v<T, F32> ? w.mode.denorm32 : w.mode.denorm64);
    }
  }
  if constexpr (std::is_same_v<T, F32> || std::is_same_v<T, F64> || std::is_same_v<T, N16>) {
    if (flushes<T>(w, 2)) {
      using Bits = std::conditional_t<T::bits == 32, uint32_t,
                                      std::conditional_t<T::bits == 64, uint64_t, uint16_t>>;
      auto *bits = reinterpret_cast<Bits *>(r);
      FLYEMU_EACH (i)
        bits[i] = flushBits(bits[i]);
    }
  }
  uint32_t *row = w.row(inst.dst.index) + c * kChunk;
  if constexpr (T::bits == 32) {
    storeRow(row, reinterpret_cast<const uint32_t *>(r), m);
  } else if constexpr (T::bits == 64) {
    alignas(64) uint32_t lo[kChunk], hi[kChunk];
    auto *in = reinterpret_cast<const uint64_t *>(r);
    FLYEMU_EACH (i) {
      lo[i] = static_cast<uint32_t>(in[i]);
      hi[i] = static_cast<uint32_t>(in[i] >> 32);
    }
    storeRow(row, lo, m);
    storeRow(row + kLanes, hi, m);
  } else {
    alignas(64) uint16_t half[kChunk];
    alignas(64) uint32_t out[kChunk];
    const uint16_t *in = half;
    if constexpr (std::is_same_v<T, F16>) {
      roundHalves(w, r, half);
    } else {
      in = reinterpret_cast<const uint16_t *>(r);
    }
    if (inst.dst.flags & kHigh) {
      FLYEMU_EACH (i)
        out[i] = uint32_t(in[i]) << 16 | (row[i] & 0xffff);
    } else {
      uint32_t keep = inst.flags & kKeepHigh ? 0xffff0000u : 0;
      FLYEMU_EACH (i)
        out[i] = in[i] | (row[i] & keep);
    }
    storeRow(row, out, m);
  }
}

template <class F, class D, class... S, size_t... K>
inline void laneChunk(const Wave &w, const Inst &inst, unsigned c, uint32_t m,
                      std::index_sequence<K...>) {
  alignas(64) uint64_t bufs[sizeof...(S)][kChunk]; // room for the widest lane type
  auto in = std::make_tuple(
      fetch<S>(w, inst.src[K], c, reinterpret_cast<typename S::type *>(bufs[K]))...);
  alignas(64) typename D::type r[kChunk];
  F f;
  FLYEMU_EACH (i)
    r[i] = static_cast<typename D::type>(f(std::get<K>(in)[i]...));
  store<D>(w, inst, c, m, r);
}

template <class... T> constexpr bool kAnyOf64 = (std::is_same_v<T, F64> || ...);
template <class... T> constexpr bool kAnyOf16 = (std::is_same_v<T, F16> || ...);

/// d[lane] = F(s0[lane], ...) for the lanes that EXEC has on.
template <class F, class D, class... S> void laneOp(Wave &w, const Inst &inst) {
  constexpr bool mixed =
      kAnyOf64<D, S...> && (std::is_same_v<D, F32> || (std::is_same_v<S, F32> || ...));
  FloatScope<kAnyOf64<D, S...>, std::is_same_v<D, F16>, mixed> scope(w);
  uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c)
    if (uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk)))
      laneChunk<F, D, S...>(w, inst, c, m, std::index_sequence_for<S...>());
}

template <class D, class... S> constexpr OpDef signature(const char *name, Handler fn) {
  OpDef def{name, fn, Class::Valu, D::kind, {}, 0};
  constexpr Type kinds[] = {S::kind..., Type::None};
  for (unsigned i = 0; i < sizeof...(S); ++i)
    def.src[i] = kinds[i];
  return def;
}

/// A table line: `lane<F32, F32, F32>("v_add_f32", [](float a, float b) { return a + b; })`.
template <class D, class... S, class F> constexpr OpDef lane(const char *name, F) {
  return signature<D, S...>(name, laneOp<F, D, S...>);
}

/// As lane, but an instruction with the clamp bit computes G: integer saturation.
template <class F, class G, class D, class... S> void laneOpSaturating(Wave &w, const Inst &inst) {
  if (__builtin_expect(inst.flags & kClamp, 0))
    laneOp<G, D, S...>(w, inst);
  else
    laneOp<F, D, S...>(w, inst);
}
template <class D, class... S, class F, class G> constexpr OpDef laneSat(const char *name, F, G) {
  return signature<D, S...>(name, laneOpSaturating<F, G, D, S...>);
}

/// d = F(d, s0, s1): the multiply-accumulate forms, whose destination is the last source.
template <class F, class D, class S0, class S1> void laneAccOp(Wave &w, const Inst &inst) {
  Inst full = inst;
  full.src[2] = inst.dst;
  full.src[2].flags = inst.src[2].flags | (inst.dst.flags & kHigh);
  laneOp<F, D, S0, S1, D>(w, full);
}
template <class D, class S0, class S1, class F> constexpr OpDef laneAcc(const char *name, F) {
  return signature<D, S0, S1>(name, laneAccOp<F, D, S0, S1>);
}

/// The lanes for which p is true, as bits.
template <class P> inline uint32_t maskOf(P p) {
#if defined(__AVX512DQ__) || defined(__AVX2__)
  alignas(64) int32_t on[kChunk];
  FLYEMU_EACH (i)
    on[i] = p(i) ? -1 : 0;
#endif
  uint32_t bits = 0;
#if defined(__AVX512DQ__)
  bits = _mm512_movepi32_mask(_mm512_load_si512(on));
  bits |= static_cast<uint32_t>(_mm512_movepi32_mask(_mm512_load_si512(on + 16))) << 16;
#elif defined(__AVX2__)
  for (int i = 0; i < kChunk; i += 8)
    bits |= static_cast<uint32_t>(_mm256_movemask_ps(
                _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<__m256i *>(on + i)))))
            << i;
#else
  for (int i = 0; i < kChunk; ++i)
    bits |= static_cast<uint32_t>(p(i)) << i;
#endif
  return bits;
}

// The NaN that hardware makes of an invalid operation, and the operand's NaN, quieted, that it
// passes on.
inline float nanOf(float r, float a, float b) {
  float n = a != a   ? asFloat(bitsOf(a) | 0x400000)
            : b != b ? asFloat(bitsOf(b) | 0x400000)
                     : asFloat(0x7fc00000);
  return r == r ? r : n;
}
inline float nanOf(float r, float a, float b, float c) {
  float n = a != a   ? asFloat(bitsOf(a) | 0x400000)
            : b != b ? asFloat(bitsOf(b) | 0x400000)
            : c != c ? asFloat(bitsOf(c) | 0x400000)
                     : asFloat(0x7fc00000);
  return r == r ? r : n;
}
inline double nanOf(double r, double a, double b) {
  constexpr uint64_t q = uint64_t(1) << 51;
  double n = a != a   ? asDouble(bitsOf(a) | q)
             : b != b ? asDouble(bitsOf(b) | q)
                      : asDouble(0x7ff8000000000000ull);
  return r == r ? r : n;
}
inline double nanOf(double r, double a, double b, double c) {
  constexpr uint64_t q = uint64_t(1) << 51;
  double n = c != c ? asDouble(bitsOf(c) | q) : asDouble(0x7ff8000000000000ull);
  n = b != b ? asDouble(bitsOf(b) | q) : n;
  n = a != a ? asDouble(bitsOf(a) | q) : n;
  return r == r ? r : n;
}
template <class L> inline L add(L a, L b) { return nanOf(a + b, a, b); }
template <class L> inline L sub(L a, L b) { return nanOf(a - b, a, b); }
template <class L> inline L mul(L a, L b) { return nanOf(a * b, a, b); }
inline float fma(float a, float b, float c) { return nanOf(__builtin_fmaf(a, b, c), a, b, c); }
inline double fma(double a, double b, double c) { return nanOf(__builtin_fma(a, b, c), a, b, c); }
/// x as a float, rounded to odd: rounding it to half gives what rounding x once would.
inline float toOdd(double x) {
  const float f = static_cast<float>(x);
  const uint32_t b = bitsOf(f), step = __builtin_fabs(x) > __builtin_fabs(double(f)) ? 1 : ~0u;
  return asFloat(double(f) != x && !(b & 1) ? b + step : b);
}
/// A multiply-add of halves, whose result will be rounded to half. The sum in double is exact, or
/// its error is too small to change that rounding.
inline float fmaHalf(float a, float b, float c) {
  return nanOf(toOdd(__builtin_fma(double(a), double(b), double(c))), a, b, c);
}

// Exponent and mantissa as frexp gives them; 0 and the operand itself for zeros, infinities and
// NaNs.
inline int exponentOf(float a) {
  const uint32_t b = bitsOf(a) & 0x7fffffff;
  if (b == 0 || b >= 0x7f800000)
    return 0;
  return b < 0x800000 ? -117 - __builtin_clz(b) : static_cast<int>(b >> 23) - 126;
}
inline float mantissaOf(float a) {
  const uint32_t b = bitsOf(a) & 0x7fffffff, sign = bitsOf(a) & 0x80000000;
  if (b == 0 || b >= 0x7f800000)
    return a != a ? asFloat(bitsOf(a) | 0x400000) : a;
  const uint32_t fraction = b < 0x800000 ? b << (__builtin_clz(b) - 8) : b;
  return asFloat(sign | 0x3f000000 | (fraction & 0x7fffff));
}
inline int exponentOf(double a) {
  const uint64_t b = bitsOf(a) & ~(uint64_t(1) << 63);
  if (b == 0 || b >> 52 == 2047)
    return 0;
  return b >> 52 == 0 ? -1010 - __builtin_clzll(b) : static_cast<int>(b >> 52) - 1022;
}
inline double mantissaOf(double a) {
  constexpr uint64_t kSign = uint64_t(1) << 63, kFraction = (uint64_t(1) << 52) - 1;
  const uint64_t b = bitsOf(a) & ~kSign;
  if (b == 0 || b >> 52 == 2047)
    return a != a ? asDouble(bitsOf(a) | uint64_t(1) << 51) : a;
  const uint64_t fraction = b >> 52 == 0 ? b << (__builtin_clzll(b) - 11) : b;
  return asDouble((bitsOf(a) & kSign) | uint64_t(0x3fe) << 52 | (fraction & kFraction));
}

inline bool isSignaling(float x) { return x != x && !(bitsOf(x) & 0x400000); }
inline bool isSignaling(double x) { return x != x && !(bitsOf(x) & (uint64_t(1) << 51)); }
inline float quiet(float x) { return asFloat(bitsOf(x) | 0x400000); }
inline double quiet(double x) { return asDouble(bitsOf(x) | uint64_t(1) << 51); }
// Minimum and maximum as in IEEE mode: a NaN operand gives way to the other; -0 is below +0.
template <class L> inline L minNum(L a, L b) {
  L lesser = a < b ? a : b < a ? b : (bitsOf(a) >> (sizeof(L) * 8 - 1)) ? a : b;
  return a != a ? b : b != b ? a : lesser;
}
template <class L> inline L maxNum(L a, L b) {
  L greater = a > b ? a : b > a ? b : (bitsOf(a) >> (sizeof(L) * 8 - 1)) ? b : a;
  return a != a ? b : b != b ? a : greater;
}

/// As minNum and maxNum, but a NaN operand, quieted, is the result: a signalling one first.
template <class L> inline L minimum(L a, L b) {
  return isSignaling(a) || (a != a && !isSignaling(b)) ? quiet(a)
         : b != b                                      ? quiet(b)
                                                       : minNum(a, b);
}
template <class L> inline L maximum(L a, L b) {
  return isSignaling(a) || (a != a && !isSignaling(b)) ? quiet(a)
         : b != b                                      ? quiet(b)
                                                       : maxNum(a, b);
}

// The same on the bits of halves, so that payloads stay.
inline bool isNanHalf(uint16_t a) { return (a & 0x7fff) > 0x7c00; }
inline bool signalingHalf(uint16_t h) { return isNanHalf(h) && !(h & 0x200); }
template <bool Max> inline uint16_t minMaxHalf(uint16_t a, uint16_t b) {
  if (isNanHalf(a))
    return b;
  if (isNanHalf(b))
    return a;
  // Sign and magnitude to an order of integers; -0 is below +0.
  int ka = a & 0x8000 ? -int(a & 0x7fff) - 1 : a, kb = b & 0x8000 ? -int(b & 0x7fff) - 1 : b;
  return (ka < kb) == Max ? b : a;
}
template <bool Max> inline uint16_t extremeHalf(uint16_t a, uint16_t b) {
  if (signalingHalf(a) || (isNanHalf(a) && !signalingHalf(b)))
    return static_cast<uint16_t>(a | 0x200);
  return isNanHalf(b) ? static_cast<uint16_t>(b | 0x200) : minMaxHalf<Max>(a, b);
}

// Minimum and maximum by one name for floats and for the bits of halves; in IEEE mode a signalling
// NaN, quieted, is the result.
inline bool isSignaling(uint16_t x) { return signalingHalf(x); }
inline uint16_t quiet(uint16_t x) { return static_cast<uint16_t>(x | 0x200); }
template <bool Max, bool Ieee, class L> inline L extreme(L a, L b) {
  L r;
  if constexpr (std::is_same_v<L, uint16_t>)
    r = minMaxHalf<Max>(a, b);
  else
    r = Max ? maxNum(a, b) : minNum(a, b);
  if constexpr (Ieee) {
    r = isSignaling(b) ? quiet(b) : r;
    r = isSignaling(a) ? quiet(a) : r;
  }
  return r;
}
template <bool Ieee, class L> inline L median(L a, L b, L c) {
  bool nan;
  if constexpr (std::is_same_v<L, uint16_t>)
    nan = isNanHalf(a) || isNanHalf(b) || isNanHalf(c);
  else
    nan = a != a || b != b || c != c;
  if (nan)
    return extreme<false, Ieee>(extreme<false, Ieee>(a, b), c);
  const L m = extreme<true, false>(extreme<true, false>(a, b), c);
  auto equal = [](L x, L y) { // zeros are
    if constexpr (std::is_same_v<L, uint16_t>)
      return x == y || ((x | y) & 0x7fff) == 0;
    else
      return x == y;
  };
  return equal(m, a)   ? extreme<true, false>(b, c)
         : equal(m, b) ? extreme<true, false>(a, c)
                       : extreme<true, false>(a, b);
}

/// As laneOp, but the function is G in IEEE mode.
template <class F, class G, class D, class... S> void laneOpModal(Wave &w, const Inst &i) {
  if (w.mode.ieee)
    laneOp<G, D, S...>(w, i);
  else
    laneOp<F, D, S...>(w, i);
}
template <class T, bool Max> constexpr OpDef minMax(const char *name) {
  using L = typename T::type;
  auto plain = [](L a, L b) { return extreme<Max, false>(a, b); };
  auto ieee = [](L a, L b) { return extreme<Max, true>(a, b); };
  return signature<T, T, T>(name, laneOpModal<decltype(plain), decltype(ieee), T, T, T>);
}
/// Second(First(a, b), c)
template <class T, bool First, bool Second> constexpr OpDef minMax3(const char *name) {
  using L = typename T::type;
  auto plain = [](L a, L b, L c) { return extreme<Second, false>(extreme<First, false>(a, b), c); };
  auto ieee = [](L a, L b, L c) { return extreme<Second, true>(extreme<First, true>(a, b), c); };
  return signature<T, T, T, T>(name, laneOpModal<decltype(plain), decltype(ieee), T, T, T, T>);
}
template <class T> constexpr OpDef median3(const char *name) {
  using L = typename T::type;
  auto plain = [](L a, L b, L c) { return median<false>(a, b, c); };
  auto ieee = [](L a, L b, L c) { return median<true>(a, b, c); };
  return signature<T, T, T, T>(name, laneOpModal<decltype(plain), decltype(ieee), T, T, T, T>);
}

} // namespace
} // namespace flyemu
