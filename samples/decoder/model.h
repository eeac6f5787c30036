// A model as its files have it: sizes from config.json, weights from model.safetensors.
#pragma once

#include "sizes.h"

#include <initializer_list>
#include <numeric>

namespace decoder {

using Floats = std::vector<float>;

/// A matrix of weights in the file: rows are output channels, elements are of BF16.
struct Matrix {
  std::span<const std::uint8_t> bytes;
  std::int64_t rows, columns;

  /// `count` rows from `first` on.
  Matrix part(std::int64_t first, std::int64_t count) const {
    const std::size_t row = bytes.size() / std::size_t(rows);
    return {bytes.subspan(std::size_t(first) * row, std::size_t(count) * row), count, columns};
  }
};

/// Attention: heads of q, k and v, which are in the cache.
struct HeadWeights {
  Matrix q, k, v, output;
  std::optional<Matrix> gate = {};      ///< outputGate
  Floats qNorm = {}, kNorm = {};        ///< headNorms, rowNorms
  Floats sinks = {};                    ///< by head of q
  Floats qkvBias = {}, outputBias = {}; ///< empty: none; in the order q, k, v, gate
};
/// The indexer of sparse attention.
struct IndexerWeights {
  Matrix q, key, weights; ///< weights: of the heads of a token
  Floats norm, normBias;  ///< of the key
};
/// Latent attention: one product gives the numbers of q and of keys and values; see Latent.
struct LatentWeights {
  std::vector<Matrix> down; ///< of q, if there are such numbers, and of keys and values
  Matrix q, output;
  Floats qNorm, kvNorm;
  Floats downBias = {}, outputBias = {}; ///< empty: none
  /// Of one head after another: (keys, plain) and (value, keys); and the first by rows of keys, (plain,
  /// keys).
  std::vector<Matrix> absorb = {}, expand = {}, plainKeys = {};
  std::optional<IndexerWeights> indexer = {}; ///< if attention is sparse
};
/// Linear attention, or a state space.
struct DeltaWeights {
  /// Rows of q, k and v of all heads, which are convolved; of the gates of what heads give; and of
  /// beta of all heads, if there is such, and then of the length of a step.
  Matrix mixed, gate, steps, output;
  /// Kimi Delta Attention: what gates are made of, what steps of channels are made of, and these.
  std::optional<Matrix> gateDown = {}, decayDown = {}, decay = {};
  Floats taps;          ///< (channels, taps)
  Floats convBias = {}; ///< of channels, if there is one
  /// Of heads: a step's factor in the exponent of the decay; what the step has more, of channels if
  /// they decay by themselves.
  Floats a, offset;
  Floats skip = {}; ///< isSum: of heads
  Floats norm;      ///< of what a head gives, or all heads
};
struct MlpWeights {
  std::optional<Matrix> gate; ///< gatedMlps
  Matrix up, down;
  Floats upBias = {}, downBias = {}; ///< empty: none; of gates and then of ups
};
/// The weights of a mixture of experts.
struct ExpertWeights {
  Matrix router;
  std::optional<Matrix> sharedGate = {};   ///< gatedShared
  Floats routerBias = {}, choiceBias = {}; ///< clamped; if the mixture has such
  /// Of one expert after another: rows of gates, if it has them, and then of ups, and of the second
  /// products.
  std::vector<Matrix> gateUp = {}, down = {};
  Floats gateUpBias = {}, downBias = {};                ///< clamped
  std::optional<MlpWeights> apart = {};                 ///< what each token has besides experts
  std::optional<Matrix> toLatent = {}, fromLatent = {}; ///< if experts have rows of another width
};

struct Layer {
  Floats norm = {};                          ///< of what enters the layer
  Floats mlpNorm = {};                       ///< empty: the layer is one thing alone
  Floats afterAttention = {}, afterMlp = {}; ///< postNorms
  std::optional<HeadWeights> heads = {};     ///< one of the three, but where the layer is an MLP
  std::optional<LatentWeights> latent = {};
  std::optional<DeltaWeights> delta = {};
  std::optional<MlpWeights> mlp = {}; ///< one of the two, but where the layer is one of the three
  std::optional<ExpertWeights> experts = {};
};

struct Model : Sizes {
  Model(const Model &) = delete; // weights point into it

private:
  std::string stem_; ///< the names of tensors begin so

public:
  Matrix embedding, logits; ///< the same one if the file has no other
  Floats finalNorm;
  std::vector<Layer> layer;
  bool rounded = false; ///< the file's matrices have more bits than BF16

