#include "llama_model.h"

#include "gguf.h"

#include <flydsl/host/device_array.h>
#include <flydsl/host/host_float.h>

#include <cmath>
#include <cstring>
#include <fstream>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace llama {
namespace {

constexpr int kLayers = 2, kWidth = 256, kInner = 512, kHeads = 4, kHead = 64;

/// Appends a file's numbers and texts.
struct Writer {
  std::string bytes;
  template <class T> void number(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(const std::string &value) {
    number(std::uint64_t(value.size()));
    bytes += value;
  }
  void key(const std::string &name, std::uint32_t kind) {
    text(name);
    number(kind);
  }
  void whole(const std::string &name, std::uint32_t value) {
    key(name, 4);
    number(value);
  }
  void real(const std::string &name, float value) {
    key(name, 6);
    number(value);
  }
  void words(const std::string &name, const std::string &value) {
    key(name, 8);
    text(value);
  }
  void list(const std::string &name, const std::vector<std::string> &values) {
    key(name, 9);
    number(std::uint32_t(8));
    number(std::uint64_t(values.size()));
    for (const std::string &value : values)
      text(value);
  }
};

double uniform(std::uint64_t seed, std::size_t i) { // of [-1, 1)
  return double(fx::detail::randomBits(seed, i) >> 11) * 0x1p-52 - 1;
}

/// Random blocks whose weights have a mean near 0 and a deviation near 1 / sqrt(columns).
std::string matrix(fk::GgmlFormat format, std::int64_t rows, std::int64_t columns,
                   std::uint64_t seed) {
  const fk::GgmlBlock block = fk::ggml_block(format);
  const std::int64_t blocks = rows * columns / block.weights;
  std::string bytes(std::size_t(blocks * block.bytes), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = char(fx::detail::randomBits(seed, i));
  const double deviation = 1 / std::sqrt(double(columns));
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(&bytes[at], &value, sizeof value);
  };
  const auto half = [&](std::size_t at, double value) { put(at, fx::half_t(value)); };
  for (std::size_t i = 0; i < std::size_t(blocks); ++i) {
    const std::size_t at = i * std::size_t(block.bytes);
    const double size = deviation * (1 + 0.5 * uniform(seed + 1, i));
    switch (format) { // the divisors are the deviations of random codes
    case fk::GgmlFormat::f32:
      for (std::size_t j = 0; j < 4; ++j)
        put(at + 4 * j, float(1.7 * deviation * uniform(seed, 4 * i + j)));
      break;
    case fk::GgmlFormat::f16:
      for (std::size_t j = 0; j < 8; ++j)
        half(at + 2 * j, 1.7 * deviation * uniform(seed, 8 * i + j));
      break;
    case fk::GgmlFormat::bf16:
      for (std::size_t j = 0; j < 8; ++j)
        put(at + 2 * j, fx::bfloat16_t(1.7 * deviation * uniform(seed, 8 * i + j)));
      break;
    case fk::GgmlFormat::q8_0:
      half(at, size / 74);
      break;
    case fk::GgmlFormat::q4_0:
      half(at, size / 4.6);
      break;
    case fk::GgmlFormat::q4_1:
      half(at, size / 4.6);
      half(at + 2, -7.5 * size / 4.6);
      break;
    case fk::GgmlFormat::q4_k:
      half(at, size / (4.6 * 36));
      half(at + 2, 7.5 * size / (4.6 * 36));
      break;
    case fk::GgmlFormat::q6_k:
      half(at + 208, size / (74 * 18.5));
      break;
    case fk::GgmlFormat::q5_0:
      half(at, size / 9.2);
      break;
    case fk::GgmlFormat::q5_1:
      half(at, size / 9.2);
      half(at + 2, -15.5 * size / 9.2);
      break;
    case fk::GgmlFormat::q2_k:
      half(at + 80, size / (1.1 * 8.8));
      half(at + 82, 1.5 * size / (1.1 * 8.8));
      break;
    case fk::GgmlFormat::q3_k:
      half(at + 108, size / (2.3 * 18.5));
      break;
    case fk::GgmlFormat::q5_k:
      half(at, size / (9.2 * 36));
      half(at + 2, 15.5 * size / (9.2 * 36));
      break;
    case fk::GgmlFormat::iq4_nl:
      half(at, size / 70);
      break;
    case fk::GgmlFormat::iq4_xs:
      half(at, size / (70 * 18.5));
      break;
    case fk::GgmlFormat::mxfp4:
      put(at, static_cast<std::uint8_t>(128 + std::lround(std::log2(size / 5.8))));
      break;
    }
  }
  return bytes;
}

std::string ones(std::int64_t size, std::uint64_t seed) {
  std::string bytes;
  for (std::int64_t i = 0; i < size; ++i) {
    const float value = float(1 + 0.1 * uniform(seed, std::size_t(i)));
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  return bytes;
}

} // namespace

void makeModel(const std::string &path, fk::GgmlFormat format, int kvHeads) {
  // A token for each byte by the name that the tables give it, some pairs, and the end.
  std::vector<std::string> tokens, merges;
  for (int b = 0, next = 256; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    const int c = printable ? b : next++;
    tokens.push_back(c < 128 ? std::string(1, char(c))
                             : std::string{char(0xc0 | c >> 6), char(0x80 | (c & 63))});
  }
  for (const char *pair : {"t h", "th e", "i n", "e r", "a n", "\xc4\xa0 t", "\xc4\xa0 the"}) {
    merges.push_back(pair);
    std::string joined(pair);
    joined.erase(joined.find(' '), 1);
    tokens.push_back(joined);
  }
  tokens.push_back("<|end|>");
  const auto vocabulary = std::int64_t(tokens.size());

  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t type;
    std::string bytes;
  };
  std::vector<Tensor> tensors;
  std::uint64_t seed = 1;
  const auto addMatrix = [&](const std::string &name, std::int64_t rows, std::int64_t columns) {
    tensors.push_back({name + ".weight",
                       {columns, rows},
                       fk::ggml_type(format),
                       matrix(format, rows, columns, seed += 2)});
  };
  const auto addVector = [&](const std::string &name) {
    tensors.push_back({name + ".weight", {kWidth}, 0, ones(kWidth, seed += 2)});
  };
  addMatrix("token_embd", vocabulary, kWidth);
  addVector("output_norm");
  for (int i = 0; i < kLayers; ++i) {
    const std::string at = "blk." + std::to_string(i) + ".";
    addVector(at + "attn_norm");
    addVector(at + "ffn_norm");
    addMatrix(at + "attn_q", kHeads * kHead, kWidth);
    addMatrix(at + "attn_k", kvHeads * kHead, kWidth);
    addMatrix(at + "attn_v", kvHeads * kHead, kWidth);
    addMatrix(at + "attn_output", kWidth, kHeads * kHead);
    addMatrix(at + "ffn_gate", kInner, kWidth);
    addMatrix(at + "ffn_up", kInner, kWidth);
    addMatrix(at + "ffn_down", kWidth, kInner);
  }

