// A model of the architecture "llama": its sizes, and its weights in the file.
#pragma once

#include "gguf.h"

#include <cmath>

namespace llama {

/// Rows of weights of one format, whole blocks in each.
struct Matrix {
  fk::GgmlFormat format;
  std::int64_t rows, columns;
  const std::uint8_t *data;
  std::int64_t stride; ///< bytes from a row to the next

  const std::uint8_t *row(std::int64_t i) const { return data + i * stride; }
  /// The bytes of so many columns.
  std::int64_t bytesOf(std::int64_t count) const {
    const fk::GgmlBlock block = fk::ggml_block(format);
    return count / block.weights * block.bytes;
  }
};

// region: share
/// Which of how many equal parts.
struct Share {
  int rank, ranks;
  /// The size of a part. Throws FileError if the parts would not be equal.
  std::int64_t of(std::int64_t count, const std::string &what, std::int64_t unit = 1) const {
    if (count % (ranks * unit))
      throw FileError("--tp " + std::to_string(ranks) + ": " + std::to_string(ranks) +
                      " devices can't share " + std::to_string(count) + " " + what +
                      (unit > 1 ? ", in blocks of " + std::to_string(unit) : ""));
    return count / ranks;
  }
};
inline Matrix rowsOf(const Matrix &whole, const Share &share) {
  const std::int64_t rows = share.of(whole.rows, "rows of weights");
  return {whole.format, rows, whole.columns, whole.row(share.rank * rows), whole.stride};
}
inline Matrix columnsOf(const Matrix &whole, const Share &share) {
  const std::int64_t columns =
      share.of(whole.columns, "columns of weights", fk::ggml_block(whole.format).weights);
  return {whole.format, whole.rows, columns, whole.data + share.rank * whole.bytesOf(columns),
          whole.stride};
}
// endregion

inline Matrix matrixOf(const Gguf &file, const std::string &name, std::int64_t rows,
                       std::int64_t columns) {
  const TensorInfo &tensor = file.tensor(name);
  if (tensor.shape != std::vector{columns, rows})
    throw FileError("the tensor " + name + " is not a matrix of " + std::to_string(rows) +
                    " rows of " + std::to_string(columns));
  return {tensor.format, rows, columns, tensor.data, std::int64_t(tensor.bytes) / rows};
}

inline std::vector<float> vectorOf(const Gguf &file, const std::string &name, std::int64_t size) {
  const TensorInfo &tensor = file.tensor(name);
  if (tensor.shape != std::vector{size} || tensor.format != fk::GgmlFormat::f32)
    throw FileError("the tensor " + name + " is not a vector of " + std::to_string(size) +
                    " numbers of type F32");
  std::vector<float> values(std::size_t(size), 0.f);
  std::memcpy(values.data(), tensor.data, tensor.bytes);
  return values;
}

struct Layer {
  std::vector<float> attentionNorm, mlpNorm;
  Matrix q, k, v, output, gate, up, down;
};

struct Model {
  std::int64_t layers, width, inner, heads, kvHeads, head, vocabulary, context;
  double eps, ropeBase;
  Matrix embedding, logits; // the same one if the file has no other
  std::vector<float> finalNorm;
  std::vector<Layer> layer;

  std::int64_t qkvWidth() const { return (heads + 2 * kvHeads) * head; }

  /// Throws FileError if the file is of another architecture, or if its parts don't fit each other.
  /// The file must live as long as the model.
  explicit Model(const Gguf &file) {
    if (const auto &name = file.get<std::string>("general.architecture"); name != "llama")
      throw FileError("the model is of architecture " + name + "; this program runs llama");
    layers = file.whole("llama.block_count", 1, 1000);
    width = file.whole("llama.embedding_length", 1, 1 << 20);
    inner = file.whole("llama.feed_forward_length", 1, 1 << 20);
    heads = file.whole("llama.attention.head_count", 1, 1024);
    kvHeads = file.whole("llama.attention.head_count_kv", 1, 1024, heads);
    context = file.whole("llama.context_length", 1, 1 << 24);
    head = width / heads;
    if (heads % kvHeads || width % heads)
      throw FileError("the model has " + std::to_string(heads) + " heads, " +
                      std::to_string(kvHeads) + " heads of keys, and a width of " +
                      std::to_string(width) + ", which don't divide each other");
    for (const char *key : {"llama.rope.dimension_count", "llama.attention.key_length",
                            "llama.attention.value_length"})
      if (file.get(key, double(head)) != double(head))
        throw FileError(std::string("the key ") + key + " is not the width of a head, " +
                        std::to_string(head) + "; this program rotates all of each head");
    if (const auto scaling = file.get<std::string>("llama.rope.scaling.type", "none");
        scaling != "none" || file.has("rope_freqs.weight"))
      throw FileError("the model's rotation is scaled (" + scaling +
                      "); this program has no scaling");
    eps = file.get<double>("llama.attention.layer_norm_rms_epsilon");
    ropeBase = file.get("llama.rope.freq_base", 10000.0);
    if (!(eps >= 0 && eps < 1) || !(ropeBase > 1 && std::isfinite(ropeBase)))
      throw FileError("the model's epsilon or base of rotation is no ordinary number");
    const TensorInfo &tokens = file.tensor("token_embd.weight");
    vocabulary = tokens.shape.size() == 2 ? tokens.shape[1] : 0;
    embedding = matrixOf(file, "token_embd.weight", vocabulary, width);
    const char *const output = file.has("output.weight") ? "output.weight" : "token_embd.weight";
    logits = matrixOf(file, output, vocabulary, width);
    finalNorm = vectorOf(file, "output_norm.weight", width);
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string at = "blk." + std::to_string(i) + ".";
      const auto matrix = [&](const char *name, std::int64_t rows, std::int64_t columns) {
        return matrixOf(file, at + name + ".weight", rows, columns);
      };
      layer.push_back({vectorOf(file, at + "attn_norm.weight", width),
                       vectorOf(file, at + "ffn_norm.weight", width),
                       matrix("attn_q", width, width), matrix("attn_k", kvHeads * head, width),
                       matrix("attn_v", kvHeads * head, width), matrix("attn_output", width, width),
                       matrix("ffn_gate", inner, width), matrix("ffn_up", inner, width),
                       matrix("ffn_down", width, inner)});
      if (layer.back().gate.format != layer.back().up.format)
        throw FileError(at +
                        "ffn_gate and ffn_up are of different formats; this program multiplies "
                        "by both together");
    }
  }

  // region: part
  /// The part of a rank: some of the heads, and some of the MLP's inner numbers. What the parts add
  /// to the stream of the model adds up to what the whole adds. The stream, its norms and the
  /// logits are on each rank. Throws FileError if the parts would not be equal.
  Model part(int rank, int ranks) const {
    const Share share{rank, ranks};
    Model part = *this;
    part.heads = share.of(heads, "heads");
    part.kvHeads = share.of(kvHeads, "heads of keys");
    part.inner = share.of(inner, "numbers of an MLP");
    for (Layer &of : part.layer) {
      for (Matrix *rows : {&of.q, &of.k, &of.v, &of.gate, &of.up})
        *rows = rowsOf(*rows, share);
      for (Matrix *columns : {&of.output, &of.down})
        *columns = columnsOf(*columns, share);
    }
    return part;
  }
  // endregion
};

} // namespace llama
