// A model of the architecture "llama": its sizes, and its weights in the file.
#pragma once

#include "gguf.h"

namespace llama {

/// Rows of weights of one format, which lie one behind another.
struct Matrix {
  flydsl::kernels::GgmlFormat format;
  std::int64_t rows, columns;
  const std::uint8_t *data;
  std::size_t bytes;
};

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
  explicit Model(const Gguf &file);
};

} // namespace llama
