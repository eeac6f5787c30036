// The model in double precision on the host, from the exact weights of the file: what the engine's
// numbers are compared with.
#pragma once

#include "model.h"

#include <span>

namespace llama {

struct Reference {
  /// The rows of numbers after each layer, one row of `width` for each token.
  std::vector<std::vector<double>> layers;
  /// For the token after each of the last tokens: a row of `vocabulary` for each.
  std::vector<double> logits;
};
/// Takes a whole text at once; `last` tokens of it get logits.
Reference reference(const Model &model, std::span<const int> tokens, std::size_t last);

/// How far numbers after `layers` layers may be from the reference, as a part of their root mean
/// square. The engine rounds to half precision the operands of matrix products (prompts), the
/// cache, and what goes into attention and comes out of it: about eight roundings a layer of at most
/// 2^-11 each, which add up like independent errors.
double toleranceAfter(std::int64_t layers);

} // namespace llama
