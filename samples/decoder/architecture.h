// What the architectures have in common and in which they differ: a row for each.
#pragma once

#include <flydsl/kernels/activation.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/topk_gating.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace decoder {

namespace fk = flydsl::kernels;

// region: rows
/// A mixture of experts in the place of an MLP: a router chooses some experts for each token. Each
/// expert is a gated MLP, and their results are added up by weights.
struct Mixture {
  std::string_view inner; ///< config.json: the width inside of an expert
  fk::GatingScore score = fk::GatingScore::softmax;
  /// Whether the weights of a token are made to add up to 1; none: norm_topk_prob says it.
  std::optional<bool> renormalise = {};
  std::string_view router = "gate"; ///< the name of its weights
  /// As gpt-oss has them: biases, columns instead of rows of weights, gates and ups in turns, and
  /// (up + 1) * gate * sigmoid(alpha gate) of numbers that are kept below a limit.
  bool clamped = false;
  /// The choice is by score + bias, which has this name; empty: by the score.
  std::string_view choiceBias = "";
  /// The choice may be of groups first; weights have a factor; shared experts take each token; and
  /// the first layers have an MLP.
  bool shared = false;
  /// A shared expert takes each token, with the sigmoid of a gate of its own as its weight.
  bool gatedShared = false;
  bool someMlps = false; ///< config.json may say that some layers have an MLP
  /// The choice may be of groups first, and weights have a factor. An MLP takes each token besides the
  /// experts, and the experts may have rows of their own width, which products make of a token's and
  /// back. Experts, as the MLP, have no gates.
  bool apart = false;
};

/// A decoder: an embedding, layers of attention and of an MLP, each after an RMS norm and added to
/// what it got, and a norm and a product that gives logits. `config.json` says how large
/// all of it is; a row says what it is made of.
struct Architecture {
  std::string_view type;          ///< config.json: model_type
  bool headNorms = false;         ///< RMS norms of each head of q and k
  bool rowNorms = false;          ///< RMS norms of all heads of q together, and of k
  bool postNorms = false;         ///< what attention and MLP give is normalised before it is added
  bool onePlusWeight = false;     ///< norms multiply by 1 + weight
  bool scaledEmbedding = false;   ///< embeddings are multiplied by sqrt(width)
  bool softCaps = false;          ///< of scores, and of logits
  bool queryScale = false;        ///< scores are divided by sqrt(query_pre_attn_scalar)
  bool twoRopes = false;          ///< layers with windows rotate in another way
  bool sinks = false;             ///< a score for each head that has no key
  bool optionalHeadNorms = false; ///< headNorms if use_qk_norm says so
  bool outputBias = true;         ///< with attention_bias, attention's last product has one too
  bool latent = false;            ///< attention is latent (MLA), see Latent
  bool sparse = false; ///< an indexer chooses the tokens that attention sees, see Indexer
  /// Layers that do not see all tokens are linear attention by the gated delta rule, see Delta.
  bool delta = false;
  /// With delta: each channel of k decays by itself (Kimi Delta Attention), by numbers that come from
  /// fewer, as those of the gates do, whose sigmoid multiplies what heads give.
  bool channelDecays = false;
  /// Layers that do not see all tokens are Mamba-2's state spaces, see Delta.
  bool stateSpaces = false;
  /// A layer is a state space, attention, an MLP or a mixture, after one norm.
  bool oneMixer = false;
  bool attention = true; ///< there are layers of attention
  bool rotates = true;   ///< heads rotate by their positions
  bool partial = false;  ///< a part of a head may rotate
  bool gatedMlps = true;
  /// For --check: transformers gives what leaves each layer in the place of what enters it.
  bool hiddenOfResults = false;
  bool outputGate = false; ///< what a head gives is multiplied by sigmoid(gate)
  bool tied = false;       ///< without tie_word_embeddings, logits are by the embedding
  /// Layers i with (i + 1) % globalEvery == 0 see all tokens before them, the others a window or
  /// a state, unless config.json has layer_types. 0: all layers see all.
  int globalEvery = 0;
  bool windowEverywhere = false; ///< a sliding_window is one of all layers
  std::optional<Mixture> mixture = {};
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
    {.type = "mixtral",
     .windowEverywhere = true,
     .mixture = Mixture{.inner = "intermediate_size", .renormalise = true}},
    {.type = "qwen3_moe",
     .headNorms = true,
     .mixture = Mixture{.inner = "moe_intermediate_size", .someMlps = true}},
    {.type = "qwen3_next",
     .headNorms = true,
     .onePlusWeight = true,
     .delta = true,
     .partial = true,
     .outputGate = true,
     .globalEvery = 4,
     .mixture = Mixture{.inner = "moe_intermediate_size", .gatedShared = true, .someMlps = true}},
    {.type = "gpt_oss",
     .sinks = true,
     .globalEvery = 2,
     .mixture = Mixture{.inner = "intermediate_size",
                        .renormalise = true,
                        .router = "router",
                        .clamped = true}},
    {.type = "glm4_moe",
     .optionalHeadNorms = true,
     .outputBias = false,
     .partial = true,
     .mixture = Mixture{.inner = "moe_intermediate_size",
                        .score = fk::GatingScore::sigmoid,
                        .choiceBias = "gate.e_score_correction_bias",
                        .shared = true}},
    {.type = "deepseek_v3",
     .latent = true,
     .mixture = Mixture{.inner = "moe_intermediate_size",
                        .score = fk::GatingScore::sigmoid,
                        .choiceBias = "gate.e_score_correction_bias",
                        .shared = true}},
    {.type = "deepseek_v32",
     .latent = true,
     .sparse = true,
     .mixture = Mixture{.inner = "moe_intermediate_size",
                        .score = fk::GatingScore::sigmoid,
                        .choiceBias = "gate.e_score_correction_bias",
                        .shared = true}},
    {.type = "kimi_linear",
     .latent = true,
     .delta = true,
     .channelDecays = true,
     .rotates = false,
     .mixture = Mixture{.inner = "moe_intermediate_size",
                        .score = fk::GatingScore::sigmoid,
                        .choiceBias = "gate.e_score_correction_bias",
                        .shared = true}},
    {.type = "minimax_m2",
     .rowNorms = true,
     .partial = true,
     .mixture = Mixture{.inner = "intermediate_size",
                        .score = fk::GatingScore::sigmoid,
                        .renormalise = true,
                        .choiceBias = "e_score_correction_bias"}},
    {.type = "mamba2",
     .stateSpaces = true,
     .oneMixer = true,
     .attention = false,
     .hiddenOfResults = true},
    {.type = "nemotron_h",
     .stateSpaces = true,
     .oneMixer = true,
     .rotates = false,
     .gatedMlps = false,
     .mixture = Mixture{.inner = "moe_intermediate_size",
                        .score = fk::GatingScore::sigmoid,
                        .choiceBias = "gate.e_score_correction_bias",
                        .apart = true}},
};

// endregion
/// The functions of an MLP by their names in config.json.
struct NamedActivation {
  std::string_view name;
  fk::Activation activation;
};
inline constexpr NamedActivation kActivations[] = {
    {"silu", fk::Activation::silu},
    {"gelu_pytorch_tanh", fk::Activation::gelu_tanh},
    {"relu2", fk::Activation::relu_squared},
};

} // namespace decoder
