// Conversions between number formats.
#include "emulator/ops/vector/fp8.h"
#include "emulator/ops/vector/lanes.h"

namespace flyemu {

namespace {
using u32 = uint32_t;
using i32 = int32_t;

// Float to integer truncates, saturates, and takes NaN to 0.
inline i32 toI32(double x) {
  return x != x ? 0 : x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : i32(x);
}
inline u32 toU32(double x) {
  return x != x ? 0 : x >= 4294967295.0 ? UINT32_MAX : x <= 0.0 ? 0 : u32(x);
}
inline i32 toI32f(float x) {
  return x != x               ? 0
         : x >= 2147483648.0f ? INT32_MAX
         : x < -2147483648.0f ? INT32_MIN
                              : static_cast<i32>(x);
}
inline u32 toU32f(float x) {
  return x != x ? 0 : x >= 4294967296.0f ? UINT32_MAX : x <= 0.0f ? 0 : static_cast<u32>(x);
}
inline i32 toI16(float x) {
  return x != x ? 0 : x >= 32767.0f ? 32767 : x <= -32768.0f ? -32768 : static_cast<i32>(x);
}
inline i32 toU16(float x) {
  return x != x ? 0 : x >= 65535.0f ? 65535 : x <= 0.0f ? 0 : static_cast<i32>(x);
}
inline u32 toU8(float x) { // rounds as MODE says
  float r = __builtin_rintf(x);
  return r != r ? 0 : r >= 255.0f ? 255 : r <= 0.0f ? 0 : static_cast<u32>(r);
}
// The scaled values are exact in double.
inline u32 snorm16(float x) {
  const double r = __builtin_rint(double(x) * 32767.0);
  i32 v = r != r ? 0 : r >= 32767.0 ? 32767 : r <= -32767.0 ? -32767 : static_cast<i32>(r);
  return static_cast<u32>(v) & 0xffff;
}
inline u32 unorm16(float x) {
  const double r = __builtin_rint(double(x) * 65535.0);
  return r != r ? 0 : r >= 65535.0 ? 65535 : r <= 0.0 ? 0 : static_cast<u32>(r);
}

const FloatFormat &e4m3(const Wave &w) {
  return w.target->has(flydsl::Feature::ocp_fp8) ? flydsl::detail::kE4m3fn
                                                 : flydsl::detail::kE4m3fnuz;
}
const FloatFormat &e5m2(const Wave &w) {
  return w.target->has(flydsl::Feature::ocp_fp8) ? flydsl::detail::kE5m2
                                                 : flydsl::detail::kE5m2fnuz;
}
template <bool Bf8> const FloatFormat &formatOf(const Wave &w) { return Bf8 ? e5m2(w) : e4m3(w); }

template <class F> void eachLane(const Wave &w, F f) {
  uint64_t exec = w.exec();
  for (unsigned lane = 0; lane < w.lanes; ++lane)
    if (exec >> lane & 1)
      f(lane);
}
inline u32 bits32(const Wave &w, const Operand &o, unsigned lane) {
  u32 x = o.isVgpr() ? w.row(o.index)[lane] : read32(w, o);
  x = o.flags & kAbs ? x & 0x7fffffff : x;
  return o.flags & kNeg ? x ^ 0x80000000 : x;
}

/// Two floats to two halves, as MODE says.
void packHalves(Wave &w, const Inst &i) {
  FloatScope<false, true> scope(w);
  const uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const u32 m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) float b[2][kChunk];
    alignas(64) uint16_t h[2][kChunk];
    alignas(64) u32 r[kChunk];
    for (unsigned k = 0; k < 2; ++k)
      roundHalves(w, fetch<F32>(w, i.src[k], c, b[k]), h[k]);
    FLYEMU_EACH (l)
      r[l] = h[0][l] | u32(h[1][l]) << 16;
    store<U32>(w, i, c, m, r);
  }
}