  /// Throws FileError as Sizes does, and if the files don't fit each other. The file of weights must
  /// live as long as the model.
  Model(const Config &config, const SafeTensors &file)
      : Sizes(config), stem_(file.has("backbone.embeddings.weight") ? "backbone." : "model."),
        embedding(matrix(file, stem_ + (row.oneMixer ? "embeddings" : "embed_tokens") + ".weight",
                         vocabulary, width)),
        logits(tied ? embedding : matrix(file, "lm_head.weight", vocabulary, width)),
        finalNorm(norm(file, stem_ + (row.oneMixer ? "norm_f" : "norm"), width)) {
    for (std::int64_t i = 0; i < layers; ++i)
      layer.push_back(row.oneMixer ? readMixer(file, i) : readLayer(file, i));
    file.expectAllUsed();
    rounded = file.rounded();
    fillUp();
  }

private:
  static Matrix matrix(const SafeTensors &file, const std::string &name, std::int64_t rows,
                       std::int64_t columns) {
    const std::int64_t shape[] = {rows, columns};
    return {file.bf16(name, shape), rows, columns};
  }
  static Floats vector(const SafeTensors &file, const std::string &name,
                       std::initializer_list<std::int64_t> shape) {
    return file.floats(name, {shape.begin(), shape.size()});
  }
  Floats norm(const SafeTensors &file, const std::string &name, std::int64_t size) const {
    Floats weight = vector(file, name + ".weight", {size});
    for (float &value : weight)
      value += row.onePlusWeight ? 1.0f : 0.0f;
    return weight;
  }

