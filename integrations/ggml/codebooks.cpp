#include "codebooks.h"

#include "block_bytes.h"

#define GGML_COMMON_DECL_CPP
#define GGML_COMMON_IMPL_CPP
#include <ggml-common.h>

#include <span>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// The tables, in the order in which they lie.
enum Table { kIq2Xxs, kIq2Xs, kIq2S, kIq3Xxs, kIq3S, kIq1, kTables };

std::span<const std::byte> bytesOf(Table table) {
  switch (table) {
  case kIq2Xxs:
    return std::as_bytes(std::span(iq2xxs_grid));
  case kIq2Xs:
    return std::as_bytes(std::span(iq2xs_grid));
  case kIq2S:
    return std::as_bytes(std::span(iq2s_grid));
  case kIq3Xxs:
    return std::as_bytes(std::span(iq3xxs_grid));
  case kIq3S:
    return std::as_bytes(std::span(iq3s_grid));
  default:
    return std::as_bytes(std::span(iq1s_grid));
  }
}
std::int64_t startOf(Table table) {
  std::int64_t start = 0;
  for (int before = 0; before < table; ++before)
    start += static_cast<std::int64_t>(bytesOf(static_cast<Table>(before)).size());
  return start;
}

thread_local const Int64 *traced = nullptr;

/// Byte `place` of vector `index`, which has `length` bytes.
Numeric looked(Table table, int length, const Int32 &index, const Int32 &place, fx::DType type) {
  return fx::Pointer::from_address(*traced + startOf(table) + (index * length + place).to(fx::i64),
                                   type)
      .load()
      .to(fx::f32);
}

Int32 isSet(const Int32 &value, const Int32 &bit) { return bits(value, bit, 1); }
/// Sign `k` of eight. Seven bits are kept, and the eighth makes the number of ones even.
Int32 signOf(const Int32 &seven, const Int32 &k) {
  const Int32 a = seven ^ (seven >> 4), b = a ^ (a >> 2), parity = (b ^ (b >> 1)) & 1;
  return Int32(fx::select(k == 7, parity, isSet(seven, k)));
}
Numeric withSign(const Numeric &value, const Int32 &negative) {
  return fx::select(negative == 1, -value, value);
}
/// Four bytes that are at a multiple of two.
Int32 doubleWord(const Block &block, const Int32 &offset) {
  return Int32(block.word(offset) | (block.word(offset + 2) << 16));
}

/// Weight j is number k of vector l of 32 weights, the part `of32` of the block.
struct Place {
  Int32 of32, l, k;
  explicit Place(const Int32 &j) : of32(j >> 5), l((j >> 3) & 3), k(j & 7) {}
};
constexpr float kDelta = IQ1S_DELTA;

} // namespace

// The layouts are those of the structs of these names in ggml-common.h, the codes those of
// dequantize_row_* in ggml-quants.c.