/// Two floats to two fp8, into the half of the register that op_sel[3] tells.
template <bool Bf8> void packFp8(Wave &w, const Inst &i) {
  const FloatFormat &f = formatOf<Bf8>(w);
  const unsigned shift = i.opsel & 8 ? 16 : 0;
  u32 *out = w.row(i.dst.index);
  eachLane(w, [&](unsigned lane) {
    u32 lo = floatToFp8(asFloat(bits32(w, i.src[0], lane)), f, w.mode.fp16Ovfl);
    u32 hi = floatToFp8(asFloat(bits32(w, i.src[1], lane)), f, w.mode.fp16Ovfl);
    out[lane] = (out[lane] & ~(0xffffu << shift)) | (lo | hi << 8) << shift;
  });
}
/// One float to fp8 with stochastic rounding, into the byte that op_sel[3:2] tells.
template <bool Bf8> void stochasticFp8(Wave &w, const Inst &i) {
  const FloatFormat &f = formatOf<Bf8>(w);
  const unsigned shift = 8 * (i.opsel >> 2 & 3);
  u32 *out = w.row(i.dst.index);
  eachLane(w, [&](unsigned lane) {
    u32 random = bits32(w, i.src[1], lane);
    u32 x = floatToFp8(asFloat(bits32(w, i.src[0], lane)), f, w.mode.fp16Ovfl, &random);
    out[lane] = (out[lane] & ~(255u << shift)) | x << shift;
  });
}
/// One fp8 to float. SDWA has selected the byte already; op_sel selects it in VOP3 of gfx12.
template <bool Bf8> void unpackFp8(Wave &w, const Inst &i) {
  const FloatFormat &f = formatOf<Bf8>(w);
  const unsigned shift = 8 * ((i.opsel & 1) << 1 | (i.opsel >> 1 & 1));
  u32 *out = w.row(i.dst.index);
  eachLane(w, [&](unsigned lane) {
    out[lane] = bitsOf(fp8ToFloat(bits32(w, i.src[0], lane) >> shift, f));
  });
}
template <bool Bf8> void unpackFp8Pair(Wave &w, const Inst &i) {
  const FloatFormat &f = formatOf<Bf8>(w);
  const unsigned shift = i.opsel & 1 ? 16 : 0;
  u32 *out = w.row(i.dst.index);
  eachLane(w, [&](unsigned lane) {
    u32 x = bits32(w, i.src[0], lane) >> shift;
    out[lane] = bitsOf(fp8ToFloat(x, f));
    out[kLanes + lane] = bitsOf(fp8ToFloat(x >> 8, f));
  });
}
/// gfx1250: one fp8 to a half, which holds every value of both formats, or of two the pair.
template <bool Bf8, bool Pair> void unpackFp8ToHalf(Wave &w, const Inst &i) {
  const FloatFormat &f = formatOf<Bf8>(w);
  const unsigned shift =
      Pair ? (i.opsel & 1 ? 16 : 0) : 8 * ((i.opsel & 1) << 1 | (i.opsel >> 1 & 1));
  const uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const u32 m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) u32 buffer[kChunk], r[kChunk];
    alignas(64) uint16_t low[kChunk];
    const u32 *in = fetch<U32>(w, i.src[0], c, buffer);
    for (int l = 0; l < kChunk; ++l) {
      const u32 x = in[l] >> shift;
      low[l] = floatToHalf(fp8ToFloat(x, f));
      r[l] = low[l] | u32(floatToHalf(fp8ToFloat(x >> 8, f))) << 16;
    }
    if constexpr (Pair)
      store<U32>(w, i, c, m, r);
    else
      store<U16>(w, i, c, m, low);
  }
}
/// gfx1250: two halves of a register to two fp8, into a half of a register.
template <bool Bf8> void packFp8OfHalves(Wave &w, const Inst &i) {
  if (i.src[0].flags & (kNeg | kAbs))
    throw WaveFault{"a sign of two halves at once: no source says which half it changes"};
  const FloatFormat &f = formatOf<Bf8>(w);
  const uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const u32 m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) u32 buffer[kChunk];
    alignas(64) uint16_t r[kChunk];
    const u32 *in = fetch<U32>(w, i.src[0], c, buffer);
    for (int l = 0; l < kChunk; ++l) {
      const u32 low = floatToFp8(halfToFloat(static_cast<uint16_t>(in[l])), f, w.mode.fp16Ovfl),
                high =
                    floatToFp8(halfToFloat(static_cast<uint16_t>(in[l] >> 16)), f, w.mode.fp16Ovfl);
      r[l] = static_cast<uint16_t>(low | high << 8);
    }
    store<U16>(w, i, c, m, r);
  }
}
/// d = s2 plus four products, one fused multiply-add after the other.
template <bool A, bool B> void dot4Fp8(Wave &w, const Inst &i) {
  FloatScope<false, false> scope(w);
  const FloatFormat &fa = formatOf<A>(w), &fb = formatOf<B>(w);
  const uint64_t exec = w.exec();
  Operand third = i.src[2];
  // NEG_HI is the third operand's absolute value.
  third.flags = static_cast<uint8_t>((third.flags & kNeg) | (third.flags & kNegHi ? kAbs : 0));
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const u32 m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) u32 ba[kChunk], bb[kChunk];
    alignas(64) float bc[kChunk], r[kChunk];
    const u32 *a = fetch<U32>(w, i.src[0], c, ba), *b = fetch<U32>(w, i.src[1], c, bb);
    const float *add = fetch<F32>(w, third, c, bc);
    for (int l = 0; l < kChunk; ++l) {
      float sum = add[l];
      for (unsigned at = 0; at < 32; at += 8)
        sum = fma(fp8ToFloat(a[l] >> at, fa), fp8ToFloat(b[l] >> at, fb), sum);
      r[l] = sum;
    }
    store<F32>(w, i, c, m, r);
  }
}
template <bool A, bool B> constexpr OpDef dot4(const char *name) {
  return {name, dot4Fp8<A, B>,         Class::Valu, Type::F32, {Type::B32, Type::B32, Type::F32},
          {},   Trait::WaitsForProduct};
}
/// Conversions of floats of 8 bits, whose clamp bit chooses the format on gfx1250.
consteval OpDef fp8Op(const char *name, Handler fn, Type dst, Type s1 = Type::None,
                      Type s0 = Type::F32) {
  return OpDef{name, fn, Class::Valu, dst, {s0, s1, Type::None}}
      .costs(Cost::Conversion)
      .with(Trait::ClampIsFormat);
}
consteval OpDef halfOp(const char *name, Handler fn, Type dst) {
  return fp8Op(name, fn, dst, Type::None, Type::B32);
}

