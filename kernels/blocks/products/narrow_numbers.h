// Narrow weights as numbers of a 16-bit type, a run of 8 elements at a time, or of an 8-bit one, 16 at a time:
// by as few vector instructions as a target has for it.
//
//   codes in f16   a code in the fraction of a power of two is that power plus the code: a permutation, a
//                  mask and a packed addition for two elements
//   codes in bf16  f32 in between, whose upper halves they are: no target but gfx1250 adds packed bf16
//   f4E2M1FN       the bytes of the 8 magnitudes are looked up, four elements at a time. gfx950 converts
//                  two elements to bf16 by an instruction of its own
//   codes in i8    those of four elements are a word, and the offset is taken from each of its bytes
//   codes in f8    the bytes of the 16 numbers are looked up, four elements at a time
//   8-bit floats   the target's conversions to f32, or what the language has in their place
#pragma once

#include "blocks/products/narrow_rules.h"
#include "blocks/quant/codes.h"

#include <flydsl/detail/float_format.h>
#include <flydsl/flydsl.h>
#include <flydsl/rocdl.h>

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Two f32 that a 16-bit type has, as a word.
inline Numeric packedPair(const Numeric &first, const Numeric &second, DType type) {
  if (type == f16)
    return rocdl::cvt_pkrtz(Float32(first), Float32(second)).bitcast(i32).at(0);
  // The upper halves: the lower ones are zero.
  return permute_bytes(Int32(second.bitcast(i32)), Int32(first.bitcast(i32)), 0x07060302u);
}

/// Makes the numbers of a run.
class NarrowNumbers {
public:
  /// `words`: the bytes of the run, whose numbers are to be of type `to`; `zero`: the zero point,
  /// f32.
  NarrowNumbers(const NarrowType &type, const Vector &words, const std::optional<Numeric> &zero,
                DType to)
      : type_(type), zero_(zero), to_(to) {
    for (std::int64_t i = 0; i < words.size(); ++i)
      words_.push_back(type.flipped ? Numeric(words.at(i) ^ type.flipped) : words.at(i));
  }

  /// The numbers, in their order.
  Vector run() const {
    if (to_.memory_bits() == 8)
      return bytes();
    if (!type_.codes)
      return type_.dtype == f4E2M1FN ? fp4() : floats();
    return to_ == f16 ? halves() : upperHalves();
  }

private:
  template <class Pair> Vector pairs(const Pair &pair) const {
    return Vector::of({pair(0), pair(1), pair(2), pair(3)}).bitcast(to_);
  }
  Int32 word(int i) const { return Int32(words_[static_cast<std::size_t>(i)].bitcast(i32)); }
  bool ofFourBits() const { return type_.dtype.memory_bits() == 4; }

  /// Codes in f16. Of four bits: both of a byte, the upper one in a fraction whose unit is 1 / 16.
  Vector halves() const {
    const std::array bases =
        ofFourBits() ? std::array{1024.0f, 64.0f} : std::array{1024.0f, 1024.0f};
    const auto less = [&](float base) {
      return zero_ ? Numeric(Float32(-base) - *zero_)
                   : Numeric(Float32(-base - static_cast<float>(type_.offset)));
    };
    const Vector offset =
        Vector::of({packedPair(less(bases[0]), less(bases[1]), f16)}).bitcast(f16);
    return pairs([&](int i) -> Numeric {
      return Vector(Vector::of({ofFourBits() ? nibblesAboveBases(i) : bytesAboveBases(i)})
                        .bitcast(f16) +
                    offset)
          .bitcast(i32)
          .at(0);
    });
  }
  /// 1024 + the low code and 64 + the high code of byte `i`.
  Numeric nibblesAboveBases(int i) const {
    const Int32 both = permute_bytes(word(0), word(0), static_cast<std::uint32_t>(i) * 0x01010101u);
    return (both & 0x00f0000f) | 0x54006400;
  }
  /// 1024 + bytes 2i and 2i + 1 of the run.
  Numeric bytesAboveBases(int i) const {
    const auto first = static_cast<std::uint32_t>(i % 2 * 2);
    return permute_bytes(Int32(0x64646464), word(i / 2), 0x04000400u | (first + 1) << 16 | first);
  }

