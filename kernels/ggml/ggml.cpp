// Weights in ggml's block formats on the host.
#include "ggml/ggml_rules.h"

#include "frame/arguments.h"

#include <flydsl/error.h>
#include <flydsl/host/host_float.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {
namespace {

using Bytes = const std::uint8_t *;

template <class T> double numberAt(Bytes bytes, int index = 0) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<int>(sizeof(T)), sizeof value);
  return static_cast<double>(value);
}

template <class T> void plain(Bytes block, int weights, double *out) {
  for (int i = 0; i < weights; ++i)
    out[i] = numberAt<T>(block, i);
}
/// 32 codes of 4 bits; byte i has number i and 16 + i.
int nibble(Bytes codes, int i) { return codes[i % 16] >> (i / 16 * 4) & 15; }
/// The bit `number` of a row of bytes.
int bit(Bytes bits, int number) { return bits[number / 8] >> number % 8 & 1; }
template <class Code> void of32(double scale, double offset, double *out, const Code &code) {
  for (int i = 0; i < 32; ++i)
    out[i] = scale * code(i) + offset;
}
void nibbles(Bytes codes, double scale, double offset, double *out) {
  of32(scale, offset, out, [&](int i) { return nibble(codes, i); });
}
void fiveBits(Bytes high, double scale, double offset, double *out) {
  of32(scale, offset, out, [&](int i) { return nibble(high + 4, i) | bit(high, i) << 4; });
}
void valuesOf(const impl::Codebook &book, Bytes codes, double scale, double *out) {
  of32(scale, 0, out, [&](int i) { return book[static_cast<std::size_t>(nibble(codes, i))]; });
}
/// Scale and minimum j of the 12 bytes of a block of Q4_K and Q5_K: six bits each. The upper two of
/// the last four pairs stand in the upper bits of the first ones.
std::array<int, 2> sixBits(Bytes packed, int j) {
  if (j < 4)
    return {packed[j] & 63, packed[j + 4] & 63};
  return {(packed[j + 4] & 15) | (packed[j - 4] >> 6 << 4),
          (packed[j + 4] >> 4) | (packed[j] >> 6 << 4)};
}
/// Q4_K, and Q5_K whose codes have a fifth bit in 32 bytes before the others.
void block4K(Bytes block, bool fifth, double *out) {
  const double d = numberAt<half_t>(block), dmin = numberAt<half_t>(block, 1);
  const Bytes high = block + 16, low = fifth ? high + 32 : high;
  for (int j = 0; j < 8; ++j) {
    const auto [scale, minimum] = sixBits(block + 4, j);
    for (int i = 0; i < 32; ++i) {
      const int code =
          (low[32 * (j / 2) + i] >> (j % 2 * 4) & 15) | (fifth ? (high[i] >> j & 1) << 4 : 0);
      out[32 * j + i] = d * scale * code - dmin * minimum;
    }
  }
}
/// The low two bits of weight i of a half of Q2_K and Q3_K.
int twoBits(Bytes codes, int i) { return codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }
void block2K(Bytes block, double *out) {
  const double d = numberAt<half_t>(block + 80), dmin = numberAt<half_t>(block + 82);
  for (int i = 0; i < 256; ++i)
    out[i] = d * (block[i / 16] & 15) * twoBits(block + 16, i) - dmin * (block[i / 16] >> 4);
}
/// Scale j of the 12 bytes of a block of Q3_K: the low four bits of 16, then the high two.
int scale3K(Bytes packed, int j) {
  return (packed[j % 8] >> (j / 8 * 4) & 15) | (packed[8 + j % 4] >> (j / 4 * 2) & 3) << 4;
}
void block3K(Bytes block, double *out) {
  const double d = numberAt<half_t>(block + 108);
  for (int i = 0; i < 256; ++i) {
    const int high = block[i % 32] >> (i / 32) & 1;
    out[i] = d * (scale3K(block + 96, i / 16) - 32) * ((twoBits(block + 32, i) | high << 2) - 4);
  }
}
void block6K(Bytes block, double *out) {
  const Bytes low = block, high = block + 128, scales = block + 192;
  const double d = numberAt<half_t>(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, at = i % 32;
    const int lowBits = low[64 * half + quarter % 2 * 32 + at] >> (quarter / 2 * 4) & 15,
              highBits = high[32 * half + at] >> (2 * quarter) & 3;
    out[i] = d * numberAt<std::int8_t>(scales, i / 16) * ((lowBits | highBits << 4) - 32);
  }
}

void block4Xs(Bytes block, double *out) {
  const double d = numberAt<half_t>(block);
  const int high = block[2] | block[3] << 8;
  for (int j = 0; j < 8; ++j) {
    const int scale = (block[4 + j / 2] >> (j % 2 * 4) & 15) | (high >> 2 * j & 3) << 4;
    valuesOf(impl::kIq4Values, block + 8 + 16 * j, d * (scale - 32), out + 32 * j);
  }
}