constexpr OpDef kOps[] = {
    lane<F32, I32>("v_cvt_f32_i32", [](i32 a) { return static_cast<float>(a); })
        .costs(Cost::Conversion),
    lane<F32, U32>("v_cvt_f32_u32", [](u32 a) { return static_cast<float>(a); })
        .costs(Cost::Conversion),
    lane<U32, F32>("v_cvt_u32_f32", [](float a) { return toU32f(a); }).costs(Cost::Conversion),
    lane<I32, F32>("v_cvt_i32_f32", [](float a) { return toI32f(a); }).costs(Cost::Conversion),
    lane<F64, I32>("v_cvt_f64_i32", [](i32 a) { return static_cast<double>(a); }),
    lane<F64, U32>("v_cvt_f64_u32", [](u32 a) { return static_cast<double>(a); }),
    lane<I32, F64>("v_cvt_i32_f64", [](double a) { return toI32(a); }),
    lane<U32, F64>("v_cvt_u32_f64", [](double a) { return toU32(a); }),
    lane<F64, F32>("v_cvt_f64_f32", [](float a) { return static_cast<double>(a); }),
    lane<F32, F64>("v_cvt_f32_f64", [](double a) { return static_cast<float>(a); }),
    lane<F16, F32>("v_cvt_f16_f32", [](float a) { return a; }).costs(Cost::Conversion),
    lane<F32, F16>("v_cvt_f32_f16", [](float a) { return a; }).costs(Cost::Conversion),
    lane<F32, BF16>("v_cvt_f32_bf16", [](u32 a) { return asFloat(a << 16); })
        .costs(Cost::Conversion),
    lane<F16, U16>("v_cvt_f16_u16", [](u32 a) { return static_cast<float>(a); }),
    lane<F16, I16>("v_cvt_f16_i16", [](i32 a) { return static_cast<float>(a); }),
    lane<U16, F16>("v_cvt_u16_f16", [](float a) { return toU16(a); }),
    lane<I16, F16>("v_cvt_i16_f16", [](float a) { return toI16(a); }),
    lane<I32, I16>("v_cvt_i32_i16", [](i32 a) { return a; }),
    lane<U32, U16>("v_cvt_u32_u16", [](u32 a) { return a; }),
    lane<I32, F32>("v_cvt_rpi_i32_f32", [](float a) { return toI32f(__builtin_floorf(a + 0.5f)); })
        .costs(Cost::Conversion),
    lane<I32, F32>("v_cvt_nearest_i32_f32",
                   [](float a) { return toI32f(__builtin_floorf(a + 0.5f)); }),
    lane<I32, F32>("v_cvt_flr_i32_f32", [](float a) { return toI32f(__builtin_floorf(a)); })
        .costs(Cost::Conversion),
    lane<I32, F32>("v_cvt_floor_i32_f32", [](float a) { return toI32f(__builtin_floorf(a)); }),
    lane<F32, U32>("v_cvt_off_f32_i4",
                   [](u32 a) { return static_cast<float>(i32(a << 28) >> 28) / 16.0f; })
        .costs(Cost::Conversion),
    lane<F32, U32>("v_cvt_f32_ubyte0", [](u32 a) { return static_cast<float>(a & 255); }),
    lane<F32, U32>("v_cvt_f32_ubyte1", [](u32 a) { return static_cast<float>(a >> 8 & 255); }),
    lane<F32, U32>("v_cvt_f32_ubyte2", [](u32 a) { return static_cast<float>(a >> 16 & 255); }),
    lane<F32, U32>("v_cvt_f32_ubyte3", [](u32 a) { return static_cast<float>(a >> 24); }),
    lane<U32, F32, U32, U32>("v_cvt_pk_u8_f32",
                             [](float a, u32 at, u32 old) {
                               u32 shift = 8 * (at & 3);
                               return (old & ~(255u << shift)) | toU8(a) << shift;
                             }),
    laneAcc<U32, F32, U32>("v_cvt_pkaccum_u8_f32",
                           [](float a, u32 at, u32 old) {
                             u32 shift = 8 * (at & 3);
                             return (old & ~(255u << shift)) | toU8(a) << shift;
                           }),
    lane<U32, F32, F32>("v_cvt_pkrtz_f16_f32",
                        [](float a, float b) { return halfRtz(a) | u32(halfRtz(b)) << 16; })
        .with(Trait::PacksHalves),
    lane<U32, F32, F32>("v_cvt_pk_rtz_f16_f32",
                        [](float a, float b) { return halfRtz(a) | u32(halfRtz(b)) << 16; })
        .with(Trait::PacksHalves),
    signature<U32, F32, F32>("v_cvt_pk_f16_f32", packHalves).with(Trait::PacksHalves),
    lane<U32, F32, F32>("v_cvt_pk_bf16_f32",
                        [](float a, float b) { return toBfloat(a) | u32(toBfloat(b)) << 16; })
        .with(Trait::PacksHalves),
    lane<U32, F32, F32>("v_cvt_pknorm_i16_f32",
                        [](float a, float b) { return snorm16(a) | snorm16(b) << 16; }),
    lane<U32, F32, F32>("v_cvt_pknorm_u16_f32",
                        [](float a, float b) { return unorm16(a) | unorm16(b) << 16; }),
    lane<U32, F16, F16>("v_cvt_pknorm_i16_f16",
                        [](float a, float b) { return snorm16(a) | snorm16(b) << 16; }),
    lane<U32, F16, F16>("v_cvt_pknorm_u16_f16",
                        [](float a, float b) { return unorm16(a) | unorm16(b) << 16; }),
    lane<U32, F32, F32>("v_cvt_pk_norm_i16_f32",
                        [](float a, float b) { return snorm16(a) | snorm16(b) << 16; }),
    lane<U32, F32, F32>("v_cvt_pk_norm_u16_f32",
                        [](float a, float b) { return unorm16(a) | unorm16(b) << 16; }),
    lane<U32, F16, F16>("v_cvt_pk_norm_i16_f16",
                        [](float a, float b) { return snorm16(a) | snorm16(b) << 16; }),
    lane<U32, F16, F16>("v_cvt_pk_norm_u16_f16",
                        [](float a, float b) { return unorm16(a) | unorm16(b) << 16; }),
    lane<U32, F32, F32>(
        "v_cvt_pk_i16_f32",
        [](float a, float b) { return (u32(toI16(a)) & 0xffff) | u32(toI16(b)) << 16; }),
    lane<U32, F32, F32>("v_cvt_pk_u16_f32",
                        [](float a, float b) { return u32(toU16(a)) | u32(toU16(b)) << 16; }),
    lane<U16, F16>("v_cvt_norm_i16_f16", [](float a) { return snorm16(a); }),
    lane<U16, F16>("v_cvt_norm_u16_f16", [](float a) { return unorm16(a); }),
    dot4<false, false>("v_dot4_f32_fp8_fp8"),
    dot4<false, true>("v_dot4_f32_fp8_bf8"),
    dot4<true, false>("v_dot4_f32_bf8_fp8"),
    dot4<true, true>("v_dot4_f32_bf8_bf8"),
    fp8Op("v_cvt_pk_fp8_f32", packFp8<false>, Type::B32, Type::F32),
    fp8Op("v_cvt_pk_bf8_f32", packFp8<true>, Type::B32, Type::F32),
    fp8Op("v_cvt_sr_fp8_f32", stochasticFp8<false>, Type::B32, Type::B32),
    fp8Op("v_cvt_sr_bf8_f32", stochasticFp8<true>, Type::B32, Type::B32),
    fp8Op("v_cvt_f32_fp8", unpackFp8<false>, Type::F32),
    fp8Op("v_cvt_f32_bf8", unpackFp8<true>, Type::F32),
    fp8Op("v_cvt_pk_f32_fp8", unpackFp8Pair<false>, Type::B64),
    fp8Op("v_cvt_pk_f32_bf8", unpackFp8Pair<true>, Type::B64),
    halfOp("v_cvt_f16_fp8", unpackFp8ToHalf<false, false>, Type::B16),
    halfOp("v_cvt_f16_bf8", unpackFp8ToHalf<true, false>, Type::B16),
    halfOp("v_cvt_pk_f16_fp8", unpackFp8ToHalf<false, true>, Type::B32),
    halfOp("v_cvt_pk_f16_bf8", unpackFp8ToHalf<true, true>, Type::B32),
    halfOp("v_cvt_pk_fp8_f16", packFp8OfHalves<false>, Type::B16),
    halfOp("v_cvt_pk_bf8_f16", packFp8OfHalves<true>, Type::B16),
};
} // namespace

FLYEMU_EXPORT(ValuConvert, kOps)

} // namespace flyemu
