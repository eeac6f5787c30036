#include "blocks.h"

#include "block_bytes.h"

#include <bit>
#include <utility>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// Sources: kvalues_iq4nl and kvalues_mxfp4 of ggml-common.h.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::int8_t kFp4Doubles[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

Numeric lookedUp(const std::int8_t (&table)[16], const Int32 &index) {
  return fx::Vector::of(table, fx::i32).at(index).to(fx::f32);
}

//===-- Formats whose neighbours have neighbouring bytes -----------------------===//

/// The bytes of neighbours in words of four.
struct Codes {
  std::vector<Int32> words;

  /// The bits of each byte that `mask` has, from bit `shift` on.
  Codes bitsOf(const Numeric::Arg &shift, int mask) const {
    Codes codes;
    for (const Int32 &word : words)
      codes.words.push_back(bits(word, shift, mask * 0x01010101));
    return codes;
  }
  /// These bits with those of others above them.
  Codes with(const Codes &above, int shift) const {
    Codes codes;
    for (std::size_t i = 0; i < words.size(); ++i)
      codes.words.emplace_back(words[i] | (above.words[i] << shift));
    return codes;
  }
  Int32 code(int i) const { return bits(words[static_cast<std::size_t>(i / 4)], i % 4 * 8, 255); }
  Int32 signedCode(int i) const {
    return Int32((words[static_cast<std::size_t>(i / 4)] << (24 - i % 4 * 8)) >> 24);
  }
};

/// `count` neighbours of a block, a power of two up to 16, that begin at a multiple of `count`: they are of
/// the same 16 weights.
struct Neighbours {
  Block block;
  Int32 first;
  int count;

  /// The first of the 16 weights.
  Int32 sixteen() const { return Int32(first & ~15); }
  /// The bytes of the neighbours, where the 16 weights have 16 bytes from number `of` on.
  Codes bytes(const Int32 &of) const {
    Codes codes;
    const fx::Pointer at = fx::Pointer::from_address(block.plus(Int32(of + (first & 15))), fx::u8);
    if (count == 1) {
      codes.words.emplace_back(at.load().to(fx::i32));
      return codes;
    }
    // The hardware loads words at any address.
    const fx::Vector all = at.load(count);
    if (count == 2) {
      codes.words.emplace_back(all.bitcast(fx::u16).at(0).to(fx::i32));
      return codes;
    }
    for (int i = 0; i < count / 4; ++i)
      codes.words.emplace_back(all.bitcast(fx::i32).at(i));
    return codes;
  }
  /// Four bits of each of 32 weights: weight j is in the low bits of byte j, weight 16 + j in the high ones.
  Codes nibbles(int of) const { return bytes(Int32(of)).bitsOf((first >> 4) * 4, 15); }
  /// A bit of each of 32 weights, in four bytes.
  Int32 bitOf(int of, int i) const {
    const Int32 all(
        fx::Pointer::from_address(block.plus(of), fx::u8).load(4).bitcast(fx::i32).at(0));
    return bits(all, first + i, 1);
  }
  std::vector<Numeric> each(const std::function<Numeric(int i)> &value) const {
    std::vector<Numeric> values;
    for (int i = 0; i < count; ++i)
      values.push_back(value(i));
    return values;
  }
};
using Weights = std::vector<Numeric>;

