// How a unit of a block becomes weights: for each of ggml's formats, which bytes of the block a
// thread loads, and what it makes of them.
//
// A weight is scale * code + offset, where a code is a byte without a sign; four codes share a
// word. Signed codes become unsigned by an offset: q + 128 in Q8_0. Where f32 has the weights and not
// the offset, as with MXFP4's largest exponents, a weight is scale * (code - bias).
#pragma once

#include "blocks/quant/codes.h"
#include "ggml/ggml_rules.h"

#include <flydsl/flydsl.h>

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Codes of neighbouring weights.
struct GgmlCodes {
  std::vector<Vector> numbers; ///< of four weights each, in f32
  std::optional<Vector> words; ///< the same as bytes, u32; none if they are the weights

  /// The bytes of words, lowest first.
  static GgmlCodes of(const Vector &words) { return {codesOf(words), words}; }
};

/// Neighbouring weights that share their factors.
struct GgmlGroup {
  GgmlCodes codes;                      ///< or the weights
  std::optional<Numeric> scale, offset; ///< f32; no scale if the codes are the weights
  float bias = 0;                       ///< if there is a scale and no offset

  /// Four weights.
  Vector weights(std::size_t word) const {
    if (!scale)
      return codes.numbers[word];
    return offset ? math::fma(codes.numbers[word], *scale, *offset)
                  : (codes.numbers[word] - bias) * *scale;
  }
  /// sum + scale * codes + offset * ones, where `codes` are products with the codes, and `ones` with ones.
  Numeric addTo(const Numeric &sum, const Numeric &ofCodes, const Numeric &ofOnes) const {
    return offset ? math::fma(*offset, ofOnes, math::fma(*scale, ofCodes, sum))
                  : math::fma(*scale, math::fma(ofOnes, -bias, ofCodes), sum);
  }
};

/// The fields of a unit as they are in memory; all of it is zeros for one that does not exist, and
/// so are its weights.
using GgmlRaw = std::vector<Vector>;

/// The bytes of a block in memory.
struct GgmlBlockBytes {
  Tensor body;                  // (body)
  std::optional<Tensor> head;   // (head)
  std::optional<Boolean> valid; ///< whether there is such a block; none: there is

  /// Bytes of the body, or of the head, from `first` on. Their layout is compact: the first mode is
  /// the fastest.
  Tensor field(int first, const IntTuple &shape) const {
    return make_view(body.iter() + first, make_layout(shape)); // (shape)
  }
  Tensor headField(int first, const IntTuple &shape) const {
    return make_view(head->iter() + first, make_layout(shape)); // (shape)
  }
  Vector words(const Tensor &bytes) const { return load(bytes.recast(u32), UInt32(0u)); }
  Vector halves(const Tensor &bytes) const {
    return load(bytes.recast(u16), UInt16(std::uint16_t(0)));
  }
  Vector bytes(const Tensor &bytes) const { return load(bytes, UInt8(std::uint8_t(0))); }

private:
  Vector load(const Tensor &from, const Numeric &zero) const;
};

/// How a format's units are taken, by their numbers in their block.
struct GgmlTaking {
  GgmlFormat format;
  GgmlRaw (*fetch)(const GgmlBlockBytes &block, const Int32 &unit);
  std::vector<GgmlGroup> (*groups)(const GgmlRaw &raw, const Int32 &unit);
};
const GgmlTaking &ggmlTaking(GgmlFormat format);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
