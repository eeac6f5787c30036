// Units of blocks in each of ggml's formats. The layouts of blocks are those of
// flydsl/kernels/ggml.h; ggml.cpp takes them apart on the host.
#include "ggml/ggml_formats.h"

#include "blocks/common/groups.h"

#include <iterator>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

//===-- Codes and factors in words ------------------------------------------===//

/// Bit `bit` of each byte, as bit `to`.
Vector bitOf(const Vector &words, int bit, int to) {
  return ((bit ? Vector(words >> bit) : words) & 0x01010101u) << to;
}
/// 16 neighbouring bits from bit `first` of a word on, each as bit 4 of a byte.
Vector fifthBits(const Numeric &word, int first) {
  const auto four = [&](int i) {
    // The product has bit k of four bits at bit 8k, and no two bits of others in one place.
    const Numeric bits = (word >> (first + 4 * i)) & 15u;
    return Numeric(((bits * 0x00204081u) & 0x01010101u) << 4);
  };
  return Vector::of({four(0), four(1), four(2), four(3)});
}
/// The same for each of four words (codes.h).
Vector lookedUp(const Vector &numbers, const Codebook &book, int least) {
  const auto looked = [&](int i) { return impl::lookedUp(numbers.at(i), book, least); };
  return Vector::of({looked(0), looked(1), looked(2), looked(3)});
}
/// Number `i` of type f16, in f32.
Numeric half(const Vector &raw, int i = 0) { return raw.bitcast(f16).at(i).to(f32); }

/// Scale and minimum j of a block of Q4_K and Q5_K, in f32, of its first four words; see sixBits in
/// ggml.cpp.
std::pair<Numeric, Numeric> sixBits(const Vector &factors, const Int32 &j) {
  const Numeric shift = (j % 4 * 8).to(u32);
  const auto byte = [&](int word) { return Numeric((factors.at(word) >> shift) & 255u); };
  const Numeric first = byte(1), second = byte(2), third = byte(3);
  const Boolean plain = j < 4;
  const Numeric scale = select(plain, first & 63u, (third & 15u) | ((first >> 6u) << 4u));
  const Numeric minimum = select(plain, second & 63u, (third >> 4u) | ((second >> 6u) << 4u));
  return {scale.to(f32), minimum.to(f32)};
}

//===-- Formats -------------------------------------------------------------===//
// A type for each, with the functions of GgmlTaking.

struct F32 {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &) {
    return {block.words(block.body)};
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    return {{{{raw[0].bitcast(f32)}, {}}, {}, {}}};
  }
};

template <bool IsF16> struct Plain16 : F32 {
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    const Vector all = raw[0].bitcast(IsF16 ? f16 : bf16);
    return {{{{part(all, 0, 4).to(f32), part(all, 4, 4).to(f32)}, {}}, {}, {}}};
  }
};

/// Formats of 32 weights: codes, and what the head has.
struct Of32 {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &) {
    return {block.words(block.body), block.halves(*block.head)};
  }
};
struct Q8_0 : Of32 {
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    const Numeric d = half(raw[1]);
    return {{GgmlCodes::of(raw[0] ^ 0x80808080u), d, d * -128.0f}};
  }
};
struct Q4_0 : Of32 {
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    const Numeric d = half(raw[1]), offset = d * -8.0f;
    return {{GgmlCodes::of(nibbles(raw[0], 0)), d, offset},
            {GgmlCodes::of(nibbles(raw[0], 4)), d, offset}};
  }
};
struct Q4_1 : Of32 {
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    const Numeric d = half(raw[1], 0), m = half(raw[1], 1);
    return {{GgmlCodes::of(nibbles(raw[0], 0)), d, m}, {GgmlCodes::of(nibbles(raw[0], 4)), d, m}};
  }
};

struct Iq4Nl : Of32 {
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    const Numeric d = half(raw[1]);
    return of(raw[0], d);
  }

