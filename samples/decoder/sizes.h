// What config.json says of a model: its sizes and options.
#pragma once

#include "architecture.h"
#include "rope.h"

#include <cmath>
#include <tuple>
#include <vector>

namespace decoder {

/// `size`, or the next larger multiple.
constexpr std::int64_t whole(std::int64_t size, std::int64_t of) {
  return (size + of - 1) / of * of;
}

/// The sizes of all mixtures of a model.
struct Experts {
  std::int64_t count = 0, inner = 0; ///< experts that the router chooses from; their width inside
  int topk = 0;                      ///< chosen for a token
  /// Shared experts, which each token has. One that is wider than the others is several of them.
  /// The last of these may be filled up with zeros.
  int shared = 0;
  std::int64_t sharedInner = 0;   ///< the width inside of all shared ones
  std::int64_t apart = 0;         ///< the width inside of an MLP besides the experts; 0: none
  std::int64_t latent = 0;        ///< the width of experts' rows, if it is not the model's
  int groups = 1, topkGroups = 1; ///< of the experts that the router chooses from
  std::vector<bool> layers;       ///< of each layer: whether it has a mixture and no MLP
  bool renormalise = false;
  double scale = 1;            ///< of the weights
  double alpha = 1, limit = 0; ///< clamped

  /// Columns of the experts' rows, in a model of this width.
  std::int64_t columns(std::int64_t width) const { return latent ? latent : width; }
  int slots() const { return topk + shared; } ///< of a token
  std::int64_t all() const { return count + shared; }
};

/// The sizes of latent attention (MLA): q by way of `queries` numbers, keys and values by way of
/// `keys`. A head of q and k has `plain` elements and `rotary` more, which rotate and are the same
/// in all heads of k.
struct Latent {
  std::int64_t queries = 0; ///< 0: q is made of what enters the layer
  std::int64_t keys = 0, plain = 0, rotary = 0, value = 0;

  std::int64_t head() const { return plain + rotary; }
  /// Elements of a token in the cache: keys, zeros and what rotates; see decode's latent and head.
  std::int64_t cached() const { return whole(roomOfKeys() + rotary, 64); }
  std::int64_t roomOfKeys() const { return whole(keys, 128); }
  std::int64_t firstRotary() const { return cached() - rotary; }
};

/// The sizes of the indexer of sparse attention: heads of q, one key of the size of a head, and how many
/// tokens it chooses of those before a token, the token among them.
struct Indexer {
  std::int64_t heads = 0, head = 0, topk = 0;
};

/// The sizes of linear attention by the gated delta rule: heads of q and k, and of v, of gates and of
/// states; before them a convolution over the last `taps` tokens. Mamba-2's C, B and x are q, k and v.
struct Delta {
  std::int64_t keyHeads = 0, valueHeads = 0, key = 0, value = 0, taps = 0;
  bool isSum = false; ///< Mamba-2: a token adds x to the state, times the length of its step
  /// Not 0: Kimi Delta Attention, each channel of k decays by itself; decays and gates are made by way
  /// of so many numbers.
  std::int64_t rank = 0;
  bool convBias = false;           ///< the convolution has a bias
  double stepMin = 0, stepMax = 0; ///< between which steps are kept; 0: no limit
  std::int64_t normed = 0;         ///< numbers of a row that are normalised together

  std::int64_t keys() const { return keyHeads * key; }
  std::int64_t values() const { return valueHeads * value; }
  std::int64_t channels() const { return 2 * keys() + values(); } ///< of the convolution: q, k, v
  bool byChannel() const { return rank != 0; }
  /// Numbers of a token's gates: of the delta rule beta of all heads, and the steps of all heads. Steps
  /// of channels are not among them.
  std::int64_t steps() const { return (isSum || byChannel() ? 1 : 2) * valueHeads; }
  std::int64_t groups() const { return values() / normed; } ///< rows of the norm, of a token
};

/// How a layer mixes tokens.
enum class Mixing : std::uint8_t {
  all,    ///< attention to all tokens before
  window, ///< to the last ones
  delta,  ///< linear attention, or a state space
  none,   ///< the layer is an MLP or a mixture
};

struct Sizes {
  const Architecture &row;
  std::int64_t layers, width, inner, heads, kvHeads, head, vocabulary, context;
  double eps, scale; ///< of norms; of scores
  double embeddingScale = 1;
  double scoreCap = 0, logitCap = 0; ///< 0: none
  std::vector<Mixing> mixing;        ///< of each layer
  std::int64_t window = 0; ///< tokens that a layer with a window sees, the query's among them
  fk::Activation activation;
  Rope rope, windowRope; ///< of layers without and with a window
  bool headNorms, tied, bias, mlpBias;
  std::int64_t rotary = 2; ///< elements of a head that rotate
  fk::RopeStyle ropeStyle = fk::RopeStyle::neox;
  Experts experts; ///< if the architecture has mixtures
  Latent latent;   ///< if it has latent attention
  Indexer indexer; ///< if that is sparse
  Delta delta;     ///< if it has linear attention