  /// A layer that is one thing.
  Layer readMixer(const SafeTensors &file, std::int64_t i) {
    const std::string at = stem_ + "layers." + std::to_string(i) + ".", mixer = at + "mixer.";
    Layer made{.norm = norm(file, at + "norm", width)};
    switch (mixing[std::size_t(i)]) {
    case Mixing::delta:
      made.delta = readStateSpace(file, mixer);
      break;
    case Mixing::none:
      if (experts.layers[std::size_t(i)])
        made.experts = readPlainExperts(file, mixer);
      else
        made.mlp = readMlp(file, mixer, inner);
      break;
    case Mixing::all:
    case Mixing::window:
      made.heads = readHeads(file, mixer);
      break;
    }
    return made;
  }
  /// A mixture whose experts have no gates, with an MLP besides.
  ExpertWeights readPlainExperts(const SafeTensors &file, const std::string &at) const {
    const std::int64_t columns = experts.columns(width);
    ExpertWeights made{.router = matrix(file, at + "gate.weight", experts.count, width),
                       .choiceBias =
                           vector(file, at + std::string(row.mixture->choiceBias), {experts.count}),
                       .apart = readMlp(file, at + "shared_experts.", experts.apart)};
    if (file.has(at + "experts.up_proj")) {
      made.gateUp = eachExpert(file, at + "experts.up_proj", experts.inner, columns);
      made.down = eachExpert(file, at + "experts.down_proj", columns, experts.inner);
    } else { // as published files have them
      for (std::int64_t e = 0; e < experts.count; ++e) {
        const std::string expert = at + "experts." + std::to_string(e) + ".";
        made.gateUp.push_back(matrix(file, expert + "up_proj.weight", experts.inner, columns));
        made.down.push_back(matrix(file, expert + "down_proj.weight", columns, experts.inner));
      }
    }
    if (experts.latent) {
      made.toLatent = matrix(file, at + "fc1_latent_proj.weight", columns, width);
      made.fromLatent = matrix(file, at + "fc2_latent_proj.weight", width, columns);
    }
    return made;
  }
  /// The matrix of each expert, of a tensor of all.
  std::vector<Matrix> eachExpert(const SafeTensors &file, const std::string &name,
                                 std::int64_t rows, std::int64_t columns) const {
    const std::int64_t shape[] = {experts.count, rows, columns};
    const auto all = file.bf16(name, shape);
    const std::size_t size = all.size() / std::size_t(experts.count);
    std::vector<Matrix> matrices;
    for (std::size_t e = 0; e < std::size_t(experts.count); ++e)
      matrices.push_back({all.subspan(e * size, size), rows, columns});
    return matrices;
  }
  MlpWeights readMlp(const SafeTensors &file, const std::string &at, std::int64_t inner) const {
    std::optional<Matrix> gate;
    if (row.gatedMlps)
      gate = matrix(file, at + "gate_proj.weight", inner, width);
    MlpWeights made{.gate = gate,
                    .up = matrix(file, at + "up_proj.weight", inner, width),
                    .down = matrix(file, at + "down_proj.weight", width, inner)};
    if (mlpBias) {
      if (gate)
        made.upBias = vector(file, at + "gate_proj.bias", {inner});
      append(made.upBias, vector(file, at + "up_proj.bias", {inner}));
      made.downBias = vector(file, at + "down_proj.bias", {width});
    }
    return made;
  }
  /// Makes the widths inside of MLPs and experts multiples of 16 by zeros, as products of gated pairs
  /// take them. What these give is 0.
  void fillUp() {
    for (Layer &of : layer) {
      if (of.mlp)
        fillUp(*of.mlp);
      if (of.experts && of.experts->apart)
        fillUp(*of.experts->apart);
      if (of.experts && experts.inner % kPairs)
        fillUp(*of.experts);
    }
    for (std::int64_t *size : {&inner, &experts.inner, &experts.apart})
      *size = whole(*size, kPairs);
  }
  void fillUp(MlpWeights &of) {
    const std::int64_t inner = of.up.rows;
    if (inner % kPairs == 0)
      return;
    if (of.gate)
      of.gate = rowsFilledUp(*of.gate);
    of.up = rowsFilledUp(of.up);
    of.down = columnsFilledUp(of.down);
    of.upBias = filledUp(of.upBias, inner);
  }
  void fillUp(ExpertWeights &of) {
    std::vector<Matrix> rows; // gates and ups by themselves
    for (const Matrix &both : of.gateUp)
      for (std::int64_t first = 0; first < both.rows; first += experts.inner)
        rows.push_back(rowsFilledUp(both.part(first, experts.inner)));
    of.gateUp = rows;
    for (Matrix &down : of.down)
      down = columnsFilledUp(down);
    of.gateUpBias = filledUp(of.gateUpBias, experts.inner);
  }
  static constexpr std::int64_t kPairs = 16;
  Matrix rowsFilledUp(const Matrix &of) {
    return block(of, {0, whole(of.rows, kPairs)}, {0, of.columns});
  }
  Matrix columnsFilledUp(const Matrix &of) {
    return block(of, {0, of.rows}, {0, whole(of.columns, kPairs)});
  }
  /// Each `each` numbers, and zeros after them.
  static Floats filledUp(const Floats &of, std::int64_t each) {
    Floats made;
    for (auto from = of.begin(); from != of.end(); from += each) {
      append(made, {from, from + each});
      made.resize(made.size() + std::size_t(whole(each, kPairs) - each));
    }
    return made;
  }
  Layer readLayer(const SafeTensors &file, std::int64_t i) {
    const std::string at = stem_ + "layers." + std::to_string(i) + ".",
                      attention = at + "self_attn.",
                      mixture = at + "block_sparse_moe.", // in published files
        mlp = at + (file.has(mixture + "gate.weight") ? "block_sparse_moe." : "mlp.");
    const auto number = std::size_t(i);
    Layer made{.norm = norm(file, at + "input_layernorm", width)};
    if (mixing[number] == Mixing::delta)
      made.delta = row.channelDecays ? readChannelDelta(file, attention)
                                     : readDeltaWeights(file, at + "linear_attn.");
    else if (row.latent)
      made.latent = readLatentWeights(file, attention);
    else
      made.heads = readHeads(file, attention);
    if (row.mixture && experts.layers[number])
      made.experts = readMixture(file, mlp, *row.mixture);
    else
      made.mlp = readMlp(file, mlp, inner);
    // Without norms after them, the norm after attention is the one before the MLP.
    if (row.postNorms) {
      made.afterAttention = norm(file, at + "post_attention_layernorm", width);
      made.mlpNorm = norm(file, at + "pre_feedforward_layernorm", width);
      made.afterMlp = norm(file, at + "post_feedforward_layernorm", width);
    } else {
      made.mlpNorm = norm(file, at + "post_attention_layernorm", width);
    }
    return made;
  }