  /// Codes of four bits in 8 bits. Elements i and i + 4 share a byte (placeInRun).
  Vector bytes() const {
    std::vector<Numeric> fours;
    for (const Numeric &word : words_)
      for (const Numeric &codes : {Numeric(word & 0x0f0f0f0fu), Numeric((word >> 4) & 0x0f0f0f0fu)})
        fours.push_back(to_ == i8 ? integers(codes) : lookedUp(codes));
    return Vector::of({fours[0], fours[1], fours[2], fours[3]}).bitcast(to_);
  }
  /// Four codes less the offset. The high bit of each byte keeps it from borrowing of the next one.
  Numeric integers(const Numeric &codes) const {
    if (!type_.offset)
      return codes;
    const auto offsets = static_cast<std::uint32_t>(type_.offset) * 0x01010101u;
    return Numeric(Numeric(codes | 0x80808080u) - offsets) ^ 0x80808080u;
  }
  /// Four codes as 8-bit floats, which have all of them.
  Numeric lookedUp(const Numeric &codes) const {
    const detail::FloatFormat &format = *detail::smallFloatFormat(to_);
    const auto four = [&](int first) {
      std::uint32_t values = 0;
      for (int i = 0; i < 4; ++i)
        values |= format.fromFloat(static_cast<float>(first + i - type_.offset),
                                   detail::FloatOverflow::special)
                  << (8 * i);
      return Int32(static_cast<std::int32_t>(values));
    };
    const Int32 ofEight(Numeric(codes & 0x07070707u).bitcast(i32));
    const Numeric upper = (codes >> 3) & 0x01010101u, mask = (upper << 8) - upper,
                  low = permute_bytes(four(4), four(0), ofEight).bitcast(u32),
                  high = permute_bytes(four(12), four(8), ofEight).bitcast(u32);
    return (high & mask) | (low & (mask ^ 0xffffffffu));
  }

  /// Codes in bf16, by f32.
  Vector upperHalves() const {
    const auto numbers = [&](const Numeric &codes) {
      const Vector four = codesOf(Vector::of({codes}))[0];
      return zero_          ? Vector(four - *zero_)
             : type_.offset ? Vector(four - static_cast<float>(type_.offset))
                            : four;
    };
    if (ofFourBits()) {
      const Vector even = numbers(words_[0] & 0x0f0f0f0fu),
                   odd = numbers((words_[0] >> 4) & 0x0f0f0f0fu);
      return pairs([&](int i) { return packedPair(even.at(i), odd.at(i), to_); });
    }
    const std::vector<Vector> four{numbers(words_[0]), numbers(words_[1])};
    return pairs([&](int i) {
      const Vector &own = four[static_cast<std::size_t>(i / 2)];
      return packedPair(own.at(i % 2 * 2), own.at(i % 2 * 2 + 1), to_);
    });
  }

  Vector fp4() const {
    if (to_ == bf16 && target().has(Feature::fp4_conversions))
      return pairs([&](int i) -> Numeric {
        return rocdl::cvt_scalef32_pk_bf16_fp4(word(0), Float32(1.0f), i).bitcast(i32).at(0);
      });
    // The two bytes of the four numbers in the low or in the high bits of each byte.
    struct Bytes {
      Int32 low, high;
    };
    const auto bytes = [&](bool isHigh) -> Bytes {
      const Int32 codes((isHigh ? words_[0] >> 4 : words_[0]).bitcast(i32) & 0x07070707);
      const Numeric signs = (isHigh ? words_[0] : Numeric(words_[0] << 4)) & 0x80808080u;
      return {byteOfMagnitudes(codes, 0),
              Int32((byteOfMagnitudes(codes, 1).bitcast(u32) | signs).bitcast(i32))};
    };
    const Bytes even = bytes(false), odd = bytes(true);
    // Two neighbours among them, as 16-bit numbers.
    const auto two = [](const Bytes &all, int i) {
      return permute_bytes(all.high, all.low, i ? 0x07030602u : 0x05010400u);
    };
    return pairs([&](int i) -> Numeric {
      return permute_bytes(two(odd, i / 2), two(even, i / 2), i % 2 ? 0x07060302u : 0x05040100u);
    });
  }
  /// Byte 0 or 1 of the magnitudes of four codes in the 16-bit type.
  Int32 byteOfMagnitudes(const Int32 &codes, int byte) const {
    const detail::FloatFormat &format = *detail::smallFloatFormat(to_);
    const auto four = [&](std::size_t first) {
      std::uint32_t values = 0;
      for (std::size_t i = 0; i < 4; ++i)
        values |= (format.fromFloat(0.5f * static_cast<float>(kFp4Halves[first + i]),
                                    detail::FloatOverflow::special) >>
                       (8 * byte) &
                   0xff)
                  << (8 * i);
      return Int32(static_cast<std::int32_t>(values));
    };
    return permute_bytes(four(4), four(0), codes);
  }

  Vector floats() const {
    const Vector numbers = Vector::of({words_[0], words_[1]}).bitcast(type_.dtype).to(f32);
    return pairs([&](int i) { return packedPair(numbers.at(2 * i), numbers.at(2 * i + 1), to_); });
  }

  NarrowType type_;
  std::vector<Numeric> words_; // u32
  std::optional<Numeric> zero_;
  DType to_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
