// The block formats in which GGUF files keep weights. Their source is ggml.
#pragma once

#include <flydsl/host/host_tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// How the weights of a row are kept. A block has a number of neighbours of a row and the factors
/// that they share; d, m and dmin are f16. Source of the layouts: ggml-common.h and ggml-quants.c
/// of ggml (github.com/ggml-org/ggml), and gguf/quants.py of the package `gguf`.
enum class GgmlFormat : std::uint8_t {
  f32,
  f16,
  bf16,
  q8_0, ///< 32 weights in 34 bytes: d, 32 x i8 q; weight = d q
  /// 32 weights in 18 bytes: d, 16 x u8; byte i has weight i in its low bits and 16 + i in its high
  /// ones; weight = d (q - 8)
  q4_0,
  q4_1, ///< 32 weights in 20 bytes: d, m, and the bytes of q4_0; weight = d q + m
  /// 256 weights in 144 bytes: d, dmin, 12 bytes with a scale s and a minimum t of 6 bits for each
  /// 32 weights, 128 bytes of q; weight = d s q - dmin t
  q4_k,
  /// 256 weights in 210 bytes: 128 bytes with the low 4 bits of q, 64 with the high 2 bits, a scale
  /// s of type i8 for each 16 weights, d; weight = d s (q - 32)
  q6_k,
  /// 32 weights in 22 bytes: d, 4 bytes with bit 4 of each q, the bytes of q4_0; weight = d (q - 16)
  q5_0,
  q5_1, ///< 32 weights in 24 bytes: d, m, and the bytes of q5_0; weight = d q + m
  /// 256 weights in 84 bytes: a byte for each 16 weights with a scale s in its low 4 bits and a
  /// minimum t in its high ones, 64 bytes of q of 2 bits, d, dmin; weight = d s q - dmin t
  q2_k,
  /// 256 weights in 110 bytes: 32 bytes with bit 2 of each q, 64 with its low 2 bits, 12 with a scale
  /// s of 6 bits for each 16 weights, d; weight = d (s - 32) (q - 4)
  q3_k,
  /// 256 weights in 176 bytes: d, dmin, the 12 bytes of q4_k, 32 bytes with bit 4 of each q, 128 with
  /// the low 4 bits; weight = d s q - dmin t
  q5_k,
  /// 32 weights in 18 bytes as in q4_0, where q is the number of one of 16 fixed values v from -127 to
  /// 113; weight = d v(q)
  iq4_nl,
  /// 256 weights in 136 bytes: d, 2 bytes with the high 2 bits of a scale s of 6 bits for each 32
  /// weights, 4 with the low 4 bits, 128 bytes of q; weight = d (s - 32) v(q), v of iq4_nl
  iq4_xs,
  /// 32 weights in 17 bytes: an exponent e of type u8, the bytes of q4_0 with numbers of 4 bits
  /// (f4E2M1FN); weight = 2^(e - 127) q. Weights of 2^128 and more are infinite in f32, and blocks that
  /// have such a one, of e above 252, have no others in a kernel.
  mxfp4,
};

/// Where the parts of the blocks lie.
enum class GgmlLayout : std::uint8_t {
  blocks, ///< as in the file: block after block, row after row
  /// What makes a block's length no multiple of 16 bytes (d; d and m; in Q5_0 and Q5_1 the fifth bits
  /// too, in Q3_K and IQ4_XS the scales) of all blocks stands after the rest of all blocks, whose places
  /// are then multiples of 16 bytes.
  planes,
};

/// The weights of a block, and its bytes.
struct GgmlBlock {
  std::string_view name; ///< as ggml calls the format: "Q4_1"
  int weights, bytes;
};
FLYDSL_API GgmlBlock ggml_block(GgmlFormat format);
/// The format of a number in ggml's enumeration of types, which is what a GGUF file has; none if it
/// is not one of those above.
FLYDSL_API std::optional<GgmlFormat> ggml_format(std::uint32_t type);
/// The number of a format in ggml's enumeration.
FLYDSL_API std::uint32_t ggml_type(GgmlFormat format);

/// A matrix of weights: n rows of k.
struct FLYDSL_API GgmlWeight {
  GgmlFormat format = GgmlFormat::f16;
  GgmlLayout layout = GgmlLayout::blocks;
  std::int64_t n = 0; ///< rows
  std::int64_t k = 0; ///< weights of a row, a multiple of a block's and of 16 bytes
  friend bool operator==(const GgmlWeight &, const GgmlWeight &) = default;
};

/// Weights in device memory: which matrix, in which format and layout, and its bytes. Vectors of bytes
/// of several formats and of both layouts have the same size, so that nothing but this type tells them
/// apart. Plans compare the weight with that of their problem; no plan looks at the bytes. It owns
/// nothing.
struct FLYDSL_API GgmlTensor {
  GgmlWeight weight;
  TensorArg bytes; ///< (weight_bytes(weight)), u8, at a multiple of 16 bytes
};

/// The bytes of the matrix; they are the same in both layouts. Throws Error with the reason if the
/// shape is not supported.
FLYDSL_API std::size_t weight_bytes(const GgmlWeight &weight);
/// Puts weights as they are in the file into the layout, in the host's memory: `raw` and `out` have
/// weight_bytes bytes and do not overlap.
FLYDSL_API void prepare_weight(const GgmlWeight &weight, const void *raw, void *out);
/// The weights of `count` blocks as they are in the file, exactly.
FLYDSL_API void dequantise(GgmlFormat format, const void *blocks, std::int64_t count, double *out);

} // namespace kernels
FLYDSL_NAMESPACE_END