  HeadWeights readHeads(const SafeTensors &file, const std::string &at) {
    // Of each head, q and then its gate.
    const std::int64_t ofQ = heads * head + gateWidth();
    const std::vector<std::int64_t> qAndGate =
        row.outputGate ? std::vector{head, head} : std::vector{head};
    const Matrix q = grouped(matrix(file, at + "q_proj.weight", ofQ, width), heads, qAndGate);
    HeadWeights made{.q = q.part(0, heads * head),
                     .k = matrix(file, at + "k_proj.weight", kvHeads * head, width),
                     .v = matrix(file, at + "v_proj.weight", kvHeads * head, width),
                     .output = matrix(file, at + "o_proj.weight", width, heads * head)};
    if (row.outputGate)
      made.gate = q.part(heads * head, heads * head);
    if (row.sinks)
      made.sinks = vector(file, at + "sinks", {heads});
    if (headNorms) {
      made.qNorm = norm(file, at + "q_norm", head);
      made.kNorm = norm(file, at + "k_norm", head);
    } else if (row.rowNorms) {
      made.qNorm = norm(file, at + "q_norm", heads * head);
      made.kNorm = norm(file, at + "k_norm", kvHeads * head);
    }
    if (bias) {
      const Floats ofQAndGate = grouped(vector(file, at + "q_proj.bias", {ofQ}), heads, qAndGate);
      const auto gate = ofQAndGate.begin() + heads * head;
      append(made.qkvBias, {ofQAndGate.begin(), gate});
      for (const char *name : {"k_proj.bias", "v_proj.bias"})
        append(made.qkvBias, vector(file, at + name, {kvHeads * head}));
      append(made.qkvBias, {gate, ofQAndGate.end()});
      if (row.outputBias)
        made.outputBias = vector(file, at + "o_proj.bias", {width});
    }
    return made;
  }