Weights q4_0(const Neighbours &x) {
  const Codes q = x.nibbles(2);
  const Numeric d = x.block.half(0);
  return x.each([&](int i) { return (q.code(i) - 8).to(fx::f32) * d; });
}
Weights q4_1(const Neighbours &x) {
  const Codes q = x.nibbles(4);
  const Numeric d = x.block.half(0), m = x.block.half(2);
  return x.each([&](int i) { return q.code(i).to(fx::f32) * d + m; });
}
Weights q5_0(const Neighbours &x) {
  const Codes q = x.nibbles(6);
  const Numeric d = x.block.half(0);
  return x.each([&](int i) { return ((q.code(i) | (x.bitOf(2, i) << 4)) - 16).to(fx::f32) * d; });
}
Weights q5_1(const Neighbours &x) {
  const Codes q = x.nibbles(8);
  const Numeric d = x.block.half(0), m = x.block.half(2);
  return x.each([&](int i) { return (q.code(i) | (x.bitOf(4, i) << 4)).to(fx::f32) * d + m; });
}
Weights q8_0(const Neighbours &x) {
  const Codes q = x.bytes(x.sixteen() + 2);
  const Numeric d = x.block.half(0);
  return x.each([&](int i) { return q.signedCode(i).to(fx::f32) * d; });
}
Weights iq4_nl(const Neighbours &x) {
  const Codes q = x.nibbles(2);
  const Numeric d = x.block.half(0);
  return x.each([&](int i) { return lookedUp(kIq4Values, q.code(i)) * d; });
}
Weights mxfp4(const Neighbours &x) {
  const Codes q = x.nibbles(1);
  // Half of 2^(e - 127) as a float: its bits are e - 1 as the exponent, or a denormal for e below 2.
  const Int32 e = x.block.byte(0);
  const Int32 scale = fx::select(e < 2, Int32(0x00200000) << e, (e - 1) << 23);
  return x.each([&](int i) { return lookedUp(kFp4Doubles, q.code(i)) * scale.bitcast(fx::f32); });
}
/// Two bits of each of 256 weights: 32 neighbours are in 32 bytes, four times.
Codes pairs(const Neighbours &x, int of) {
  const Int32 j = x.sixteen();
  return x.bytes(Int32((j >> 7) * 32 + (j & 31) + of)).bitsOf(((j >> 5) & 3) * 2, 3);
}
Weights q2_k(const Neighbours &x) { // scales 16, qs 64, d, dmin
  const Int32 scale = x.block.byte(x.sixteen() >> 4);
  const Codes q = pairs(x, 16);
  const Numeric d = x.block.half(80) * (scale & 15).to(fx::f32),
                m = x.block.half(82) * (scale >> 4).to(fx::f32);
  return x.each([&](int i) { return d * q.code(i).to(fx::f32) - m; });
}
Weights q3_k(const Neighbours &x) {        // hmask 32, qs 64, scales 12, d
  const Int32 j = x.sixteen(), s = j >> 4; // of 16 scales
  const Int32 low = bits(x.block.byte(96 + (s & 7)), (s >> 3) * 4, 15),
              high = bits(x.block.byte(104 + (s & 3)), (s >> 2) * 2, 3);
  const Codes q = pairs(x, 32).with(x.bytes(j & 31).bitsOf(j >> 5, 1), 2);
  const Numeric d = x.block.half(108) * ((low | (high << 4)) - 32).to(fx::f32);
  return x.each([&](int i) { return d * (q.code(i) - 4).to(fx::f32); });
}
/// Scale and minimum `s` of the 12 bytes that Q4_K and Q5_K have from byte 4 on.
std::pair<Numeric, Numeric> sixBits(const Block &block, const Int32 &s) {
  const Int32 a = block.byte(4 + (s & 3)), b = block.byte(8 + (s & 3)),
              c = block.byte(12 + (s & 3));
  const fx::Boolean plain = s < 4;
  return {fx::select(plain, a & 63, (c & 15) | ((a >> 6) << 4)).to(fx::f32),
          fx::select(plain, b & 63, (c >> 4) | ((b >> 6) << 4)).to(fx::f32)};
}
/// Four bits of each of 256 weights: 64 neighbours are in 32 bytes.
Codes halves(const Neighbours &x, int of) {
  const Int32 j = x.sixteen();
  return x.bytes(Int32((j >> 6) * 32 + (j & 31) + of)).bitsOf(((j >> 5) & 1) * 4, 15);
}
Weights scaled(const Neighbours &x, const Codes &q) {
  const auto [scale, minimum] = sixBits(x.block, x.sixteen() >> 5);
  const Numeric d = x.block.half(0) * scale, m = x.block.half(2) * minimum;
  return x.each([&](int i) { return d * q.code(i).to(fx::f32) - m; });
}
Weights q4_k(const Neighbours &x) { return scaled(x, halves(x, 16)); } // d, dmin, scales 12, qs 128
Weights q5_k(const Neighbours &x) { // d, dmin, scales 12, qh 32, qs 128
  const Int32 j = x.sixteen();
  return scaled(x, halves(x, 48).with(x.bytes((j & 31) + 16).bitsOf(j >> 5, 1), 4));
}
Weights q6_k(const Neighbours &x) { // ql 128, qh 64, scales 16, d
  const Int32 j = x.sixteen(), half = j >> 7, quarter = (j >> 5) & 3, l = j & 31;
  const Codes low = x.bytes(half * 64 + (quarter & 1) * 32 + l).bitsOf((quarter >> 1) * 4, 15),
              high = x.bytes(half * 32 + l + 128).bitsOf(quarter * 2, 3), q = low.with(high, 4);
  const Numeric d = x.block.half(208) * x.block.signedByte(192 + (j >> 4)).to(fx::f32);
  return x.each([&](int i) { return d * (q.code(i) - 32).to(fx::f32); });
}
Weights iq4_xs(const Neighbours &x) { // d, scales_h 2, scales_l 4, qs 128
  const Int32 j = x.sixteen(), s = j >> 5;
  const Int32 low = bits(x.block.byte(4 + (s >> 1)), (s & 1) * 4, 15),
              high = bits(x.block.byte(2 + (s >> 2)), (s & 3) * 2, 3);
  const Codes q = x.bytes(s * 16 + 8).bitsOf(((j >> 4) & 1) * 4, 15);
  const Numeric d = x.block.half(0) * ((low | (high << 4)) - 32).to(fx::f32);
  return x.each([&](int i) { return d * lookedUp(kIq4Values, q.code(i)); });
}
Weights tq2_0(const Neighbours &x) { // qs 64, d
  const Codes q = pairs(x, 0);
  const Numeric d = x.block.half(64);
  return x.each([&](int i) { return (q.code(i) - 1).to(fx::f32) * d; });
}

