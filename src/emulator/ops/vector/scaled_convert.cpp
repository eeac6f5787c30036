// gfx950's conversions between wide formats and block-scaled small ones (V_CVT_SCALEF32_*), and its
// stochastic roundings to 16 bits. The scale is the exponent of a float: small values are divided
// by it on the way in and multiplied on the way out.
//
// gfx1250's of eight elements to 8 and 4 bits (pk8): rocjitsu divides by the whole float, rounds to
// nearest even, and saturates as MODE says; Triton casts by them with the scale 1. By gfx950's rule
// the scale is a power of two, where both agree: others are refused.
#include "emulator/ops/memory/atomics.h"
#include "emulator/ops/memory/memory_ops.h"
#include "emulator/ops/tables.h"
#include "emulator/ops/vector/fp8.h"

#include <deque>
#include <string>
#include <vector>

namespace flyemu {

namespace {
enum class Format : uint8_t { F32, F16, BF16, Fp8, Bf8, Fp6, Bf6, Fp4 };

struct FormatInfo {
  const char *name;
  unsigned bits;
  const FloatFormat *small;
};
constexpr FormatInfo kFormats[] = {{"f32", 32, nullptr},
                                   {"f16", 16, nullptr},
                                   {"bf16", 16, nullptr},
                                   {"fp8", 8, &flydsl::detail::kE4m3fn},
                                   {"bf8", 8, &flydsl::detail::kE5m2},
                                   {"fp6", 6, &flydsl::detail::kE2m3fn},
                                   {"bf6", 6, &flydsl::detail::kE3m2fn},
                                   {"fp4", 4, &flydsl::detail::kE2m1fn}};
const FormatInfo &infoOf(Format f) { return kFormats[static_cast<unsigned>(f)]; }

/// What an operation does; OpDef::conversion is its index.
struct Conversion {
  Format from, to;
  unsigned count;          ///< elements
  bool stochastic;         ///< the second source is the random value
  bool interleaved;        ///< two sources of half the elements each
  bool wholeScale = false; ///< sources disagree on scales that are no powers of two
};

std::vector<Conversion> &conversions() {
  static auto &all = *new std::vector<Conversion>; // not destroyed: streams may run at exit
  return all;
}

uint32_t nextRandom(uint32_t x) { return (x << 1) ^ (x >> 31 ? 197u : 0u); } // V_PRNG_B32

uint32_t word(const Wave &w, const Operand &o, unsigned row, unsigned lane) {
  uint32_t x = o.isVgpr()             ? w.row(o.index + row)[lane]
               : o.kind == Kind::Sgpr ? w.s[o.index + row]
                                      : read32(w, o);
  if (row == 0) {
    x = o.flags & kAbs ? x & 0x7fffffff : x;
    x = o.flags & kNeg ? x ^ 0x80000000 : x;
  }
  return x;
}

uint32_t bitsAt(const Wave &w, const Operand &o, unsigned bit, unsigned count, unsigned lane) {
  uint64_t x = word(w, o, bit / 32, lane);
  if (bit % 32 + count > 32)
    x |= uint64_t(word(w, o, bit / 32 + 1, lane)) << 32;
  return static_cast<uint32_t>(x >> (bit % 32) & ((uint64_t(1) << count) - 1));
}

float decode(Format f, uint32_t x) {
  switch (f) {
  case Format::F32:
    return __builtin_bit_cast(float, x);
  case Format::F16:
    return atomics::halfBitsToFloat(static_cast<uint16_t>(x));
  case Format::BF16:
    return __builtin_bit_cast(float, x << 16);
  default:
    return fp8ToFloat(x, *infoOf(f).small);
  }
}
uint32_t encode(Format f, float x, bool saturate, const uint32_t *random) {
  switch (f) {
  case Format::F32:
    return __builtin_bit_cast(uint32_t, x);
  case Format::F16:
    return atomics::floatToHalfBits(x);
  case Format::BF16:
    return atomics::floatToBfloat(x);
  default:
    return floatToFp8(x, *infoOf(f).small, saturate, random);
  }
}

/// x * 2^e in one rounding.
float scaled(float x, int e) { return static_cast<float>(std::ldexp(static_cast<double>(x), e)); }

void convert(Wave &w, const Inst &i) {
  const Conversion &c = conversions()[i.op->conversion];
  const FormatInfo &from = infoOf(c.from), &to = infoOf(c.to);
  const bool narrowing = to.bits < from.bits;
  const bool twoSources =
      c.interleaved || (narrowing && c.count == 2 && c.from == Format::F32 && !c.stochastic);
  const Operand &scaleOperand = c.stochastic || twoSources ? i.src[2] : i.src[1];
  // Small elements of less than a register are chosen by op_sel: in a source by its low bits, in a
  // destination by its high ones; the unit is what the elements take.
  const unsigned smallBits = (narrowing ? to.bits : from.bits) * c.count;
  unsigned select = 0;
  if (smallBits <= 16)
    select = narrowing ? (smallBits == 16 ? (i.opsel >> 3 & 1) * 16 : (i.opsel >> 2 & 3) * 8)
                       : (smallBits == 16 ? (i.opsel & 1) * 16 : (i.opsel & 3) * 8);
  forLanes(w.exec(), [&](unsigned lane) {
    const uint32_t scaleBits = word(w, scaleOperand, 0, lane), scale = scaleBits >> 23 & 255;
    if (c.wholeScale && (scaleBits & 0x807fffff || !scale || scale == 255))
      throw WaveFault{"a scale that is no positive power of two of the normal floats: whether its "
                      "other bits count is not known here",
                      static_cast<int>(lane)};
    uint32_t random = c.stochastic ? word(w, i.src[1], 0, lane) : 0;
    uint32_t out[33] = {};
    for (unsigned k = 0; k < c.count; ++k) {
      uint32_t raw;
      if (twoSources)
        raw = word(w, i.src[k % 2], k / 2, lane);
      else
        raw = bitsAt(w, i.src[0], (narrowing ? 0 : select) + k * from.bits, from.bits, lane);
      float x = decode(c.from, raw);
      x = scale == 255 ? __builtin_nanf("")
                       : scaled(x, narrowing ? 127 - static_cast<int>(scale)
                                             : static_cast<int>(scale) - 127);
      const uint64_t y = encode(c.to, x, w.mode.fp16Ovfl, c.stochastic ? &random : nullptr);
      const unsigned at = k * to.bits;
      out[at / 32] |= static_cast<uint32_t>(y << (at % 32));
      if (at % 32 + to.bits > 32)
        out[at / 32 + 1] |= static_cast<uint32_t>(y >> (32 - at % 32));
      random = nextRandom(random);
    }
    const unsigned total = to.bits * c.count;
    uint32_t *row = w.row(i.dst.index);
    if (narrowing && total <= 16) {
      const uint32_t mask = ((1u << total) - 1) << select;
      row[lane] = (row[lane] & ~mask) | out[0] << select;
    } else if (total == 16) { // one 16-bit result: op_sel tells the half
      const unsigned shift = i.opsel & 8 ? 16 : 0;
      row[lane] = (row[lane] & ~(0xffffu << shift)) | out[0] << shift;
    } else {
      for (unsigned d = 0; d < total / 32; ++d)
        row[d * kLanes + lane] = out[d];
    }
  });
}

/// To 16 bits by a random value.
template <bool Bfloat> void stochastic16(Wave &w, const Inst &i) {
  const FloatFormat &format = Bfloat ? flydsl::detail::kBf16 : flydsl::detail::kF16;
  forLanes(w.exec(), [&](unsigned lane) {
    const float x = __builtin_bit_cast(float, word(w, i.src[0], 0, lane));
    const uint32_t random = word(w, i.src[1], 0, lane);
    const uint32_t r = x == x ? format.fromFloat(x, flydsl::detail::FloatOverflow::special, random)
                       : Bfloat ? atomics::floatToBfloat(x)
                                : atomics::floatToHalfBits(x);
    uint32_t &out = w.row(i.dst.index)[lane];
    const unsigned shift = i.opsel & 8 ? 16 : 0;
    out = (out & ~(0xffffu << shift)) | (r & 0xffff) << shift;
  });
}

Type typeOfBits(unsigned bits) {
  return bits <= 32    ? Type::B32
         : bits <= 64  ? Type::B64
         : bits == 128 ? Type::B128
         : bits <= 256 ? Type::B256
         : bits <= 512 ? Type::B512
                       : Type::B1024;
}

std::vector<OpDef> makeTable() {
  static auto &names = *new std::deque<std::string>;
  std::vector<OpDef> ops;
  auto add = [&](const std::string &name, Conversion c) {
    const unsigned fromBits = infoOf(c.from).bits * c.count, toBits = infoOf(c.to).bits * c.count;
    names.push_back("v_cvt_scalef32_" + name);
    OpDef d{names.back(),
            convert,
            Class::Valu,
            typeOfBits(toBits),
            {typeOfBits(c.interleaved ? fromBits / 2 : fromBits), Type::F32, Type::F32}};
    d.conversion = static_cast<uint16_t>(conversions().size());
    if (c.interleaved)
      d.src[1] = d.src[0];
    if (c.stochastic)
      d.src[1] = Type::B32;
    if (c.wholeScale)
      d.flow = Flow::Elements;
    conversions().push_back(c);
    ops.push_back(d);
  };
  auto nameOf = [](Format f) { return std::string(infoOf(f).name); };
  for (Format wide : {Format::F32, Format::F16, Format::BF16})
    for (Format small : {Format::Fp8, Format::Bf8, Format::Fp4})
      add("pk8_" + nameOf(small) + "_" + nameOf(wide), {wide, small, 8, false, false, true});
  for (Format wide : {Format::F32, Format::F16, Format::BF16}) {
    for (Format small : {Format::Fp8, Format::Bf8}) {
      if (wide != Format::BF16)
        add(nameOf(wide) + "_" + nameOf(small), {small, wide, 1, false, false});
      add("sr_" + nameOf(small) + "_" + nameOf(wide), {wide, small, 1, true, false});
    }
    for (Format small : {Format::Fp8, Format::Bf8, Format::Fp4}) {
      add("pk_" + nameOf(wide) + "_" + nameOf(small), {small, wide, 2, false, false});
      add("pk_" + nameOf(small) + "_" + nameOf(wide), {wide, small, 2, false, false});
    }
    add("sr_pk_fp4_" + nameOf(wide), {wide, Format::Fp4, 2, true, false});
    for (Format small : {Format::Fp6, Format::Bf6}) {
      add("pk32_" + nameOf(wide) + "_" + nameOf(small), {small, wide, 32, false, false});
      add("sr_pk32_" + nameOf(small) + "_" + nameOf(wide), {wide, small, 32, true, false});
      if (wide == Format::F32)
        add("2xpk16_" + nameOf(small) + "_f32", {wide, small, 32, false, true});
      else
        add("pk32_" + nameOf(small) + "_" + nameOf(wide), {wide, small, 32, false, false});
    }
  }
  ops.push_back({"v_cvt_sr_bf16_f32",
                 stochastic16<true>,
                 Class::Valu,
                 Type::B32,
                 {Type::F32, Type::B32, Type::None}});
  ops.push_back({"v_cvt_sr_f16_f32",
                 stochastic16<false>,
                 Class::Valu,
                 Type::B32,
                 {Type::F32, Type::B32, Type::None}});
  return ops;
}
} // namespace

OpTable tableScaledConvert() {
  static const auto &ops = *new std::vector<OpDef>(makeTable());
  return {ops.data(), ops.data() + ops.size()};
}

} // namespace flyemu