  LatentWeights readLatentWeights(const SafeTensors &file, const std::string &at) {
    const bool direct = latent.queries == 0;
    const std::int64_t ofFile = latent.keys + latent.rotary; // without the cache's zeros
    const Matrix down = matrix(file, at + "kv_a_proj_with_mqa.weight", ofFile, width);
    LatentWeights made{
        .down = direct ? std::vector<Matrix>()
                       : std::vector{matrix(file, at + "q_a_proj.weight", latent.queries, width)},
        .q = matrix(file, at + (direct ? "q_proj.weight" : "q_b_proj.weight"),
                    heads * latent.head(), direct ? width : latent.queries),
        .output = matrix(file, at + "o_proj.weight", width, heads * latent.value),
        .qNorm = direct ? Floats() : norm(file, at + "q_a_layernorm", latent.queries),
        .kvNorm = norm(file, at + "kv_a_layernorm", latent.keys)};
    made.down.push_back(block(down.part(0, latent.keys), {0, latent.firstRotary()}, {0, width}));
    made.down.push_back(down.part(latent.keys, latent.rotary));
    if (row.sparse) {
      const std::string of = at + "indexer.";
      made.indexer = IndexerWeights{
          .q = matrix(file, of + "wq_b.weight", indexer.heads * indexer.head, latent.queries),
          .key = matrix(file, of + "wk.weight", indexer.head, width),
          .weights = matrix(file, of + "weights_proj.weight", indexer.heads, width),
          .norm = vector(file, of + "k_norm.weight", {indexer.head}),
          .normBias = vector(file, of + "k_norm.bias", {indexer.head})};
    }
    if (bias) {
      if (!direct)
        made.downBias = vector(file, at + "q_a_proj.bias", {latent.queries});
      Floats ofDown = vector(file, at + "kv_a_proj_with_mqa.bias", {ofFile});
      ofDown.insert(ofDown.begin() + latent.keys, std::size_t(latent.cached() - ofFile), 0.0f);
      append(made.downBias, ofDown);
      made.outputBias = vector(file, at + "o_proj.bias", {width});
    }
    // Of each head, keys and then values.
    const std::int64_t each = latent.plain + latent.value;
    const Matrix up = matrix(file, at + "kv_b_proj.weight", heads * each, latent.keys);
    for (std::int64_t h = 0; h < heads; ++h) {
      made.plainKeys.push_back(up.part(h * each, latent.plain));
      made.absorb.push_back(transposed(made.plainKeys.back(), 1));
      made.expand.push_back(up.part(h * each + latent.plain, latent.value));
    }
    return made;
  }

