// A model as its files have it: sizes from config.json, weights from model.safetensors.
#pragma once

#include "architecture.h"
#include "rope.h"

namespace decoder {

using Floats = std::vector<float>;

/// A matrix of weights in the file: rows are output channels, elements are of BF16.
struct Matrix {
  std::span<const std::uint8_t> bytes;
  std::int64_t rows, columns;
};

struct Layer {
  bool window = false;
  Floats attentionNorm = {}, mlpNorm = {};
  Floats afterAttention = {}, afterMlp = {}; ///< postNorms
  Floats qNorm = {}, kNorm = {};             ///< headNorms
  Matrix q, k, v, output, gate, up, down;
  Floats qkvBias = {}, outputBias = {}; ///< empty: none
};

struct Model {
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
        activation(activationOf(config)) {
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
    const bool used = config.flag("use_sliding_window", row.globalEvery != 0);
    std::vector<bool> windows;
    for (std::int64_t i = 0; i < layers; ++i)
      windows.push_back(used && (i + 1) % every);
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
    const auto of = [&](const Config &own) { return ropeOf({own, config}, head); };
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
                 .output = matrix(attention + "o_proj", width, heads * head),
                 .gate = matrix(mlp + "gate_proj", inner, width),
                 .up = matrix(mlp + "up_proj", inner, width),
                 .down = matrix(mlp + "down_proj", width, inner)};
      // Without norms after them, the norm after attention is the one before the MLP.
      if (row.postNorms) {
        made.afterAttention = norm(at + "post_attention_layernorm", width);
        made.mlpNorm = norm(at + "pre_feedforward_layernorm", width);
        made.afterMlp = norm(at + "post_feedforward_layernorm", width);
      } else {
        made.mlpNorm = norm(at + "post_attention_layernorm", width);
      }
      if (row.headNorms) {
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
        made.outputBias = vector(attention + "o_proj.bias", width);
      }
      layer.push_back(std::move(made));
    }
  }
};

} // namespace decoder
