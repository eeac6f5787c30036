// What the architectures have in common and in which they differ: a row for each.
#pragma once

#include <flydsl/kernels/activation.h>

#include <cstdint>
#include <string_view>

namespace decoder {

namespace fk = flydsl::kernels;

// region: rows
/// A decoder: an embedding, layers of attention and of a gated MLP, each behind an RMS norm and
/// added to what it got, and a norm and a product that gives logits. `config.json` says how large
/// all of it is; a row says what it is made of.
struct Architecture {
  std::string_view type;        ///< config.json: model_type
  bool headNorms = false;       ///< RMS norms of each head of q and k
  bool postNorms = false;       ///< what attention and MLP give is normalised before it is added
  bool onePlusWeight = false;   ///< norms multiply by 1 + weight
  bool scaledEmbedding = false; ///< embeddings are multiplied by sqrt(width)
  bool softCaps = false;        ///< of scores, and of logits
  bool queryScale = false;      ///< scores are divided by sqrt(query_pre_attn_scalar)
  bool twoRopes = false;        ///< layers with windows rotate in another way
  bool tied = false;            ///< without tie_word_embeddings, logits are by the embedding
  /// Layers i with (i + 1) % globalEvery see all tokens before them, the others a window, unless
  /// config.json has layer_types. 0: all layers see all.
  int globalEvery = 0;
};

inline constexpr Architecture kArchitectures[] = {
    {.type = "llama"},
    {.type = "qwen3", .headNorms = true},
    {.type = "gemma2",
     .postNorms = true,
     .onePlusWeight = true,
     .scaledEmbedding = true,
     .softCaps = true,
     .queryScale = true,
     .tied = true,
     .globalEvery = 2},
    {.type = "gemma3_text",
     .headNorms = true,
     .postNorms = true,
     .onePlusWeight = true,
     .scaledEmbedding = true,
     .queryScale = true,
     .twoRopes = true,
     .tied = true,
     .globalEvery = 6},
};

// endregion
/// The functions of a gated MLP by their names in config.json.
struct NamedActivation {
  std::string_view name;
  fk::Activation activation;
};
inline constexpr NamedActivation kActivations[] = {
    {"silu", fk::Activation::silu},
    {"gelu_pytorch_tanh", fk::Activation::gelu_tanh},
};

} // namespace decoder