//===-- Formats whose weights are read one by one ------------------------------===//

/// Bit `j` of bytes.
Int32 bitOf(const Block &block, int first, const Int32 &j) {
  return bits(block.byte(first + (j >> 3)), j & 7, 1);
}
Numeric nvfp4(const Block &block, const Int32 &j) { // 4 scales of type UE4M3, qs 32
  const Int32 s = j >> 4, e = block.byte(s), exponent = bits(e, 3, 15), mantissa = e & 7;
  const Int32 q = bits(block.byte(4 + s * 8 + (j & 7)), ((j >> 3) & 1) * 4, 15);
  // Half of the scale, as the table has doubles. 0x7f counts as 0.
  const Numeric normal = (((exponent + 119) << 23) | (mantissa << 20)).bitcast(fx::f32),
                small = mantissa.to(fx::f32) * (1.0f / 1024);
  const Numeric scale = fx::select(e == 0x7f, 0.0f, fx::select(exponent == 0, small, normal));
  return lookedUp(kFp4Doubles, q) * scale;
}
Numeric q1_0(const Block &block, const Int32 &j) { // d, qs 16
  const Numeric d = block.half(0);
  return fx::select(bitOf(block, 2, j) == 1, d, -d);
}
Numeric q2_0(const Block &block, const Int32 &j) { // d, qs 16
  return (bits(block.byte(2 + (j >> 2)), (j & 3) * 2, 3) - 1).to(fx::f32) * block.half(0);
}
Numeric tq1_0(const Block &block,
              const Int32 &j) { // qs 48, qh 4, d; five digits to base 3 of a byte
  const Int32 second = j - 160, last = j - 240;
  const fx::Boolean first = j < 160, middle = j < 240;
  const Int32 digit(fx::select(first, j >> 5, fx::select(middle, second >> 4, last >> 2))),
      place(fx::select(first, j & 31, fx::select(middle, (second & 15) + 32, (last & 3) + 48)));
  const Int32 power(fx::select(
      digit == 0, 1,
      fx::select(digit == 1, 3, fx::select(digit == 2, 9, fx::select(digit == 3, 27, 81)))));
  const Int32 digits = (block.byte(place) * power) & 255;
  return (((digits * 3) >> 8) - 1).to(fx::f32) * block.half(52);
}
//===-- Blocks made of numbers ----------------------------------------------===//

void storeByte(const Int64 &at, const Numeric &value) {
  fx::Pointer::from_address(at, fx::u8).store(value.to(fx::u8));
}
void storeHalf(const Int64 &at, const Numeric &value) {
  fx::Pointer::from_address(at, fx::f16).store(value.to(fx::f16));
}
Numeric inverse(const Numeric &d) { return fx::select(d != 0.0f, 1.0f / d, 0.0f); }

using Values = std::function<Numeric(const Int32 &)>;