Numeric iq2_xxs(const Block &block, const Int32 &j) { // d, 8 x (4 numbers, 28 signs and 4 of scale)
  const Place at(j);
  const Int32 part = at.of32 * 8 + 2, signs = doubleWord(block, part + 4);
  const Numeric d = block.half(0) * (bits(signs, 28, 15).to(fx::f32) + 0.5f) * 0.25f;
  return withSign(d * looked(kIq2Xxs, 8, block.byte(part + at.l), at.k, fx::u8),
                  signOf(bits(signs, at.l * 7, 127), at.k));
}
Numeric iq2_xs(const Block &block,
               const Int32 &j) { // d, 32 x (9 bits of number, 7 signs), scales 8
  const Place at(j);
  const Int32 code = block.word(2 + (at.of32 * 4 + at.l) * 2);
  const Int32 scale = bits(block.byte(66 + at.of32), (at.l >> 1) * 4, 15);
  const Numeric d = block.half(0) * (scale.to(fx::f32) + 0.5f) * 0.25f;
  return withSign(d * looked(kIq2Xs, 8, Int32(code & 511), at.k, fx::u8),
                  signOf(bits(code, 9, 127), at.k));
}
Numeric iq2_s(const Block &block, const Int32 &j) { // d, qs 32, signs 32, qh 8, scales 8
  const Place at(j);
  const Int32 l = at.of32 * 4 + at.l;
  const Int32 number(block.byte(2 + l) | (bits(block.byte(66 + at.of32), at.l * 2, 3) << 8));
  const Int32 scale = bits(block.byte(74 + at.of32), (at.l >> 1) * 4, 15);
  const Numeric d = block.half(0) * (scale.to(fx::f32) + 0.5f) * 0.25f;
  return withSign(d * looked(kIq2S, 8, number, at.k, fx::u8), isSet(block.byte(34 + l), at.k));
}
Numeric iq3_xxs(const Block &block, const Int32 &j) { // d, qs 64, 8 x (28 signs and 4 of scale)
  const Place at(j);
  const Int32 signs = doubleWord(block, 66 + at.of32 * 4);
  const Numeric d = block.half(0) * (bits(signs, 28, 15).to(fx::f32) + 0.5f) * 0.5f;
  const Int32 number = block.byte(2 + at.of32 * 8 + at.l * 2 + (at.k >> 2));
  return withSign(d * looked(kIq3Xxs, 4, number, Int32(at.k & 3), fx::u8),
                  signOf(bits(signs, at.l * 7, 127), at.k));
}
Numeric iq3_s(const Block &block, const Int32 &j) { // d, qs 64, qh 8, signs 32, scales 4
  const Place at(j);
  const Int32 l = at.l * 2 + (at.k >> 2);
  const Int32 number(block.byte(2 + at.of32 * 8 + l) | (bits(block.byte(66 + at.of32), l, 1) << 8));
  const Int32 scale = bits(block.byte(106 + (at.of32 >> 1)), (at.of32 & 1) * 4, 15);
  const Numeric d = block.half(0) * (scale * 2 + 1).to(fx::f32);
  return withSign(d * looked(kIq3S, 4, number, Int32(at.k & 3), fx::u8),
                  isSet(block.byte(74 + at.of32 * 4 + at.l), at.k));
}
Numeric iq1_s(const Block &block,
              const Int32 &j) { // d, qs 32, 8 x (12 bits of numbers, scale, sign)
  const Place at(j);
  const Int32 high = block.word(34 + at.of32 * 2);
  const Int32 number(block.byte(2 + at.of32 * 4 + at.l) | (bits(high, at.l * 3, 7) << 8));
  const Numeric d = block.half(0) * (bits(high, 12, 7) * 2 + 1).to(fx::f32);
  return d *
         (looked(kIq1, 8, number, at.k, fx::i8) + withSign(fx::Float32(kDelta), bits(high, 15, 1)));
}
Numeric iq1_m(const Block &block, const Int32 &j) { // qs 32, qh 16, 4 x (4 scales, 4 bits of d)
  const Place at(j);
  const auto scales = [&](int i) { return block.word(48 + 2 * i); };
  const Int32 bitsOfD((scales(0) >> 12) | ((scales(1) >> 8) & 0xf0) | ((scales(2) >> 4) & 0xf00) |
                      (scales(3) & 0xf000));
  const Numeric d = bitsOfD.to(fx::u16).bitcast(fx::f16).to(fx::f32);
  const Int32 half = at.l >> 1,
              high = bits(block.byte(32 + at.of32 * 2 + half), (at.l & 1) * 4, 15);
  const Int32 number(block.byte(at.of32 * 4 + at.l) | ((high & 7) << 8));
  const Int32 scale = bits(block.word(48 + (at.of32 >> 1) * 2), (at.of32 & 1) * 6 + half * 3, 7);
  return d * (scale * 2 + 1).to(fx::f32) *
         (looked(kIq1, 8, number, at.k, fx::i8) + withSign(fx::Float32(kDelta), Int32(high >> 3)));
}

std::vector<std::uint8_t> codebooks() {
  std::vector<std::uint8_t> all;
  for (int table = 0; table < kTables; ++table) {
    const auto bytes = bytesOf(static_cast<Table>(table));
    for (const std::byte byte : bytes)
      all.push_back(std::to_integer<std::uint8_t>(byte));
  }
  return all;
}

TracedCodebooks::TracedCodebooks(const Int64 &address) { traced = &address; }
TracedCodebooks::~TracedCodebooks() { traced = nullptr; }

} // namespace flydsl_ggml
