// Blocks of ggml's formats in a kernel: units are loaded as they are and taken apart in registers.
//
// A weight is scale * code + offset, where a code is a byte without a sign; four codes share a
// word. Signed codes become unsigned by an offset: q + 128 in Q8_0.
#pragma once

#include "blocks/common/groups.h"
#include "ggml/ggml_rules.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Neighbouring weights that share their factors.
struct GgmlGroup {
  std::vector<Vector> codes;            ///< of four weights each, in f32: codes, or the weights
  std::optional<Numeric> scale, offset; ///< f32; none if the codes are the weights

  /// Four weights.
  Vector weights(std::size_t word) const {
    if (!scale)
      return codes[word];
    return math::fma(codes[word], *scale, *offset);
  }
};

/// A unit as it is in memory; all of it is zeros for one that does
/// not exist, and so are its weights.
using GgmlRaw = std::vector<Vector>;

/// The units of a matrix of weights.
class GgmlSource {
public:
  GgmlSource(const GgmlWeight &weight, const Int64 &base)
      : weight_(weight), row_(ggmlRow(weight.format)), base_(base) {}

  std::int64_t unitsOfRow() const { return weight_.k / row_.unitWeights(); }

  /// Where the bodies and the heads of a row of blocks are.
  struct Row {
    Int64 body, head;
  };
  Row row(const Int32 &n) const {
    const std::int64_t blocks = weight_.k / row_.weights;
    const Int64 first = n.to(i64) * blocks;
    if (weight_.layout == GgmlLayout::planes)
      return {base_ + first * row_.body(),
              base_ + (weight_.n * blocks * row_.body() + first * row_.head)};
    const Int64 start = base_ + first * row_.bytes;
    return {start + (row_.headLast ? 0 : row_.head), start + (row_.headLast ? row_.body() : 0)};
  }

  /// Loads a unit. Without `valid`, there is one.
  GgmlRaw fetch(const Row &row, const Int32 &unit, const std::optional<Boolean> &valid) const {
    const bool planes = weight_.layout == GgmlLayout::planes;
    const Int32 block = row_.units == 1 ? unit : Int32(unit / row_.units);
    const Int64 body = row.body + (block * (planes ? row_.body() : row_.bytes)).to(i64),
                head = row.head + (block * (planes ? row_.head : row_.bytes)).to(i64);
    GgmlRaw raw;
    const auto load = [&](const Numeric &address, int words, int most) {
      raw.push_back(loadWords(address, words, std::min(most, alignment()), valid));
    };
    const Int32 inBlock = unit % row_.units;
    switch (row_.format) {
    case GgmlFormat::f32:
    case GgmlFormat::f16:
    case GgmlFormat::bf16:
    case GgmlFormat::q4_0:
    case GgmlFormat::q4_1:
      load(body, 4, 16);
      break;
    case GgmlFormat::q8_0:
      load(body, 4, 16);
      load(body + 16, 4, 16);
      break;
    case GgmlFormat::q4_k: {
      const Int64 codes = body + (inBlock * 32 + 16).to(i64);
      load(codes, 4, 16);
      load(codes + 16, 4, 16);
      load(body, 4, 16);
      break;
    }
    case GgmlFormat::q6_k: {
      const Int32 half = inBlock / 2, at = inBlock % 2 * 16;
      const Int64 low = body + (half * 64 + at).to(i64);
      load(low, 4, 16);
      load(low + 32, 4, 16);
      load(body + (half * 32 + at + 128).to(i64), 4, 16);
      load(body + (half * 8 + 192).to(i64), 2, 8);
      break;
    }
    }
    if (row_.head == 4)
      raw.push_back(loadWords(head, 1, 4, valid));
    else if (row_.head)
      raw.push_back(loadHalf(head, valid));
    return raw;
  }

