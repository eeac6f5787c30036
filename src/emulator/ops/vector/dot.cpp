// Dot products of two 16-bit elements, and of four or eight integers of chosen signedness.
#include "emulator/ops/vector/lanes.h"

namespace flyemu {

namespace {
/// Elements of 16 bits as floats: F16, or the bits of a bfloat.
struct Bfloat {
  static const float *fetch(const Wave &w, Operand o, unsigned c, float *buf) {
    alignas(64) uint16_t bits[kChunk];
    const uint16_t *in = flyemu::fetch<U16>(w, o, c, bits);
    FLYEMU_EACH (l)
      buf[l] = asFloat(uint32_t(in[l]) << 16);
    return buf;
  }
  static float round(float x) { return asFloat(uint32_t(toBfloat(x)) << 16); }
};
struct Half {
  static const float *fetch(const Wave &w, Operand o, unsigned c, float *buf) {
    return flyemu::fetch<F16>(w, o, c, buf);
  }
  static float round(float x) { return halfToFloat(floatToHalf(x)); }
};

/// Where the operands' elements come from.
enum class Form {
  Packed,     ///< VOP3P: op_sel, op_sel_hi, and a negation for each element
  Accumulate, ///< VOP2: whole registers, the destination is the addend
  Short       ///< VOP3 with a 16-bit result: the modifiers apply to both elements
};

template <Form F> Operand part(const Inst &i, unsigned k, bool high) {
  Operand o = i.src[k];
  const bool upper = F == Form::Packed ? (high ? i.opselHi : i.opsel) >> k & 1 : high;
  uint8_t flags = o.flags & (kNeg | kAbs);
  if (F == Form::Packed)
    flags = o.flags & (high ? kNegHi : kNeg) ? kNeg : 0;
  o.flags = static_cast<uint8_t>(flags | (upper ? kHigh : 0));
  // A constant's elements are in its low half, the upper one is 0 unless an integer's sign fills
  // it.
  return o;
}

/// What each step does is the manuals': the addend first, one fused multiply-add for each product.
/// CDNA4 adds the addend of its bfloat form last. What hardware rounds in between is not published.
template <class T, Form F> void dot2(Wave &w, const Inst &i) {
  FloatScope<false, false> scope(w);
  const uint64_t exec = w.exec();
  const bool addLast = std::is_same_v<T, Bfloat> && F == Form::Packed &&
                       w.target->processor->family == flydsl::Family::cdna4;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) float b[5][kChunk], r[kChunk];
    const float *a0 = T::fetch(w, part<F>(i, 0, false), c, b[0]),
                *b0 = T::fetch(w, part<F>(i, 1, false), c, b[1]),
                *a1 = T::fetch(w, part<F>(i, 0, true), c, b[2]),
                *b1 = T::fetch(w, part<F>(i, 1, true), c, b[3]);
    if constexpr (F == Form::Short) {
      const float *add = T::fetch(w, i.src[2], c, b[4]);
      FLYEMU_EACH (l)
        r[l] = T::round(fma(a1[l], b1[l], T::round(fma(a0[l], b0[l], add[l]))));
      if constexpr (std::is_same_v<T, Half>) {
        store<F16>(w, i, c, m, r);
      } else {
        if (i.flags & kClamp)
          outputModifiers(w, i, r, 3);
        alignas(64) uint16_t bits[kChunk];
        FLYEMU_EACH (l)
          bits[l] = toBfloat(r[l]);
        store<U16>(w, i, c, m, bits);
      }
    } else {
      Operand third = F == Form::Accumulate ? i.dst : i.src[2];
      third.flags &= kNeg;
      const float *add = flyemu::fetch<F32>(w, third, c, b[4]);
      if (addLast) {
        FLYEMU_EACH (l)
          r[l] = flyemu::add(fma(a1[l], b1[l], mul(a0[l], b0[l])), add[l]);
      } else {
        FLYEMU_EACH (l)
          r[l] = fma(a1[l], b1[l], fma(a0[l], b0[l], add[l]));
      }
      store<F32>(w, i, c, m, r);
    }
  }
}
template <class T, Form F>
constexpr OpDef dot(const char *name, Type d, Type s, Type s2 = Type::None) {
  return {name, dot2<T, F>, Class::Valu, d, {s, s, s2}, {}, Trait::WaitsForProduct};
}

