#include "model.h"

#include <cmath>
#include <cstring>

namespace llama {
namespace {

Matrix matrixOf(const Gguf &file, const std::string &name, std::int64_t rows,
                std::int64_t columns) {
  const TensorInfo &tensor = file.tensor(name);
  if (tensor.shape != std::vector{columns, rows})
    throw FileError("the tensor " + name + " is not a matrix of " + std::to_string(rows) +
                    " rows of " + std::to_string(columns));
  return {tensor.format, rows, columns, tensor.data, tensor.bytes};
}

std::vector<float> vectorOf(const Gguf &file, const std::string &name, std::int64_t size) {
  const TensorInfo &tensor = file.tensor(name);
  if (tensor.shape != std::vector{size} || tensor.format != flydsl::kernels::GgmlFormat::f32)
    throw FileError("the tensor " + name + " is not a vector of " + std::to_string(size) +
                    " numbers of type F32");
  std::vector<float> values(static_cast<std::size_t>(size));
  std::memcpy(values.data(), tensor.data, tensor.bytes);
  return values;
}

} // namespace

Model::Model(const Gguf &file) {
  if (const auto &name = file.get<std::string>("general.architecture"); name != "llama")
    throw FileError("the model is of architecture " + name + "; this program runs llama");
  layers = file.number("llama.block_count", 1, 1000);
  width = file.number("llama.embedding_length", 1, 1 << 20);
  inner = file.number("llama.feed_forward_length", 1, 1 << 20);
  heads = file.number("llama.attention.head_count", 1, 1024);
  kvHeads = file.get<std::int64_t>("llama.attention.head_count_kv", heads);
  context = file.number("llama.context_length", 1, 1 << 24);
  head = width / heads;
  if (kvHeads < 1 || heads % kvHeads || width % heads)
    throw FileError("the model has " + std::to_string(heads) + " heads, " +
                    std::to_string(kvHeads) + " heads of keys, and a width of " +
                    std::to_string(width) + ", which don't divide each other");
  for (const char *key :
       {"llama.rope.dimension_count", "llama.attention.key_length", "llama.attention.value_length"})
    if (file.get<std::int64_t>(key, head) != head)
      throw FileError(std::string("the key ") + key + " is not the width of a head, " +
                      std::to_string(head) + "; this program rotates all of each head");
  if (const auto scaling = file.get<std::string>("llama.rope.scaling.type", "none");
      scaling != "none" || file.has("rope_freqs.weight"))
    throw FileError("the model's rotation is scaled (" + scaling +
                    "); this program has no scaling");
  eps = file.get<double>("llama.attention.layer_norm_rms_epsilon");
  ropeBase = file.get<double>("llama.rope.freq_base", 10000.0);
  if (!(eps >= 0 && eps < 1) || !(ropeBase > 1 && std::isfinite(ropeBase)))
    throw FileError("the model's epsilon or base of rotation is no ordinary number");
  const TensorInfo &tokens = file.tensor("token_embd.weight");
  vocabulary = tokens.shape.size() == 2 ? tokens.shape[1] : 0;
  embedding = matrixOf(file, "token_embd.weight", vocabulary, width);
  logits =
      file.has("output.weight") ? matrixOf(file, "output.weight", vocabulary, width) : embedding;
  finalNorm = vectorOf(file, "output_norm.weight", width);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string at = "blk." + std::to_string(i) + ".";
    const auto matrix = [&](const char *name, std::int64_t rows, std::int64_t columns) {
      return matrixOf(file, at + name + ".weight", rows, columns);
    };
    layer.push_back({vectorOf(file, at + "attn_norm.weight", width),
                     vectorOf(file, at + "ffn_norm.weight", width),
                     matrix("attn_q", heads * head, width), matrix("attn_k", kvHeads * head, width),
                     matrix("attn_v", kvHeads * head, width),
                     matrix("attn_output", width, heads * head), matrix("ffn_gate", inner, width),
                     matrix("ffn_up", inner, width), matrix("ffn_down", width, inner)});
    if (layer.back().gate.format != layer.back().up.format)
      throw FileError(at + "ffn_gate and ffn_up are of different formats; this program multiplies "
                           "by both together");
  }
}

} // namespace llama