  /// The groups of a unit that was loaded.
  std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) const {
    const auto half = [](const Vector &pair, int i) { return pair.bitcast(f16).at(i).to(f32); };
    switch (row_.format) {
    case GgmlFormat::f32:
      return {{{raw[0].bitcast(f32)}, {}, {}}};
    case GgmlFormat::f16:
    case GgmlFormat::bf16: {
      const Vector all = raw[0].bitcast(row_.format == GgmlFormat::f16 ? f16 : bf16);
      return {{{part(all, 0, 4).to(f32), part(all, 4, 4).to(f32)}, {}, {}}};
    }
    case GgmlFormat::q8_0: {
      const Numeric d = raw[2].bitcast(f16).at(0).to(f32);
      GgmlGroup group{codes(raw[0] ^ 0x80808080u), d, d * -128.0f};
      for (const Vector &more : codes(raw[1] ^ 0x80808080u))
        group.codes.push_back(more);
      return {group};
    }
    case GgmlFormat::q4_0: {
      const Numeric d = raw[1].bitcast(f16).at(0).to(f32), offset = d * -8.0f;
      return {{codes(nibbles(raw[0], 0)), d, offset}, {codes(nibbles(raw[0], 4)), d, offset}};
    }
    case GgmlFormat::q4_1: {
      const Numeric d = half(raw[1], 0), m = half(raw[1], 1);
      return {{codes(nibbles(raw[0], 0)), d, m}, {codes(nibbles(raw[0], 4)), d, m}};
    }
    case GgmlFormat::q4_k: {
      const Vector &factors = raw[2];
      const Vector two = Vector::of({factors.at(0), factors.at(0)});
      const Numeric d = half(two, 0), dmin = half(two, 1);
      std::vector<GgmlGroup> all;
      for (int g : {0, 1}) {
        const Int32 j = unit % 4 * 2 + g;
        const auto [scale, minimum] = sixBits(factors, j);
        all.push_back({codes(nibbles(raw[0], 4 * g)), d * scale, -(dmin * minimum)});
        for (const Vector &more : codes(nibbles(raw[1], 4 * g)))
          all.back().codes.push_back(more);
      }
      return all;
    }
    case GgmlFormat::q6_k: {
      const Numeric d = raw[4].bitcast(f16).at(0).to(f32);
      std::vector<GgmlGroup> all;
      for (int g = 0; g < 4; ++g) {
        const Vector high = (raw[2] >> (2 * g)) & 0x03030303u;
        const Vector bytes = nibbles(raw[static_cast<std::size_t>(g % 2)], g / 2 * 4) | (high << 4);
        // Four scales of a half are a word; byte g % 2 * 2 of it, or the one after that.
        const Numeric shift = (unit % 2 + g % 2 * 2) * 8;
        const Numeric scale = ((raw[3].at(g / 2).bitcast(i32) << (24 - shift)) >> 24).to(f32) * d;
        all.push_back({codes(bytes), scale, scale * -32.0f});
      }
      return all;
    }
    }
    throw Error("a format of no kind");
  }

private:
  /// What divides the address of every part of every block.
  int alignment() const {
    if (weight_.layout == GgmlLayout::planes || row_.head == 0)
      return 16;
    return row_.head;
  }
  static Vector guarded(const Numeric &zero, std::int64_t count,
                        const std::optional<Boolean> &valid, const std::function<Vector()> &load) {
    if (!valid)
      return load();
    return if_(*valid, load, [&] { return Vector::splat(zero, count); });
  }
  /// Words at an address that is known to be a multiple of `align` bytes: of 2 at least.
  static Vector loadWords(const Numeric &address, int words, int align,
                          const std::optional<Boolean> &valid) {
    return guarded(UInt32(0u), words, valid, [&] {
      if (align >= 4)
        return Pointer::from_address(address, u32, AddressSpace::global, align).load(words);
      return Pointer::from_address(address, u16, AddressSpace::global, align)
          .load(2 * words)
          .bitcast(u32);
    });
  }
  static Vector loadHalf(const Numeric &address, const std::optional<Boolean> &valid) {
    return guarded(UInt16(std::uint16_t(0)), 1, valid,
                   [&] { return Vector::splat(Pointer::from_address(address, u16).load(), 1); });
  }
  /// Scale and minimum j of Q4_K, in f32, of a block's first four words; see sixBits in ggml.cpp.
  static std::pair<Numeric, Numeric> sixBits(const Vector &factors, const Int32 &j) {
    const Numeric shift = (j % 4 * 8).to(u32);
    const auto byte = [&](int word) { return Numeric((factors.at(word) >> shift) & 255u); };
    const Numeric first = byte(1), second = byte(2), third = byte(3);
    const Boolean plain = j < 4;
    const Numeric scale = select(plain, first & 63u, (third & 15u) | ((first >> 6u) << 4u));
    const Numeric minimum = select(plain, second & 63u, (third >> 4u) | ((second >> 6u) << 4u));
    return {scale.to(f32), minimum.to(f32)};
  }
  static Vector nibbles(const Vector &words, int shift) {
    return (shift ? Vector(words >> shift) : words) & 0x0f0f0f0fu;
  }
  /// The bytes of each word.
  static std::vector<Vector> codes(const Vector &words) {
    std::vector<Vector> all;
    for (std::int64_t i = 0; i < words.size(); ++i) {
      const Numeric word = words.at(i);
      const auto byte = [&](int k) { return Numeric((word >> (8 * k)) & 255u).to(f32); };
      all.push_back(Vector::of({byte(0), byte(1), byte(2), byte(3)}));
    }
    return all;
  }

  GgmlWeight weight_;
  const GgmlRow &row_;
  Int64 base_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