protected:
  static std::vector<GgmlGroup> of(const Vector &numbers, const Numeric &scale) {
    constexpr int least = kIq4Values[0];
    const Numeric offset = scale * static_cast<float>(least);
    return {{GgmlCodes::of(lookedUp(nibbles(numbers, 0), kIq4Values, least)), scale, offset},
            {GgmlCodes::of(lookedUp(nibbles(numbers, 4), kIq4Values, least)), scale, offset}};
  }
};
struct Iq4Xs : Iq4Nl {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &unit) {
    return {block.words(block.field(0, {16, 8})(_, unit)), block.words(*block.head)}; // (16)
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) {
    const Numeric number = unit.to(u32), low = (raw[1].at(1) >> (number * 4u)) & 15u,
                  high = (raw[1].at(0) >> (number * 2u + 16u)) & 3u;
    return of(raw[0], half(raw[1]) * ((low | (high << 4u)).to(f32) - 32.0f));
  }
};
struct Mxfp4 {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &) {
    return {block.words(block.body), block.bytes(*block.head)};
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    // The scale of halves, 2^(e - 128): below 2 it is no normal number.
    const Numeric e = raw[1].at(0).to(u32);
    const Numeric scale = select(e < 2u, UInt32(0x00200000u) << e, (e - 1u) << 23u).bitcast(f32);
    constexpr int least = kFp4Halves[15];
    const auto group = [&](int shift) {
      return GgmlGroup{GgmlCodes::of(lookedUp(nibbles(raw[0], shift), kFp4Halves, least)), scale,
                       std::nullopt, -least};
    };
    return {group(0), group(4)};
  }
};

/// Codes of five bits: the fifth of all is a word after the factors.
template <bool HasMinimum> struct FiveBits {
  static constexpr int kFactors = HasMinimum ? 4 : 2; ///< bytes
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &) {
    return {block.words(block.body), block.halves(block.headField(0, kFactors)),
            block.words(block.headField(kFactors, 4))};
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &) {
    const Numeric d = half(raw[1]), offset = HasMinimum ? half(raw[1], 1) : Numeric(d * -16.0f);
    const auto group = [&](int g) -> GgmlGroup {
      return {GgmlCodes::of(nibbles(raw[0], 4 * g) | fifthBits(raw[2].at(0), 16 * g)), d, offset};
    };
    return {group(0), group(1)};
  }
};

struct Q4_K {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &unit) {
    return {block.words(block.field(16, {32, 4})(_, unit)),
            block.words(block.field(0, 16))}; // (32), (16)
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) {
    std::vector<GgmlGroup> all;
    for (int g : {0, 1})
      all.push_back(group(raw, unit, g, nibbles(raw[0], 4 * g)));
    return all;
  }

protected:
  static GgmlGroup group(const GgmlRaw &raw, const Int32 &unit, int g, const Vector &codes) {
    const Numeric d = half(raw[1], 0), dmin = half(raw[1], 1);
    const auto [scale, minimum] = sixBits(raw[1], unit * 2 + g);
    return {GgmlCodes::of(codes), d * scale, -(dmin * minimum)};
  }
};

struct Q5_K : Q4_K {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &unit) {
    return {block.words(block.field(48, {32, 4})(_, unit)),
            block.words(block.field(0, 16)), // (32), (16)
            block.words(block.field(16, 32))};
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) {
    const Vector high = raw[2] >> Vector::splat((unit * 2).to(u32), raw[2].size());
    std::vector<GgmlGroup> all;
    for (int g : {0, 1})
      all.push_back(group(raw, unit, g, nibbles(raw[0], 4 * g) | bitOf(high, g, 4)));
    return all;
  }
};

/// Units of Q2_K, Q3_K and Q6_K have 16 of the 32 bytes of a half of the block.
struct OfHalf {
  Int32 half, own;
  explicit OfHalf(const Int32 &unit) : half(unit / 2), own(unit % 2) {}

  /// Byte g % 2 * 2 of a word, or the one after that: of a half's scales of groups g and g + 1.
  Numeric shift(int g) const { return ((own + g % 2 * 2) * 8).to(u32); }
};

struct Q2_K {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &unit) {
    const OfHalf at(unit);
    return {block.words(block.field(16, {16, 2, 2})(_, at.own, at.half)),                // (16)
            block.words(block.field(0, {8, 2})(_, at.half)), block.halves(*block.head)}; // (8)
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) {
    const Numeric d = half(raw[2], 0), dmin = half(raw[2], 1);
    std::vector<GgmlGroup> all;
    for (int g = 0; g < 4; ++g) {
      const Numeric both = (raw[1].at(g / 2) >> OfHalf(unit).shift(g)) & 255u;
      all.push_back({GgmlCodes::of((raw[0] >> (2 * g)) & 0x03030303u), d * (both & 15u).to(f32),
                     -(dmin * (both >> 4u).to(f32))});
    }
    return all;
  }
};