/// Codes of 4 and 5 bits: `code(x)` is a code of a value; the fifth bits go to `fifth`, if it is not
/// negative.
void storeNibbles(const Int64 &block, int first, int fifth, const Values &value,
                  const std::function<Int32(const Numeric &)> &code) {
  fx::Var<Int32> high(Int32(0));
  for (Int32 j : fx::range(0, 16, 1)) {
    const Int32 low = code(value(j)), up = code(value(j + 16));
    storeByte(block + (j + first).to(fx::i64), (low & 15) | ((up & 15) << 4));
    if (fifth >= 0)
      high |= ((low >> 4) << j) | ((up >> 4) << (j + 16));
  }
  if (fifth >= 0)
    for (int k = 0; k < 4; ++k)
      storeByte(block + std::int64_t{fifth + k}, (high.get() >> (8 * k)) & 255);
}

/// The value of largest magnitude.
Numeric largestOf(const Values &value) {
  fx::Var<fx::Float32> largest(0.0f), magnitude(0.0f);
  for (Int32 j : fx::range(0, 32, 1)) {
    const Numeric v = value(j);
    const fx::Boolean more = fx::math::abs(v) > magnitude.get();
    largest = fx::select(more, v, largest.get());
    magnitude = fx::select(more, fx::math::abs(v), magnitude.get());
  }
  return largest.get();
}

/// Formats around zero: the value of largest magnitude gets the code 0.
void storeSigned(const Int64 &block, int first, int fifth, int levels, const Values &value) {
  const Numeric d = largestOf(value) / static_cast<float>(-levels / 2), id = inverse(d);
  storeHalf(block, d);
  storeNibbles(block, first, fifth, value, [&](const Numeric &v) {
    const fx::FastMathScope exact(fx::FastMath::none);
    return Int32(fx::min((v * id + (levels / 2 + 0.5f)).to(fx::i32), levels - 1));
  });
}
/// Formats with a minimum.
void storeAffine(const Int64 &block, int first, int fifth, int levels, const Values &value) {
  fx::Var<fx::Float32> least(3.402823466e38f), most(-3.402823466e38f);
  for (Int32 j : fx::range(0, 32, 1)) {
    const Numeric v = value(j);
    least = fx::min(least.get(), v);
    most = fx::max(most.get(), v);
  }
  const Numeric minimum = least.get(), d = (most.get() - minimum) / static_cast<float>(levels - 1),
                id = inverse(d);
  storeHalf(block, d);
  storeHalf(block + std::int64_t{2}, minimum);
  storeNibbles(block, first, fifth, value, [&](const Numeric &v) {
    return Int32(fx::min(((v - minimum) * id + 0.5f).to(fx::i32), levels - 1));
  });
}
void storeQ8(const Int64 &block, const Values &value) {
  fx::Var<fx::Float32> magnitude(0.0f);
  for (Int32 j : fx::range(0, 32, 1))
    magnitude = fx::max(magnitude.get(), fx::math::abs(value(j)));
  // Halves go to the even number, as in the CPU backend's quantize_row_q8_0 for x86.
  const Numeric id = fx::select(magnitude.get() != 0.0f, 127.0f / magnitude.get(), 0.0f);
  storeHalf(block, magnitude.get() / 127.0f);
  for (Int32 j : fx::range(0, 32, 1))
    storeByte(block + (j + 2).to(fx::i64), fx::math::roundeven(value(j) * id).to(fx::i32));
}
/// The number of the nearest of the 16 values.
Int32 nearestIq4(const Numeric &v) {
  const fx::Var<Int32> index(Int32(0));
  for (int i = 1; i < 16; ++i) // the values rise, so the borders between neighbours do
    index += fx::select(v >= (kIq4Values[i - 1] + kIq4Values[i]) * 0.5f, 1, 0);
  return index.get();
}
void storeIq4Nl(const Int64 &block, const Values &value) {
  const Numeric d = largestOf(value) / static_cast<float>(kIq4Values[0]), id = inverse(d);
  // The scale that fits the chosen values best, with the squares of the numbers as weights.
  fx::Var<fx::Float32> products(0.0f), squares(0.0f);
  for (Int32 j : fx::range(0, 32, 1)) {
    const Numeric v = value(j), q = lookedUp(kIq4Values, nearestIq4(v * id)), w = v * v;
    products += w * q * v;
    squares += w * q * q;
  }
  storeHalf(block, fx::select(squares.get() > 0.0f, products.get() / squares.get(), 0.0f));
  storeNibbles(block, 2, -1, value, [&](const Numeric &v) { return nearestIq4(v * id); });
}

