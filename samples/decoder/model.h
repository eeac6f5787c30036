// A model as its files have it: sizes from config.json, weights from model.safetensors.
#pragma once

#include "architecture.h"
#include "rope.h"

#include <initializer_list>

namespace decoder {

using Floats = std::vector<float>;

/// A matrix of weights in the file: rows are output channels, elements are of BF16.
struct Matrix {
  std::span<const std::uint8_t> bytes;
  std::int64_t rows, columns;
};

/// The weights of a mixture of experts.
struct ExpertWeights {
  Matrix router;
  Floats routerBias = {}, choiceBias = {}; ///< clamped; shared
  /// Of one expert after another: rows of gates and then of ups, and of the second products.
  std::vector<Matrix> gateUp = {}, down = {};
  Floats gateUpBias = {}, downBias = {}; ///< clamped
};

struct Layer {
  bool window = false;
  Floats attentionNorm = {}, mlpNorm = {};
  Floats afterAttention = {}, afterMlp = {}; ///< postNorms
  Floats qNorm = {}, kNorm = {};             ///< headNorms
  Floats sinks = {};                         ///< by head of q
  Matrix q, k, v, output;
  Matrix gate = {}, up = {}, down = {}; ///< unless there are experts
  std::optional<ExpertWeights> experts = {};
  Floats qkvBias = {}, outputBias = {}; ///< empty: none
};

/// The sizes of all mixtures of a model.
struct Experts {
  std::int64_t count = 0, inner = 0; ///< experts that the router chooses from; their width inside
  int topk = 0, shared = 0;          ///< chosen for a token, and those that each token has
  std::int64_t firstLayer = 0;       ///< those before it have an MLP
  bool renormalise = false;
  double scale = 1;            ///< of the weights
  double alpha = 1, limit = 0; ///< clamped

  int slots() const { return topk + shared; } ///< of a token
  std::int64_t all() const { return count + shared; }
};

struct Model {
  Model(const Model &) = delete; // weights point into it

  const Architecture &row;
  std::int64_t layers, width, inner, heads, kvHeads, head, vocabulary, context;
  double eps, scale; ///< of norms; of scores
  double embeddingScale = 1;
  double scoreCap = 0, logitCap = 0; ///< 0: none
  std::int64_t window = 0; ///< tokens that a layer with a window sees, the query's among them
  fk::Activation activation;
  Rope rope, windowRope;    ///< of layers without and with a window
  Matrix embedding, logits; ///< the same one if the file has no other
  Floats finalNorm;
  std::vector<Layer> layer;
  bool headNorms;
  std::int64_t rotary; ///< elements of a head that rotate
  Experts experts;     ///< if the architecture has mixtures

  std::int64_t qkvWidth() const { return (heads + 2 * kvHeads) * head; }