struct Q3_K {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &unit) {
    const OfHalf at(unit);
    return {block.words(block.field(32, {16, 2, 2})(_, at.own, at.half)), // (16)
            block.words(block.field(0, {16, 2})(_, at.own)),
            block.words(block.headField(0, 12)), // (16), (12)
            block.halves(block.headField(12, 2))};
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) {
    const OfHalf at(unit);
    const Numeric d = half(raw[3]), four = (at.half * 4).to(u32);
    const Vector high = raw[1] >> Vector::splat(four, raw[1].size());
    std::vector<GgmlGroup> all;
    for (int g = 0; g < 4; ++g) {
      // The low four bits of a half's scales are a half of the bytes of a word, the high two a
      // quarter of those of the third.
      const Numeric low = (raw[2].at(g / 2) >> four) & 0x0f0f0f0fu,
                    upper =
                        ((raw[2].at(2) >> (four + static_cast<unsigned>(g / 2 * 2))) & 0x03030303u)
                        << 4u;
      const Numeric code = ((low | upper) >> at.shift(g)) & 255u;
      const Numeric scale = d * (code.to(f32) - 32.0f);
      all.push_back({GgmlCodes::of(((raw[0] >> (2 * g)) & 0x03030303u) | bitOf(high, g, 2)), scale,
                     scale * -4.0f});
    }
    return all;
  }
};

/// A unit has 16 bytes of low bits, twice, and of high bits in a half of the block.
struct Q6_K {
  static GgmlRaw fetch(const GgmlBlockBytes &block, const Int32 &unit) {
    const OfHalf at(unit);
    const Tensor low = block.field(0, {16, 2, 2, 2})(_, at.own, _, at.half); // (16, 2)
    return {block.words(low(_, 0)), block.words(low(_, 1)),                  // (16), (16)
            block.words(block.field(128, {16, 2, 2})(_, at.own, at.half)),   // (16)
            block.words(block.field(192, {8, 2})(_, at.half)), block.halves(*block.head)}; // (8)
  }
  static std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) {
    const Numeric d = half(raw[4]);
    std::vector<GgmlGroup> all;
    for (int g = 0; g < 4; ++g) {
      const Vector high = (raw[2] >> (2 * g)) & 0x03030303u;
      const Vector bytes = nibbles(raw[static_cast<std::size_t>(g % 2)], g / 2 * 4) | (high << 4);
      // Four scales of a half are a word; byte g % 2 * 2 of it, or the one after that.
      const Numeric shift = (unit % 2 + g % 2 * 2) * 8;
      const Numeric scale = ((raw[3].at(g / 2).bitcast(i32) << (24 - shift)) >> 24).to(f32) * d;
      all.push_back({GgmlCodes::of(bytes), scale, scale * -32.0f});
    }
    return all;
  }
};

template <class Format> constexpr GgmlTaking taking(GgmlFormat format) {
  return {format, Format::fetch, Format::groups};
}
constexpr GgmlTaking kTakings[] = {
    taking<F32>(GgmlFormat::f32),
    taking<Plain16<true>>(GgmlFormat::f16),
    taking<Plain16<false>>(GgmlFormat::bf16),
    taking<Q8_0>(GgmlFormat::q8_0),
    taking<Q4_0>(GgmlFormat::q4_0),
    taking<Q4_1>(GgmlFormat::q4_1),
    taking<Q4_K>(GgmlFormat::q4_k),
    taking<Q6_K>(GgmlFormat::q6_k),
    taking<FiveBits<false>>(GgmlFormat::q5_0),
    taking<FiveBits<true>>(GgmlFormat::q5_1),
    taking<Q2_K>(GgmlFormat::q2_k),
    taking<Q3_K>(GgmlFormat::q3_k),
    taking<Q5_K>(GgmlFormat::q5_k),
    taking<Iq4Nl>(GgmlFormat::iq4_nl),
    taking<Iq4Xs>(GgmlFormat::iq4_xs),
    taking<Mxfp4>(GgmlFormat::mxfp4),
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(kTakings); ++i)
    if (kTakings[i].format != static_cast<GgmlFormat>(i))
      return false;
  return std::size(kTakings) == std::size(kGgmlRows);
}());

} // namespace

Vector GgmlBlockBytes::load(const Tensor &from, const Numeric &zero) const {
  if (!valid)
    return from.load();
  return if_(
      *valid, [&] { return from.load(); }, [&] { return Vector::splat(zero, size(from).value()); });
}

const GgmlTaking &ggmlTaking(GgmlFormat format) {
  return kTakings[static_cast<std::size_t>(format)];
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