  Writer file;
  file.bytes = "GGUF";
  file.number(std::uint32_t(3));
  file.number(std::uint64_t(tensors.size()));
  file.number(std::uint64_t(15));
  file.words("general.architecture", "llama");
  file.whole("llama.block_count", kLayers);
  file.whole("llama.context_length", 512);
  file.whole("llama.embedding_length", kWidth);
  file.whole("llama.feed_forward_length", kInner);
  file.whole("llama.attention.head_count", kHeads);
  file.whole("llama.attention.head_count_kv", kvHeads);
  file.real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  file.words("llama.rope.scaling.type", "none");
  file.words("tokenizer.ggml.model", "gpt2");
  file.words("tokenizer.ggml.pre", "smollm");
  file.list("tokenizer.ggml.tokens", tokens);
  file.list("tokenizer.ggml.merges", merges);
  file.key("tokenizer.ggml.token_type", 9);
  file.number(std::uint32_t(5));
  file.number(std::uint64_t(vocabulary));
  for (std::int64_t i = 0; i < vocabulary; ++i)
    file.number(std::int32_t(i + 1 == vocabulary ? 3 : 1));
  file.whole("tokenizer.ggml.eos_token_id", std::uint32_t(vocabulary - 1));
  std::uint64_t offset = 0;
  const auto padded = [](std::uint64_t bytes) { return (bytes + 31) / 32 * 32; };
  for (const Tensor &tensor : tensors) {
    file.text(tensor.name);
    file.number(std::uint32_t(tensor.shape.size()));
    for (std::int64_t extent : tensor.shape)
      file.number(extent);
    file.number(tensor.type);
    file.number(offset);
    offset += padded(tensor.bytes.size());
  }
  file.bytes.resize(padded(file.bytes.size()));
  for (const Tensor &tensor : tensors)
    (file.bytes += tensor.bytes).resize(padded(file.bytes.size()));
  std::ofstream out(path, std::ios::binary);
  if (!out.write(file.bytes.data(), std::streamsize(file.bytes.size())).flush())
    throw FileError(path + ": can't be written");
}

} // namespace llama