/// Elements whose signedness the negation bits of the first two operands tell.
template <unsigned Bits> void dotChosen(Wave &w, const Inst &i) {
  Inst plain = i;
  const bool signedA = i.src[0].flags & kNeg, signedB = i.src[1].flags & kNeg;
  for (Operand &o : plain.src)
    o.flags = 0;
  const uint64_t exec = w.exec();
  auto element = [](uint32_t x, unsigned k, bool isSigned) -> int32_t {
    const uint32_t top = x << (32 - Bits * (k + 1));
    return isSigned ? static_cast<int32_t>(top) >> (32 - Bits)
                    : static_cast<int32_t>(top >> (32 - Bits));
  };
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) uint32_t ba[kChunk], bb[kChunk], bc[kChunk], r[kChunk];
    const uint32_t *a = fetch<U32>(w, plain.src[0], c, ba), *b = fetch<U32>(w, plain.src[1], c, bb),
                   *add = fetch<U32>(w, plain.src[2], c, bc);
    FLYEMU_EACH (l) {
      int64_t sum = static_cast<int32_t>(add[l]);
      for (unsigned k = 0; k < 32 / Bits; ++k)
        sum += element(a[l], k, signedA) * element(b[l], k, signedB);
      if (i.flags & kClamp)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      r[l] = static_cast<uint32_t>(sum);
    }
    store<U32>(w, i, c, m, r);
  }
}
inline int64_t clip32(int64_t x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
}

/// d += the products of signed elements, saturating with the clamp bit.
template <unsigned Bits, bool Saturate> struct SignedProducts {
  int32_t operator()(uint32_t a, uint32_t b, int32_t c) const {
    int64_t sum = c;
    for (unsigned at = 0; at < 32; at += Bits) {
      const unsigned up = 32 - Bits - at;
      sum += int64_t(int32_t(a << up) >> (32 - Bits)) * (int32_t(b << up) >> (32 - Bits));
    }
    return static_cast<int32_t>(Saturate ? clip32(sum) : sum);
  }
};
template <unsigned Bits> void accumulateProducts(Wave &w, const Inst &i) {
  if (i.flags & kClamp)
    laneAccOp<SignedProducts<Bits, true>, I32, U32, U32>(w, i);
  else
    laneAccOp<SignedProducts<Bits, false>, I32, U32, U32>(w, i);
}

constexpr OpDef kOps[] = {
    signature<I32, U32, U32>("v_dot2c_i32_i16", accumulateProducts<16>)
        .with(Trait::WaitsForProduct),
    signature<I32, U32, U32>("v_dot4c_i32_i8", accumulateProducts<8>).with(Trait::WaitsForProduct),
    signature<I32, U32, U32>("v_dot8c_i32_i4", accumulateProducts<4>).with(Trait::WaitsForProduct),
    dot<Half, Form::Packed>("v_dot2_f32_f16", Type::F32, Type::F16Pair, Type::F32),
    dot<Half, Form::Accumulate>("v_dot2c_f32_f16", Type::F32, Type::F16Pair),
    dot<Half, Form::Accumulate>("v_dot2acc_f32_f16", Type::F32, Type::F16Pair),
    dot<Half, Form::Short>("v_dot2_f16_f16", Type::F16, Type::F16Pair, Type::F16),
    dot<Bfloat, Form::Packed>("v_dot2_f32_bf16", Type::F32, Type::BF16Pair, Type::F32),
    dot<Bfloat, Form::Accumulate>("v_dot2c_f32_bf16", Type::F32, Type::BF16Pair),
    dot<Bfloat, Form::Short>("v_dot2_bf16_bf16", Type::BF16, Type::BF16Pair, Type::BF16),
    OpDef{"v_dot4_i32_iu8", dotChosen<8>, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::B32}}
        .with(Trait::WaitsForProduct),
    OpDef{"v_dot8_i32_iu4", dotChosen<4>, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::B32}}
        .with(Trait::WaitsForProduct),
    laneSat<I32, U32, U32, I32>(
        "v_dot2_i32_i16",
        [](uint32_t a, uint32_t b, int32_t c) {
          return static_cast<int32_t>(uint32_t(c) + uint32_t(int16_t(a) * int16_t(b)) +
                                      uint32_t(int16_t(a >> 16) * int16_t(b >> 16)));
        },
        [](uint32_t a, uint32_t b, int32_t c) {
          return static_cast<int32_t>(clip32(int64_t(c) + int64_t(int16_t(a)) * int16_t(b) +
                                             int64_t(int16_t(a >> 16)) * int16_t(b >> 16)));
        })
        .with(Trait::WaitsForProduct),
    laneSat<U32, U32, U32, U32>(
        "v_dot2_u32_u16",
        [](uint32_t a, uint32_t b, uint32_t c) {
          return c + (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16);
        },
        [](uint32_t a, uint32_t b, uint32_t c) {
          uint64_t r =
              uint64_t(c) + uint64_t(a & 0xffff) * (b & 0xffff) + uint64_t(a >> 16) * (b >> 16);
          return r >> 32 ? ~0u : static_cast<uint32_t>(r);
        })
        .with(Trait::WaitsForProduct),
};
} // namespace

FLYEMU_EXPORT(ValuDot, kOps)

} // namespace flyemu