  DeltaWeights readDeltaWeights(const SafeTensors &file, const std::string &at) {
    // Of each head of q and k: q, k, and then v and gates of the heads of v that it has.
    const std::int64_t ofKey = delta.valueHeads / delta.keyHeads, values = ofKey * delta.value;
    const Matrix all =
        grouped(matrix(file, at + "in_proj_qkvz.weight", delta.channels() + delta.values(), width),
                delta.keyHeads, {delta.key, delta.key, values, values});
    DeltaWeights made{
        .mixed = all.part(0, delta.channels()),
        .gate = all.part(delta.channels(), delta.values()),
        .steps = grouped(matrix(file, at + "in_proj_ba.weight", 2 * delta.valueHeads, width),
                         delta.keyHeads, {ofKey, ofKey}),
        .output = matrix(file, at + "out_proj.weight", width, delta.values()),
        .taps = vector(file, at + "conv1d.weight", {delta.channels(), 1, delta.taps}),
        .a = minusExp(vector(file, at + "A_log", {delta.valueHeads})),
        .offset = vector(file, at + "dt_bias", {delta.valueHeads}),
        .norm = vector(file, at + "norm.weight", {delta.value})};
    return made;
  }
  DeltaWeights readChannelDelta(const SafeTensors &file, const std::string &at) {
    const std::int64_t values = delta.values(), rank = delta.rank;
    const auto rows = [&](const std::string &name, std::int64_t rows, std::int64_t columns) {
      return matrix(file, at + name + ".weight", rows, columns);
    };
    // The published file has what transformers keeps in a module of its own, and three convolutions.
    const std::string gate = file.has(at + "forget_gate.A_log") ? "forget_gate." : "";
    Floats taps;
    if (file.has(at + "conv1d.weight"))
      taps = vector(file, at + "conv1d.weight", {delta.channels(), 1, delta.taps});
    else
      for (const char *of : {"q_conv1d", "k_conv1d", "v_conv1d"})
        append(taps, vector(file, at + of + ".weight", {values, 1, delta.taps}));
    return {.mixed = joined({rows("q_proj", values, width), rows("k_proj", values, width),
                             rows("v_proj", values, width)}),
            .gate = rows("g_b_proj", values, rank),
            .steps = rows("b_proj", delta.valueHeads, width),
            .output = rows("o_proj", width, values),
            .gateDown = rows("g_a_proj", rank, width),
            .decayDown = rows(gate + "f_a_proj", rank, width),
            .decay = rows(gate + "f_b_proj", values, rank),
            .taps = taps,
            .a = minusExp(vector(file, at + gate + "A_log", {1, 1, delta.valueHeads, 1})),
            .offset = vector(file, at + gate + "dt_bias", {values}),
            .norm = vector(file, at + "o_norm.weight", {delta.value})};
  }
  DeltaWeights readStateSpace(const SafeTensors &file, const std::string &at) {
    // Gates, x, B, C and steps; C, B and x are in the place of q, k and v.
    const std::int64_t values = delta.values(), keys = delta.keys(), channels = delta.channels();
    const Matrix all =
        matrix(file, at + "in_proj.weight", values + channels + delta.valueHeads, width);
    const auto turned = [&](const Floats &of, std::int64_t each) { // x, B, C to C, B, x
      const auto part = [&](std::int64_t first, std::int64_t count) {
        const auto from = of.begin() + first * each;
        return Floats(from, from + count * each);
      };
      Floats made = part(values + keys, keys);
      append(made, part(values, keys));
      append(made, part(0, values));
      return made;
    };
    DeltaWeights made{
        .mixed = joined({all.part(2 * values + keys, keys), all.part(2 * values, keys),
                         all.part(values, values)}),
        .gate = all.part(0, values),
        .steps = all.part(values + channels, delta.valueHeads),
        .output = matrix(file, at + "out_proj.weight", width, values),
        .taps = turned(vector(file, at + "conv1d.weight", {channels, 1, delta.taps}), delta.taps),
        .a = minusExp(vector(file, at + "A_log", {delta.valueHeads})),
        .offset = vector(file, at + "dt_bias", {delta.valueHeads}),
        .skip = vector(file, at + "D", {delta.valueHeads}),
        .norm = vector(file, at + "norm.weight", {values})};
    if (delta.convBias)
      made.convBias = turned(vector(file, at + "conv1d.bias", {channels}), 1);
    return made;
  }
  static Floats minusExp(Floats values) {
    for (float &value : values)
      value = -std::exp(value);
    return values;
  }
  /// The rows of several matrices.
  Matrix joined(std::initializer_list<Matrix> matrices) {
    std::vector<std::uint8_t> &made = made_.emplace_back();
    std::int64_t rows = 0;
    for (const Matrix &matrix : matrices) {
      made.insert(made.end(), matrix.bytes.begin(), matrix.bytes.end());
      rows += matrix.rows;
    }
    return {made, rows, matrices.begin()->columns};
  }

