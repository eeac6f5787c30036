// Operands of lane operations: from registers and constants to the type that a lane function sees, and
// back, with modifiers and the modes of floats.
// All in it is in an anonymous namespace (lanes.h).
#pragma once

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"
#include "emulator/ops/vector/lanes/halves.h"

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace flyemu {
namespace {

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

} // namespace
} // namespace flyemu
