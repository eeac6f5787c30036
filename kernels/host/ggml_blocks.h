// Random weights in ggml's block formats.
#pragma once

#include "host/values.h"

#include <flydsl/kernels/ggml.h>

#include <algorithm>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::host {

/// All formats.
inline std::vector<GgmlFormat> ggmlFormats() {
  std::vector<GgmlFormat> all;
  for (std::uint32_t type = 0; type < 256; ++type)
    if (const auto format = ggml_format(type))
      all.push_back(*format);
  return all;
}

/// Where a block has what: the factors of type f16, and the codes with the byte of the least code.
/// Formats of plain numbers have neither.
struct BlockParts {
  std::vector<int> factors;
  int codes = 0, end = 0;
  std::uint8_t zero = 0;
  bool exponent = false; ///< byte 0 is an exponent, and there are no factors

  bool plain() const { return factors.empty() && !exponent; }
};
inline BlockParts blockParts(GgmlFormat format) {
  switch (format) {
  case GgmlFormat::f32:
  case GgmlFormat::f16:
  case GgmlFormat::bf16:
    return {};
  case GgmlFormat::q8_0:
    return {{0}, 2, 34, 0x80};
  case GgmlFormat::q4_0:
    return {{0}, 2, 18};
  case GgmlFormat::q4_1:
    return {{0, 2}, 4, 20};
  case GgmlFormat::q4_k:
    return {{0, 2}, 16, 144};
  case GgmlFormat::q6_k:
    return {{208}, 0, 192};
  case GgmlFormat::q5_0:
    return {{0}, 2, 22};
  case GgmlFormat::q5_1:
    return {{0, 2}, 4, 24};
  case GgmlFormat::q2_k:
    return {{80, 82}, 16, 80};
  case GgmlFormat::q3_k:
    return {{108}, 0, 96};
  case GgmlFormat::q5_k:
    return {{0, 2}, 16, 176};
  case GgmlFormat::iq4_nl:
    return {{0}, 2, 18};
  case GgmlFormat::iq4_xs:
    return {{0}, 8, 136};
  case GgmlFormat::mxfp4:
    return {{}, 1, 17, 0xff, true};
  }
  throw Error("a format of no kind");
}
/// The type of a format of plain numbers.
inline DType plainType(GgmlFormat format) {
  return format == GgmlFormat::f32 ? DType(f32) : format == GgmlFormat::f16 ? DType(f16) : bf16;
}

/// Blocks of weights as they are in a file: random codes, whose factors are `factor` or, if it is
/// 0, random ones up to 0.1; and random numbers up to 1, or whole ones up to 8 if there is a
/// factor. With a factor of 1, all weights are whole numbers.
inline std::vector<std::uint8_t> randomBlocks(GgmlFormat format, std::int64_t blocks,
                                              std::uint64_t seed, double factor = 0) {
  const GgmlBlock block = ggml_block(format);
  const BlockParts parts = blockParts(format);
  if (parts.plain()) {
    std::vector<double> values = randomValues(f32, blocks * block.weights, seed);
    if (factor != 0)
      for (double &value : values)
        value = std::round(8 * value);
    return encode(plainType(format), values);
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(blocks * block.bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(detail::randomBits(seed, i));
  for (std::int64_t i = 0; parts.exponent && i < blocks; ++i) {
    // Of the largest weight, 6: 2^-7 to 2^-4; or of halves, which are whole numbers.
    std::uint8_t &exponent = bytes[static_cast<std::size_t>(i * block.bytes)];
    exponent = static_cast<std::uint8_t>(factor != 0 ? 128 : 120 + exponent % 4);
  }
  std::vector<double> factors = randomValues(f16, 2 * blocks, seed + 1);
  for (double &value : factors)
    value = factor != 0 ? factor : 0.1 * value;
  const std::vector<std::uint8_t> halves = encode(f16, factors);
  for (std::int64_t i = 0; i < blocks; ++i)
    for (std::size_t f = 0; f < parts.factors.size(); ++f)
      std::copy_n(halves.begin() + 4 * i + 2 * static_cast<std::ptrdiff_t>(f), 2,
                  bytes.begin() + i * block.bytes + parts.factors[f]);
  return bytes;
}

} // namespace kernels::host
FLYDSL_NAMESPACE_END