  /// Throws FileError if the model is of another architecture, has an option that is not here, or
  /// if its files don't fit each other. The file of weights must live as long as the model.
  Model(const Config &config, const SafeTensors &file)
      : row(rowOf(config)), layers(config.whole("num_hidden_layers", 1, 1000)),
        width(config.whole("hidden_size", 1, 1 << 20)),
        inner(config.whole("intermediate_size", 1, 1 << 20)),
        heads(config.whole("num_attention_heads", 1, 1024)),
        kvHeads(config.whole("num_key_value_heads", 1, 1024, heads)),
        head(config.whole("head_dim", 1, 1024, width / heads)),
        vocabulary(config.whole("vocab_size", 1, 1 << 24)),
        context(config.whole("max_position_embeddings", 1, 1 << 30)),
        eps(config.real("rms_norm_eps", 0, 1)),
        scale(1 / std::sqrt(row.queryScale ? config.real("query_pre_attn_scalar", 1, 1e6)
                                           : double(head))),
        activation(activationOf(config)),
        headNorms(row.optionalHeadNorms ? config.flag("use_qk_norm", false) : row.headNorms) {
    if (heads % kvHeads)
      config.refuse("num_key_value_heads", kvHeads,
                    "it divides num_attention_heads, " + std::to_string(heads));
    if (row.scaledEmbedding)
      embeddingScale = std::sqrt(double(width));
    if (row.softCaps) {
      scoreCap = config.real("attn_logit_softcapping", 0, 1e6, 0);
      logitCap = config.real("final_logit_softcapping", 0, 1e6, 0);
    }
    const std::vector<bool> windows = windowsOf(config);
    readRopes(config);
    if (row.mixture)
      readExperts(config, *row.mixture);
    const bool tied = config.flag("tie_word_embeddings", row.tied),
               bias = config.flag("attention_bias", false);
    config.expect("mlp_bias", false);
    config.expect("use_bidirectional_attention", false);
    config.expectAllKnown();
    readWeights(file, windows, tied, bias);
    file.expectAllUsed();
  }

private:
  static const Architecture &rowOf(const Config &config) {
    const std::string type = config.word("model_type");
    const auto *row = std::ranges::find(kArchitectures, type, &Architecture::type);
    if (row != std::end(kArchitectures))
      return *row;
    std::string all;
    for (const Architecture &known : kArchitectures)
      all += (all.empty() ? "" : ", ") + std::string(known.type);
    config.refuse("model_type", type, "this program has " + all);
  }
  static fk::Activation activationOf(const Config &config) {
    const char *key = config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
    const std::string name = config.word(key);
    const auto *found = std::ranges::find(kActivations, name, &NamedActivation::name);
    if (found == std::end(kActivations))
      config.refuse(key, name, "this program has silu and gelu_pytorch_tanh");
    if (config.has("hidden_act"))
      config.expect("hidden_act", name); // both keys, in Gemma's files
    return found->activation;
  }
  /// Which layers have a window.
  std::vector<bool> windowsOf(const Config &config) {
    const std::int64_t every = // transformers has written both names
        config.whole("_sliding_window_pattern", 1, 1000,
                     config.whole("sliding_window_pattern", 1, 1000, std::max(row.globalEvery, 1)));
    const bool used = config.flag("use_sliding_window", row.globalEvery != 0),
               everywhere = row.windowEverywhere && config.has("sliding_window");
    std::vector<bool> windows;
    for (std::int64_t i = 0; i < layers; ++i)
      windows.push_back(everywhere || (used && (i + 1) % every));
    const std::vector<std::string> types = config.words("layer_types", std::size_t(layers));
    if (used && types.empty() && row.globalEvery == 0)
      config.refuse("use_sliding_window", true, "layer_types says of which layers then");
    for (std::size_t i = 0; i < types.size(); ++i) {
      windows[i] = types[i] == "sliding_attention";
      if (!windows[i] && types[i] != "full_attention")
        config.refuse("layer_types", types[i],
                      "this program has full_attention and sliding_attention");
    }
    const bool any = std::ranges::find(windows, true) != windows.end();
    window = config.whole("sliding_window", 1, 1 << 30, any ? std::nullopt : std::optional(1));
    return windows;
  }
  void readRopes(const Config &config) {
    const auto given =
        config.object(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters");
    const Config none(nlohmann::json::object(), "rope_parameters");
    const Config &partial = given && given->has("partial_rotary_factor") ? *given : config;
    rotary = std::int64_t(double(head) * partial.real("partial_rotary_factor", 0, 1, 1));
    if (rotary < 2 || rotary % 2)
      config.refuse("partial_rotary_factor", rotary, "an even number of elements rotates");
    const auto of = [&](const Config &own) { return ropeOf({own, config}, rotary); };
    if (row.twoRopes && given && given->has("full_attention")) {
      rope = of(*given->object("full_attention"));
      windowRope = of(*given->object("sliding_attention"));
      given->expectAllKnown();
    } else if (row.twoRopes) { // as older files have them
      rope = of(given.value_or(none));
      const double base = config.real("rope_local_base_freq", 1, 1e12);
      windowRope = of(Config({{"rope_theta", base}}, "the windows' rope_parameters"));
    } else {
      rope = windowRope = of(given.value_or(none));
    }
  }

  void readExperts(const Config &config, const Mixture &mixture) {
    const char *count = config.has("num_local_experts")  ? "num_local_experts"
                        : config.has("n_routed_experts") ? "n_routed_experts"
                                                         : "num_experts";
    experts.count = config.whole(count, 1, 2048);
    for (const char *other : {"num_local_experts", "n_routed_experts", "num_experts"})
      config.expect(other, experts.count);
    experts.inner = config.whole(std::string(mixture.inner), 1, 1 << 20);
    experts.topk =
        int(config.whole("num_experts_per_tok", 1, std::min<std::int64_t>(experts.count, 64)));
    experts.renormalise =
        mixture.renormalise ? *mixture.renormalise : config.flag("norm_topk_prob", false);
    config.expect("decoder_sparse_step", 1);
    config.expect("mlp_only_layers", nlohmann::json::array());
    if (mixture.clamped) {
      experts.alpha = config.real("swiglu_alpha", 0, 1e3, 1.702);
      experts.limit = config.real("swiglu_limit", 1e-3, 1e6, 7);
    }
    if (mixture.shared) {
      experts.shared = int(config.whole("n_shared_experts", 1, 1));
      config.expect("n_group", 1);
      config.expect("topk_group", 1);
      experts.firstLayer = config.whole("first_k_dense_replace", 0, layers);
      experts.scale = config.real("routed_scaling_factor", 1e-3, 1e3, 1);
    }
  }

  void readWeights(const SafeTensors &file, const std::vector<bool> &windows, bool tied,
                   bool bias) {
    const auto matrix = [&](const std::string &name, std::int64_t rows, std::int64_t columns) {
      const std::int64_t shape[] = {rows, columns};
      return Matrix{file.bf16(name + ".weight", shape), rows, columns};
    };
    const auto vector = [&](const std::string &name, std::int64_t size) {
      return file.floats(name, {&size, 1});
    };
    const auto norm = [&](const std::string &name, std::int64_t size) {
      Floats weight = vector(name + ".weight", size);
      for (float &value : weight)
        value += row.onePlusWeight ? 1.0f : 0.0f;
      return weight;
    };
    embedding = matrix("model.embed_tokens", vocabulary, width);
    logits = tied ? embedding : matrix("lm_head", vocabulary, width);
    finalNorm = norm("model.norm", width);
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string at = "model.layers." + std::to_string(i) + ".",
                        attention = at + "self_attn.", mlp = at + "mlp.";
      Layer made{.window = windows[std::size_t(i)],
                 .attentionNorm = norm(at + "input_layernorm", width),
                 .q = matrix(attention + "q_proj", heads * head, width),
                 .k = matrix(attention + "k_proj", kvHeads * head, width),
                 .v = matrix(attention + "v_proj", kvHeads * head, width),
                 .output = matrix(attention + "o_proj", width, heads * head)};
      if (row.mixture && i >= experts.firstLayer) {
        made.experts = readMixture(file, mlp, *row.mixture);
      } else {
        made.gate = matrix(mlp + "gate_proj", inner, width);
        made.up = matrix(mlp + "up_proj", inner, width);
        made.down = matrix(mlp + "down_proj", width, inner);
      }
      if (row.sinks)
        made.sinks = vector(attention + "sinks", heads);
      // Without norms after them, the norm after attention is the one before the MLP.
      if (row.postNorms) {
        made.afterAttention = norm(at + "post_attention_layernorm", width);
        made.mlpNorm = norm(at + "pre_feedforward_layernorm", width);
        made.afterMlp = norm(at + "post_feedforward_layernorm", width);
      } else {
        made.mlpNorm = norm(at + "post_attention_layernorm", width);
      }
      if (headNorms) {
        made.qNorm = norm(attention + "q_norm", head);
        made.kNorm = norm(attention + "k_norm", head);
      }
      if (bias) {
        for (const auto &[name, size] : {std::pair("q_proj.bias", heads * head),
                                         {"k_proj.bias", kvHeads * head},
                                         {"v_proj.bias", kvHeads * head}}) {
          const Floats part = vector(attention + name, size);
          made.qkvBias.insert(made.qkvBias.end(), part.begin(), part.end());
        }
        if (row.outputBias)
          made.outputBias = vector(attention + "o_proj.bias", width);
      }
      layer.push_back(std::move(made));
    }
  }