  std::int64_t gateWidth() const { return row.outputGate ? heads * head : 0; }
  std::int64_t qkvWidth() const { return (heads + 2 * kvHeads) * head + gateWidth(); }

  /// Throws FileError if the model is of another architecture, or has an option that is not here.
  explicit Sizes(const Config &config)
      : row(rowOf(config)), layers(layersOf(config)),
        width(config.whole("hidden_size", 1, 1 << 20)),
        inner(row.attention ? config.whole("intermediate_size", 1, 1 << 20) : 1),
        heads(row.attention ? config.whole("num_attention_heads", 1, 1024) : 1),
        kvHeads(config.whole("num_key_value_heads", 1, 1024, heads)),
        head(row.attention ? config.whole("head_dim", 1, 1024, width / heads) : 1),
        vocabulary(config.whole("vocab_size", 1, 1 << 24)),
        context(row.attention ? config.whole("max_position_embeddings", 1, 1 << 30) : 1 << 30),
        eps(config.real(config.has("layer_norm_epsilon") ? "layer_norm_epsilon" : "rms_norm_eps", 0,
                        1)),
        scale(1 / std::sqrt(row.queryScale ? config.real("query_pre_attn_scalar", 1, 1e6)
                                           : double(head))),
        activation(activationOf(config)),
        headNorms(row.optionalHeadNorms ? config.flag("use_qk_norm", false) : row.headNorms),
        tied(config.flag("tie_word_embeddings", row.tied)),
        bias(config.flag("attention_bias", false)), mlpBias(config.flag("mlp_bias", false)) {
    if (heads % kvHeads)
      config.refuse("num_key_value_heads", kvHeads,
                    "it divides num_attention_heads, " + std::to_string(heads));
    if (row.scaledEmbedding)
      embeddingScale = std::sqrt(double(width));
    if (row.softCaps) {
      scoreCap = config.real("attn_logit_softcapping", 0, 1e6, 0);
      logitCap = config.real("final_logit_softcapping", 0, 1e6, 0);
    }
    if (row.stateSpaces)
      readStateSpaces(config);
    else
      readMixing(config);
    if (row.latent)
      readLatent(config);
    if (row.channelDecays)
      readChannelDelta(config);
    else if (row.delta)
      readDelta(config);
    if (row.rotates && row.attention)
      readRopes(config);
    else // by an angle of 0
      rope = windowRope = {.frequencies =
                               std::vector(std::size_t(row.latent ? latent.rotary / 2 : 1), 0.0)};
    if (row.mixture &&
        (!row.oneMixer || std::ranges::find(experts.layers, true) != experts.layers.end()))
      readExperts(config, *row.mixture);
    if (row.mixture && !row.mixture->apart)
      config.expect("mlp_bias", false);
    config.expect("use_bidirectional_attention", false);
    config.expectAllKnown();
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
    const char *key = config.has("hidden_activation") ? "hidden_activation"
                      : config.has("mlp_hidden_act")  ? "mlp_hidden_act"
                                                      : "hidden_act";
    const std::string name = config.word(key);
    const auto *found = std::ranges::find(kActivations, name, &NamedActivation::name);
    if (found == std::end(kActivations))
      config.refuse(key, name, "this program has silu, gelu_pytorch_tanh and relu2");
    if (config.has("hidden_act"))
      config.expect("hidden_act", name); // both keys, in Gemma's files
    return found->activation;
  }
  /// What a layer is where each is one thing, by the names and the letters of config.json.
  struct MixerName {
    std::string_view name, older;
    char letter;
    Mixing mixing;
  };
  static constexpr MixerName kMixerNames[] = {
      {"linear_attention", "mamba", 'M', Mixing::delta},
      {"full_attention", "attention", '*', Mixing::all},
      {"mlp", "mlp", '-', Mixing::none},
      {"moe", "moe", 'E', Mixing::none},
  };
  /// The layers of a model whose layers are one thing each; empty: all are state spaces.
  static std::vector<std::string> mixersOf(const Config &config) {
    if (!config.has("hybrid_override_pattern"))
      return config.words("layers_block_type");
    std::vector<std::string> names;
    for (const char letter : config.word("hybrid_override_pattern"))
      names.emplace_back(1, letter);
    return names;
  }
  static std::int64_t layersOf(const Config &config) {
    const std::vector<std::string> mixers = mixersOf(config);
    if (mixers.empty())
      return config.whole("num_hidden_layers", 1, 1000);
    config.expect("num_hidden_layers", mixers.size());
    return std::int64_t(mixers.size());
  }
  void readStateSpaces(const Config &config) {
    const std::vector<std::string> mixers = mixersOf(config);
    mixing.assign(std::size_t(layers), Mixing::delta);
    experts.layers.assign(std::size_t(layers), false);
    for (std::size_t i = 0; i < mixers.size(); ++i) {
      const auto *found = std::ranges::find_if(kMixerNames, [&](const MixerName &known) {
        return mixers[i] == known.name || mixers[i] == known.older ||
               mixers[i] == std::string(1, known.letter);
      });
      if (found == std::end(kMixerNames) || !row.attention)
        config.refuse(
            config.has("layers_block_type") ? "layers_block_type" : "hybrid_override_pattern",
            mixers[i],
            row.attention ? "this program has linear_attention, full_attention, mlp and moe"
                          : "all layers of this model are state spaces");
      mixing[i] = found->mixing;
      experts.layers[i] = found->name == "moe";
    }
    // Two spellings of the same.
    const bool alone = !row.attention;
    const auto size = [&](const char *ofAlone, const char *ofMany) {
      return config.whole(alone ? ofAlone : ofMany, 1, 1 << 20);
    };
    delta = {.keyHeads = config.whole("n_groups", 1, 1024),
             .valueHeads = size("num_heads", "mamba_num_heads"),
             .key = size("state_size", "ssm_state_size"),
             .value = size("head_dim", "mamba_head_dim"),
             .taps = config.whole("conv_kernel", 1, 1024),
             .isSum = true,
             .convBias = config.flag("use_conv_bias", true)};
    std::tie(delta.stepMin, delta.stepMax) = config.limits("time_step_limit");
    if (delta.valueHeads % delta.keyHeads)
      config.refuse("n_groups", delta.keyHeads,
                    "it divides the heads, " + std::to_string(delta.valueHeads));
    delta.normed = delta.values() / delta.keyHeads;
    const double expand = config.real("expand", 0, 1e6, 2);
    if (alone && expand * double(width) != double(delta.values()))
      config.refuse("expand", expand,
                    "times hidden_size it is num_heads times head_dim, " +
                        std::to_string(delta.values()));
    config.expect(alone ? "hidden_act" : "mamba_hidden_act", "silu");
    config.expect("use_bias", false);
    config.expect("mamba_proj_bias", false);
    config.expect("sliding_window", nullptr);
    window = 1;
    config.ignore({"moe_intermediate_size", "moe_latent_size",
                   "moe_shared_expert_intermediate_size", "moe_shared_expert_overlap", "n_group",
                   "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts_per_tok",
                   "routed_scaling_factor", "topk_group"}); // without a mixture, nothing has them
  }
  void readMixing(const Config &config) {
    // What layers have that do not see all tokens.
    const Mixing other = row.delta ? Mixing::delta : Mixing::window;
    const std::string nameOfOther = row.delta ? "linear_attention" : "sliding_attention";
    const auto everyBy = [&](const char *key, std::int64_t otherwise) {
      return config.whole(key, 1, 1000, otherwise);
    };
    const std::int64_t globalEvery = std::max(row.globalEvery, 1),
                       every = // transformers has written both names
                       row.delta ? everyBy("full_attention_interval", globalEvery)
                                 : everyBy("_sliding_window_pattern",
                                           everyBy("sliding_window_pattern", globalEvery));
    if (row.delta)
      config.expect("use_sliding_window", false);
    const bool used = row.delta || config.flag("use_sliding_window", row.globalEvery != 0),
               everywhere = row.windowEverywhere && config.has("sliding_window");
    for (std::int64_t i = 0; i < layers; ++i)
      mixing.push_back(everywhere || (used && (i + 1) % every) ? other : Mixing::all);
    std::vector<std::string> types = config.words("layer_types", std::size_t(layers));
    if (row.sparse) // all layers are, by either name
      for (std::string &type : types)
        if (type == "indexed_attention" || type == "deepseek_sparse_attention")
          type = "full_attention";
    if (used && !row.delta && types.empty() && row.globalEvery == 0)
      config.refuse("use_sliding_window", true, "layer_types says of which layers then");
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] != nameOfOther && types[i] != "full_attention")
        config.refuse("layer_types", types[i],
                      "this program has full_attention and " + nameOfOther);
      mixing[i] = types[i] == nameOfOther ? other : Mixing::all;
    }
    if (const auto linear = config.object("linear_attn_config"); linear && types.empty())
      readLayerNumbers(*linear);
    else if (row.channelDecays && types.empty())
      config.refuse("layer_types", nullptr, "it or linear_attn_config says what each layer is");
    const bool any = std::ranges::find(mixing, Mixing::window) != mixing.end();
    window = config.whole("sliding_window", 1, 1 << 30, any ? std::nullopt : std::optional(1));
  }
  /// Which layers see all tokens and which are linear attention, by their numbers, which begin at 1.
  void readLayerNumbers(const Config &config) {
    std::vector<bool> known(std::size_t(layers), false);
    for (const auto &[key, is] :
         {std::pair("full_attn_layers", Mixing::all), std::pair("kda_layers", Mixing::delta)})
      for (const std::int64_t number : config.wholes(key, 1, layers)) {
        const std::size_t i = std::size_t(number - 1);
        if (known[i])
          config.refuse(key, number, "each layer is there once");
        known[i] = true;
        mixing[i] = is;
      }
    if (const auto missing = std::ranges::find(known, false); missing != known.end())
      config.refuse("kda_layers", config.wholes("kda_layers", 1, layers),
                    "it or full_attn_layers has layer " +
                        std::to_string(missing - known.begin() + 1));
  }
  void readLatent(const Config &config) {
    if (config.has("q_lora_rank"))
      latent.queries = config.whole("q_lora_rank", 1, 1 << 20);
    latent.keys = config.whole("kv_lora_rank", 1, 1 << 20);
    latent.plain = config.whole("qk_nope_head_dim", 1, 1024);
    latent.rotary = config.whole("qk_rope_head_dim", 1, 1024);
    latent.value = config.whole("v_head_dim", 1, 1024);
    // Other numbers of the same.
    config.expect("qk_head_dim", latent.head());
    config.expect("head_dim", latent.rotary);
    config.expect("num_key_value_heads", heads);
    head = latent.rotary;
    scale = 1 / std::sqrt(double(latent.head()));
    ropeStyle = config.flag("rope_interleave", true) ? fk::RopeStyle::gptj : fk::RopeStyle::neox;
    if (row.sparse)
      readIndexer(config);
  }
  void readIndexer(const Config &config) {
    indexer = {.heads = config.whole("index_n_heads", 1, 1024),
               .head = config.whole("index_head_dim", 1, 1024),
               .topk = config.whole("index_topk", 1, 65536)};
    if (latent.queries == 0)
      config.refuse("q_lora_rank", nullptr, "the indexer's queries are made of so many numbers");
    if (indexer.head < latent.rotary)
      config.refuse("index_head_dim", indexer.head,
                    "the first qk_rope_head_dim, " + std::to_string(latent.rotary) +
                        ", of its elements rotate");
  }
  void readDelta(const Config &config) {
    delta.keyHeads = config.whole("linear_num_key_heads", 1, 1024);
    delta.valueHeads = config.whole("linear_num_value_heads", 1, 1024);
    delta.key = config.whole("linear_key_head_dim", 1, 1024);
    delta.value = config.whole("linear_value_head_dim", 1, 1024);
    delta.taps = config.whole("linear_conv_kernel_dim", 1, 1024);
    delta.normed = delta.value;
    if (delta.valueHeads % delta.keyHeads)
      config.refuse("linear_num_value_heads", delta.valueHeads,
                    "it is a multiple of linear_num_key_heads, " + std::to_string(delta.keyHeads));
    if (activation != fk::Activation::silu)
      config.refuse("hidden_act", config.word("hidden_act"),
                    "the convolutions of this program have silu");
  }
  void readChannelDelta(const Config &config) {
    const auto linear = config.object("linear_attn_config");
    const auto whole = [&](const char *key, const char *older) {
      const std::int64_t size = linear ? linear->whole(older, 1, 1024) : config.whole(key, 1, 1024);
      if (linear)
        config.expect(key, size);
      return size;
    };
    delta.keyHeads = delta.valueHeads = whole("linear_num_heads", "num_heads");
    delta.key = delta.value = delta.normed = delta.rank = whole("linear_head_dim", "head_dim");
    delta.taps = whole("linear_conv_kernel_dim", "short_conv_kernel_size");
    if (linear) {
      linear->ignore({"full_attn_layers", "kda_layers"}); // see readLayerNumbers
      linear->expectAllKnown();
    }
    config.expect("hidden_act", "silu");
    config.expect("mla_use_nope", true); // with transformers' name, there is no other way
    config.expect("use_grouped_topk", true);
    config.ignore({"rope_parameters", "rope_scaling", "rope_theta"}); // nothing rotates
  }
  void readRopes(const Config &config) {
    const auto given =
        config.object(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters");
    const Config none(nlohmann::json::object(), "rope_parameters");
    const Config &partial = given && given->has("partial_rotary_factor") ? *given : config;
    rotary = std::int64_t(double(head) * partial.real("partial_rotary_factor", 0, 1, 1));
    if (config.has("rotary_dim")) // an older name, of the elements
      rotary = config.whole("rotary_dim", 1, head);
    if (rotary < 2 || rotary % 2)
      config.refuse("partial_rotary_factor", rotary, "an even number of elements rotates");
    if (!row.partial && !row.latent && rotary != head)
      partial.refuse("partial_rotary_factor", double(rotary) / double(head),
                     "all elements of " + std::string(row.type) + "'s heads rotate");
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
    for (const Rope &each : {rope, windowRope})
      if (each.longest)
        context = std::min(context, each.longest);
    if (!row.latent)
      return;
    if (rotary != latent.rotary)
      config.refuse("partial_rotary_factor", rotary, "all of qk_rope_head_dim rotates");
    scale *= rope.scores * rope.scores;
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
    experts.renormalise = mixture.renormalise
                              ? *mixture.renormalise
                              : config.flag("norm_topk_prob", mixture.shared || mixture.apart);
    if (!row.oneMixer)
      experts.layers.assign(std::size_t(layers), true);
    if (mixture.someMlps) {
      const std::int64_t step = config.whole("decoder_sparse_step", 1, 1000, 1);
      for (std::int64_t i = 0; i < layers; ++i)
        experts.layers[std::size_t(i)] = (i + 1) % step == 0;
      for (std::int64_t layer : config.wholes("mlp_only_layers", 0, layers - 1))
        experts.layers[std::size_t(layer)] = false;
    }
    if (mixture.clamped) {
      experts.alpha = config.real("swiglu_alpha", 0, 1e3, 1.702);
      experts.limit = config.real("swiglu_limit", 1e-3, 1e6, 7);
    }
    if (mixture.gatedShared) {
      experts.sharedInner = config.whole("shared_expert_intermediate_size", 1, 1 << 20);
      experts.shared = int((experts.sharedInner + experts.inner - 1) / experts.inner);
    }
    if (mixture.shared) {
      experts.shared = int(config.whole("n_shared_experts", 1, 64));
      experts.sharedInner = experts.shared * experts.inner;
      readMlpLayers(config);
      config.expect("scoring_func", "sigmoid");
      config.expect("topk_method", "noaux_tc");
      config.expect("moe_layer_freq", 1);
    }
    if (mixture.apart) {
      experts.apart = config.whole("moe_shared_expert_intermediate_size", 1, 1 << 20);
      if (config.has("moe_latent_size"))
        experts.latent = config.whole("moe_latent_size", 1, 1 << 20);
    }
    if (mixture.shared || mixture.apart) {
      experts.groups = int(config.whole("n_group", 1, 32));
      experts.topkGroups = int(config.whole("topk_group", 1, experts.groups));
      if (experts.count % experts.groups)
        config.refuse("n_group", experts.groups,
                      "it divides " + std::string(count) + ", " + std::to_string(experts.count));
      experts.scale = config.real("routed_scaling_factor", 1e-3, 1e3);
    }
  }
  /// Which layers have an MLP: all that are said, or the first ones.
  void readMlpLayers(const Config &config) {
    const std::vector<std::string> types = config.words("mlp_layer_types", std::size_t(layers));
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] != "dense" && types[i] != "sparse")
        config.refuse("mlp_layer_types", types[i], "this program has dense and sparse");
      experts.layers[i] = types[i] == "sparse";
    }
    if (types.empty())
      std::fill_n(experts.layers.begin(), config.whole("first_k_dense_replace", 0, layers), false);
    else
      config.ignore({"first_k_dense_replace"});
  }
};

} // namespace decoder