//===-- The formats ----------------------------------------------------------===//

/// What kernels know of a format.
struct Format {
  ggml_type type;
  /// The weights of neighbours, or one weight of a block: one of both.
  std::vector<Numeric> (*neighbours)(const Neighbours &x) = nullptr;
  Numeric (*element)(const Block &block, const Int32 &j) = nullptr;
  /// Makes a block; null: kernels only read it.
  void (*store)(const Int64 &block, const Values &value) = nullptr;
};
constexpr Format kFormats[] = {
    {GGML_TYPE_Q4_0, q4_0, nullptr,
     [](const Int64 &block, const Values &value) { storeSigned(block, 2, -1, 16, value); }},
    {GGML_TYPE_Q4_1, q4_1, nullptr,
     [](const Int64 &block, const Values &value) { storeAffine(block, 4, -1, 16, value); }},
    {GGML_TYPE_Q5_0, q5_0, nullptr,
     [](const Int64 &block, const Values &value) { storeSigned(block, 6, 2, 32, value); }},
    {GGML_TYPE_Q5_1, q5_1, nullptr,
     [](const Int64 &block, const Values &value) { storeAffine(block, 8, 4, 32, value); }},
    {GGML_TYPE_Q8_0, q8_0, nullptr, storeQ8},
    {GGML_TYPE_IQ4_NL, iq4_nl, nullptr, storeIq4Nl},
    {GGML_TYPE_MXFP4, mxfp4},
    {GGML_TYPE_Q2_K, q2_k},
    {GGML_TYPE_Q3_K, q3_k},
    {GGML_TYPE_Q4_K, q4_k},
    {GGML_TYPE_Q5_K, q5_k},
    {GGML_TYPE_Q6_K, q6_k},
    {GGML_TYPE_IQ4_XS, iq4_xs},
    {GGML_TYPE_TQ2_0, tq2_0},
    {GGML_TYPE_NVFP4, nullptr, nvfp4},
    {GGML_TYPE_Q1_0, nullptr, q1_0},
    {GGML_TYPE_Q2_0, nullptr, q2_0},
    {GGML_TYPE_TQ1_0, nullptr, tq1_0},
    {GGML_TYPE_IQ1_S, nullptr, iq1_s},
    {GGML_TYPE_IQ1_M, nullptr, iq1_m},
    {GGML_TYPE_IQ2_XXS, nullptr, iq2_xxs},
    {GGML_TYPE_IQ2_XS, nullptr, iq2_xs},
    {GGML_TYPE_IQ2_S, nullptr, iq2_s},
    {GGML_TYPE_IQ3_XXS, nullptr, iq3_xxs},
    {GGML_TYPE_IQ3_S, nullptr, iq3_s},
};
const Format *find(ggml_type type) {
  for (const Format &format : kFormats)
    if (format.type == type)
      return &format;
  return nullptr;
}

} // namespace

bool readsBlocks(ggml_type type) { return find(type); }
bool writesBlocks(ggml_type type) {
  const Format *format = find(type);
  return format && format->store;
}

std::vector<Numeric> blockElements(ggml_type type, const Int64 &row, const Int32 &k, int count) {
  const auto weights = static_cast<std::uint32_t>(ggml_blck_size(type)); // a power of two
  const auto at = [&](const Int32 &index) {
    const Int32 block = index >> std::countr_zero(weights);
    return std::pair(Block{row + block.to(fx::i64) * std::int64_t(ggml_type_size(type))},
                     Int32(index & int(weights - 1)));
  };
  const Format &format = *find(type);
  if (format.neighbours) {
    const auto [block, j] = at(k);
    return format.neighbours({block, j, count});
  }
  std::vector<Numeric> values;
  for (int i = 0; i < count; ++i) {
    const auto [block, j] = at(k + i);
    values.push_back(format.element(block, j));
  }
  return values;
}

void storeBlock(ggml_type type, const Int64 &block, const Values &value) {
  if (!writesBlocks(type))
    GGML_ABORT("no kernel writes blocks of type %s", ggml_type_name(type));
  find(type)->store(block, value);
}

} // namespace flydsl_ggml