  ExpertWeights readMixture(const SafeTensors &file, const std::string &mlp,
                            const Mixture &mixture) {
    const std::int64_t both = 2 * experts.inner;
    const auto matrix = [&](const std::string &name, std::int64_t rows, std::int64_t columns) {
      const std::int64_t shape[] = {rows, columns};
      return Matrix{file.bf16(name, shape), rows, columns};
    };
    const auto vector = [&](const std::string &name, std::initializer_list<std::int64_t> shape) {
      return file.floats(name, {shape.begin(), shape.size()});
    };
    /// The matrix of each expert, of a tensor of all.
    const auto each = [&](const std::string &name, std::int64_t rows, std::int64_t columns) {
      const std::int64_t shape[] = {experts.count, rows, columns};
      const auto all = file.bf16(name, shape);
      const std::size_t size = all.size() / std::size_t(experts.count);
      std::vector<Matrix> matrices;
      for (std::size_t e = 0; e < std::size_t(experts.count); ++e)
        matrices.push_back({all.subspan(e * size, size), rows, columns});
      return matrices;
    };
    const std::string router = mlp + std::string(mixture.router);
    ExpertWeights made{.router = matrix(router + ".weight", experts.count, width)};
    if (mixture.clamped) {
      made.routerBias = vector(router + ".bias", {experts.count});
      for (const Matrix &columns : each(mlp + "experts.gate_up_proj", width, both))
        made.gateUp.push_back(transposed(columns, 2));
      for (const Matrix &columns : each(mlp + "experts.down_proj", experts.inner, width))
        made.down.push_back(transposed(columns, 1));
      made.gateUpBias = vector(mlp + "experts.gate_up_proj_bias", {experts.count, both});
      for (std::int64_t e = 0; e < experts.count; ++e)
        deinterleave(std::span(made.gateUpBias).subspan(std::size_t(e * both), std::size_t(both)));
      made.downBias = vector(mlp + "experts.down_proj_bias", {experts.count, width});
    } else if (file.has(mlp + "experts.0.gate_proj.weight")) { // a tensor for each expert
      for (std::int64_t e = 0; e < experts.count; ++e) {
        const std::string at = mlp + "experts." + std::to_string(e) + ".";
        made.gateUp.push_back(matrix(at + "gate_proj.weight", experts.inner, width));
        made.gateUp.push_back(matrix(at + "up_proj.weight", experts.inner, width));
        made.down.push_back(matrix(at + "down_proj.weight", width, experts.inner));
      }
    } else {
      made.gateUp = each(mlp + "experts.gate_up_proj", both, width);
      made.down = each(mlp + "experts.down_proj", width, experts.inner);
    }
    if (mixture.shared) {
      made.choiceBias = vector(router + ".e_score_correction_bias", {experts.count});
      const std::string at = mlp + "shared_experts.";
      made.gateUp.push_back(matrix(at + "gate_proj.weight", experts.inner, width));
      made.gateUp.push_back(matrix(at + "up_proj.weight", experts.inner, width));
      made.down.push_back(matrix(at + "down_proj.weight", width, experts.inner));
    }
    return made;
  }
  /// Columns as rows: first each `step`-th of them, and then those between.
  Matrix transposed(const Matrix &of, std::int64_t step) {
    constexpr std::size_t bytes = 2;
    const auto size = [](std::int64_t n) { return std::size_t(n); };
    std::vector<std::uint8_t> &made = made_.emplace_back(of.bytes.size());
    std::size_t row = 0;
    for (std::int64_t first = 0; first < step; ++first)
      for (std::int64_t column = first; column < of.columns; column += step, ++row)
        for (std::int64_t i = 0; i < of.rows; ++i)
          std::memcpy(&made[(row * size(of.rows) + size(i)) * bytes],
                      &of.bytes[size(i * of.columns + column) * bytes], bytes);
    return {made, of.columns, of.rows};
  }
  /// Gate, up, gate, up and so on becomes all gates and then all ups.
  static void deinterleave(std::span<float> of) {
    const Floats pairs(of.begin(), of.end());
    for (std::size_t i = 0; i < pairs.size(); ++i)
      of[i / 2 + i % 2 * (pairs.size() / 2)] = pairs[i];
  }
  std::vector<std::vector<std::uint8_t>> made_; ///< weights that were laid in another way
};

} // namespace decoder