void dequantiseBlock(const impl::GgmlRow &row, Bytes block, double *out) {
  switch (row.format) {
  case GgmlFormat::f32:
    return plain<float>(block, row.weights, out);
  case GgmlFormat::f16:
    return plain<half_t>(block, row.weights, out);
  case GgmlFormat::bf16:
    return plain<bfloat16_t>(block, row.weights, out);
  case GgmlFormat::q8_0:
    for (int i = 0; i < 32; ++i)
      out[i] = numberAt<half_t>(block) * numberAt<std::int8_t>(block + 2, i);
    return;
  case GgmlFormat::q4_0: {
    const double d = numberAt<half_t>(block);
    return nibbles(block + 2, d, -8 * d, out);
  }
  case GgmlFormat::q4_1:
    return nibbles(block + 4, numberAt<half_t>(block), numberAt<half_t>(block, 1), out);
  case GgmlFormat::q4_k:
    return block4K(block, /*fifth=*/false, out);
  case GgmlFormat::q6_k:
    return block6K(block, out);
  case GgmlFormat::q5_0: {
    const double d = numberAt<half_t>(block);
    return fiveBits(block + 2, d, -16 * d, out);
  }
  case GgmlFormat::q5_1:
    return fiveBits(block + 4, numberAt<half_t>(block), numberAt<half_t>(block, 1), out);
  case GgmlFormat::q2_k:
    return block2K(block, out);
  case GgmlFormat::q3_k:
    return block3K(block, out);
  case GgmlFormat::q5_k:
    return block4K(block, /*fifth=*/true, out);
  case GgmlFormat::iq4_nl:
    return valuesOf(impl::kIq4Values, block + 2, numberAt<half_t>(block), out);
  case GgmlFormat::iq4_xs:
    return block4Xs(block, out);
  case GgmlFormat::mxfp4:
    return valuesOf(impl::kFp4Halves, block + 1, std::ldexp(1.0, block[0] - 128), out);
  }
}

std::int64_t bytesOf(const GgmlWeight &weight) {
  const impl::GgmlRow &row = impl::ggmlRow(weight.format);
  return weight.n * (weight.k / row.weights) * row.bytes;
}
std::string textOf(const GgmlWeight &weight) {
  return "(n, k) = (" + std::to_string(weight.n) + ", " + std::to_string(weight.k) + ") of " +
         std::string(impl::ggmlRow(weight.format).name) + " in the layout " +
         (weight.layout == GgmlLayout::planes ? "planes" : "blocks");
}

void expectWeight(const GgmlWeight &weight) {
  if (const Support answer = impl::ggmlSupported(weight); !answer)
    throw Error("weights of ggml: " + answer.why);
}

} // namespace

Support impl::ggmlSupported(const GgmlWeight &weight) {
  const GgmlRow &row = ggmlRow(weight.format);
  const std::string name(row.name);
  if (weight.n < 1 || weight.k < 1)
    return Support::no("n is " + std::to_string(weight.n) + " and k is " +
                       std::to_string(weight.k) + "; a matrix has at least one row of one block");
  if (weight.k % row.weights)
    return Support::no("k is " + std::to_string(weight.k) + "; rows of " + name +
                       " are multiples of " + std::to_string(row.weights) + " weights");
  if (weight.k > (std::int64_t(1) << 24) || weight.n > (std::int64_t(1) << 30))
    return Support::no("n is " + std::to_string(weight.n) + " and k is " +
                       std::to_string(weight.k) + "; they are at most 2^30 and 2^24");
  return {};
}

void impl::checkBlocks(const Arguments &arguments, const char *name, const GgmlTensor &given,
                       const GgmlWeight &expected) {
  if (given.weight != expected) [[unlikely]]
    arguments.fail(std::string(name) + " is weights " + textOf(given.weight) +
                   "; the problem's are " + textOf(expected) +
                   (given.weight.layout != expected.layout
                        ? "; prepare_weight brings weights as they are in a file into a layout"
                        : ""));
  arguments.check(given.bytes, {.name = name,
                                .dtype = u8,
                                .shape = {"weight_bytes", bytesOf(expected)},
                                .align = 16,
                                .reason = "16 bytes are loaded at a time"});
}

GgmlBlock ggml_block(GgmlFormat format) {
  const impl::GgmlRow &row = impl::ggmlRow(format);
  return {row.name, row.weights, row.bytes};
}
std::optional<GgmlFormat> ggml_format(std::uint32_t type) {
  for (const impl::GgmlRow &row : impl::kGgmlRows)
    if (row.type == type)
      return row.format;
  return std::nullopt;
}
std::uint32_t ggml_type(GgmlFormat format) { return impl::ggmlRow(format).type; }

std::size_t weight_bytes(const GgmlWeight &weight) {
  expectWeight(weight);
  return static_cast<std::size_t>(bytesOf(weight));
}

void prepare_weight(const GgmlWeight &weight, const void *raw, void *out) {
  const std::size_t bytes = weight_bytes(weight);
  if (!raw || !out)
    throw Error("prepare_weight: a null pointer is given for the memory of raw or out, which the "
                "host reads and writes");
  const auto from = reinterpret_cast<std::uintptr_t>(raw),
             to = reinterpret_cast<std::uintptr_t>(out);
  if (from < to + bytes && to < from + bytes)
    throw Error("prepare_weight: raw and out share memory; give out memory of its own");
  const impl::GgmlRow &row = impl::ggmlRow(weight.format);
  if (weight.layout == GgmlLayout::blocks) {
    std::memcpy(out, raw, bytes);
    return;
  }
  const auto head = static_cast<std::size_t>(row.head), body = static_cast<std::size_t>(row.body());
  const std::size_t blocks = bytes / (head + body);
  auto *bodies = static_cast<std::uint8_t *>(out), *heads = bodies + blocks * body;
  const auto *block = static_cast<const std::uint8_t *>(raw);
  for (std::size_t i = 0; i < blocks; ++i, block += head + body) {
    std::memcpy(bodies + i * body, block + (row.headLast ? 0 : head), body);
    std::memcpy(heads + i * head, block + (row.headLast ? body : 0), head);
  }
}

void dequantise(GgmlFormat format, const void *blocks, std::int64_t count, double *out) {
  const impl::GgmlRow &row = impl::ggmlRow(format);
  for (std::int64_t i = 0; i < count; ++i)
    dequantiseBlock(row, static_cast<Bytes>(blocks) + i * row.bytes, out + i * row.weights);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
