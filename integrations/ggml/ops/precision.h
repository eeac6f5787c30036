// How far a model lets inputs of a product be rounded.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// What inputs may become, from the most precise on, as ggml keeps it ("[TAG_GGML_PREC]" of ggml.h). Older ones
/// have fewer names for it.
enum class Rank : int { any = 0, f32 = 10, bf16 = 15, f16 = 20, q8 = 30 };

/// Whether a model lets the inputs of a product, MUL_MAT or MUL_MAT_ID, be rounded so far. Before ggml had
/// ranks of inputs, models asked for precise ones by the rank of sums.
inline bool mayRound(const ggml_tensor *op, Rank to) {
  const auto sums = static_cast<Rank>(intParam(op, 0));
  if (sums != Rank::any && sums <= Rank::f32)
    return false;
  const auto least = static_cast<Rank>(intParam(op, 3));
  return least == Rank::any || least >= to;
}
/// The same of f16 or bf16.
inline bool mayRound(const ggml_tensor *op, ggml_type to) {
  return mayRound(op, to == GGML_TYPE_F16 ? Rank::f16 : Rank::bf16);
}

} // namespace flydsl_ggml