  ExpertWeights readMixture(const SafeTensors &file, const std::string &mlp,
                            const Mixture &mixture) {
    const std::int64_t both = 2 * experts.inner;
    const auto each = [&](const std::string &name, std::int64_t rows, std::int64_t columns) {
      return eachExpert(file, name, rows, columns);
    };
    const std::string router = mlp + std::string(mixture.router);
    ExpertWeights made{.router = matrix(file, router + ".weight", experts.count, width)};
    if (mixture.clamped) {
      made.routerBias = vector(file, router + ".bias", {experts.count});
      for (const Matrix &columns : each(mlp + "experts.gate_up_proj", width, both))
        made.gateUp.push_back(transposed(columns, 2));
      for (const Matrix &columns : each(mlp + "experts.down_proj", experts.inner, width))
        made.down.push_back(transposed(columns, 1));
      made.gateUpBias = vector(file, mlp + "experts.gate_up_proj_bias", {experts.count, both});
      for (std::int64_t e = 0; e < experts.count; ++e)
        deinterleave(std::span(made.gateUpBias).subspan(std::size_t(e * both), std::size_t(both)));
      made.downBias = vector(file, mlp + "experts.down_proj_bias", {experts.count, width});
    } else if (file.has(mlp + "experts.gate_up_proj")) {
      made.gateUp = each(mlp + "experts.gate_up_proj", both, width);
      made.down = each(mlp + "experts.down_proj", width, experts.inner);
    } else { // a tensor for each expert, with one of two names
      const bool numbered = file.has(mlp + "experts.0.w1.weight");
      for (std::int64_t e = 0; e < experts.count; ++e) {
        const std::string at = mlp + "experts." + std::to_string(e) + ".";
        const auto of = [&](const char *name, const char *number, std::int64_t rows,
                            std::int64_t columns) {
          return matrix(file, at + (numbered ? number : name) + ".weight", rows, columns);
        };
        made.gateUp.push_back(of("gate_proj", "w1", experts.inner, width));
        made.gateUp.push_back(of("up_proj", "w3", experts.inner, width));
        made.down.push_back(of("down_proj", "w2", width, experts.inner));
      }
    }
    if (!mixture.choiceBias.empty())
      made.choiceBias = vector(file, mlp + std::string(mixture.choiceBias), {experts.count});
    if (mixture.gatedShared)
      made.sharedGate = matrix(file, mlp + "shared_expert_gate.weight", 1, width);
    if (experts.shared) {
      const std::string at = mlp + (mixture.shared ? "shared_experts." : "shared_expert.");
      const std::int64_t all = experts.sharedInner;
      const Matrix gate = matrix(file, at + "gate_proj.weight", all, width),
                   up = matrix(file, at + "up_proj.weight", all, width),
                   down = matrix(file, at + "down_proj.weight", width, all);
      for (std::int64_t e = 0; e < all; e += experts.inner) {
        made.gateUp.push_back(block(gate, {e, experts.inner}, {0, width}));
        made.gateUp.push_back(block(up, {e, experts.inner}, {0, width}));
        made.down.push_back(block(down, {0, width}, {e, experts.inner}));
      }
    }
    return made;
  }

  static void append(Floats &to, const Floats &of) { to.insert(to.end(), of.begin(), of.end()); }
  /// `count` rows or columns from `first` on.
  struct Range {
    std::int64_t first, count;

    std::int64_t inside(std::int64_t of) const { return std::min(count, of - first); }
  };
  /// A part of a matrix; zeros stand past its last row and column.
  Matrix block(const Matrix &of, const Range &rows, const Range &columns) {
    constexpr std::int64_t bytes = 2;
    std::vector<std::uint8_t> &made =
        made_.emplace_back(std::size_t(rows.count * columns.count * bytes));
    for (std::int64_t i = 0; i < rows.inside(of.rows); ++i)
      std::memcpy(&made[std::size_t(i * columns.count * bytes)],
                  &of.bytes[std::size_t(((rows.first + i) * of.columns + columns.first) * bytes)],
                  std::size_t(columns.inside(of.columns) * bytes));
    return {made, rows.count, columns.count};
  }
  /// Rows that are in groups, of each group parts of these sizes, become the first part of all groups,
  /// then the second of all, and so on. `row`: elements of a row.
  template <class T>
  static std::vector<T> grouped(std::span<const T> of, std::int64_t groups,
                                const std::vector<std::int64_t> &parts, std::int64_t row) {
    std::vector<T> made;
    const std::int64_t each = std::accumulate(parts.begin(), parts.end(), std::int64_t(0));
    std::int64_t first = 0;
    for (const std::int64_t part : parts) {
      for (std::int64_t group = 0; group < groups; ++group) {
        const auto from = of.begin() + (group * each + first) * row;
        made.insert(made.end(), from, from + part * row);
      }
      first += part;
    }
    return made;
  }
  static Floats grouped(const Floats &of, std::int64_t groups,
                        const std::vector<std::int64_t> &parts) {
    return grouped(std::span(of), groups, parts, 1);
  }
  Matrix grouped(const Matrix &of, std::int64_t groups, const std::vector<std::int64_t> &parts) {
    if (parts.size() == 1)
      return of;
    made_.push_back(grouped(of.bytes, groups, parts, std::int64_t(of.bytes.size()) / of.rows));
    return {made_.back(), of.rows, of.columns};
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
