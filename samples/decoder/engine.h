// The engine: a model on a device, and sequences that go on token by token.
//
// All plans are made and all memory is allocated when it starts. Sequences share a cache of pages.
// The tokens of all prompts that begin together are the rows of one call, whatever their lengths; a
// step of all sequences is a graph that was captured once: its kernels read what changes, such as
// tokens and positions, from memory.
#pragma once

#include "common/device_room.h"
#include "common/plans.h"
#include "common/sampling.h"
#include "common/sequences.h"
#include "experts.h"
#include "kernels.h"
#include "model.h"

#include <flydsl/host/graph.h>
#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/rope.h>

namespace decoder {

using samples::part;

inline constexpr int kPage = 16; // tokens

// region: problems
// Numbers between kernels are f32 where they are added up, and BF16 where a product reads them.
inline fk::GemmProblem productProblem(std::int64_t n, std::int64_t k, fx::DType c = fx::f32) {
  return {.a = fx::bf16,
          .b = fx::bf16,
          .c = c,
          .n = n,
          .k = k,
          .zeroed_workspace = true}; // one launch, also of few tiles
}
inline fk::NormProblem normProblem(const Model &model, fx::DType y, bool residual) {
  return {.x = fx::f32,
          .weight = fx::f32,
          .y = y,
          .n = model.width,
          .eps = model.eps,
          .residual = residual};
}
inline fk::RopeProblem ropeProblem(const Model &model) {
  const fk::HeadNorm norm = model.headNorms ? fk::HeadNorm::weighted : fk::HeadNorm::none;
  return {.x = fx::f32,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .rotary = int(model.rotary),
          .k_out = false, // attention reads k from the cache
          .cache = fk::KvCache::pages,
          .cached = fx::bf16,
          .page = kPage,
          .q_norm = norm,
          .k_norm = norm,
          .weight = fx::f32,
          .eps = model.eps};
}
inline fk::AttentionProblem attentionProblem(const Model &model, bool window) {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .scale = model.scale,
          .soft_cap = model.scoreCap,
          .causal = true,
          .window = window,
          .varlen = true,
          .cache = fk::KvCache::pages,
          .page = kPage,
          .sink = model.row.sinks};
}
inline fk::DecodeProblem decodeProblem(const Model &model, bool window, int context) {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .page = kPage,
          .scale = model.scale,
          .window = window,
          .context = context};
}
// endregion

struct EngineOptions {
  int batch = 1;     ///< sequences at a time
  int context = 256; ///< tokens of a sequence, at most
  int prompt = 64;   ///< tokens of prompts that are taken together
  samples::Sampling sampling = {};
};

class Engine {
public:
  Engine(const Model &model, samples::Plans &plans, const EngineOptions &options)
      : model_(model), options_(options), rows_(std::max(options.prompt, options.batch)),
        sequences_(options.batch, options.context, kPage),
        inputs_(std::size_t(3 * rows_ + options.batch * (2 + sequences_.pagesOfEach()) + 1)),
        tokens_(inputs_.add({rows_})), positions_(inputs_.add({rows_})),
        slots_(inputs_.add({rows_})), starts_(inputs_.add({options.batch + 1})),
        lengths_(inputs_.add({options.batch})),
        tables_(inputs_.add({options.batch, sequences_.pagesOfEach()})), x_({rows_, model.width}),
        delta_({rows_, model.width}), logits_({options.batch, model.vocabulary}),
        y_({rows_, model.width}), qkv_(memory_.room(fx::f32, {rows_, model.qkvWidth()})),
        q_(memory_.room(fx::bf16, {rows_, model.heads, model.head})),
        attended_(memory_.room(fx::bf16, {rows_, model.heads, model.head})),
        inner_(memory_.room(fx::bf16, {rows_, model.inner})), embedding_(raw(model.embedding)),
        finalNorm_(memory_.upload(model.finalNorm, {model.width})),
        norm_(plans(normProblem(model, fx::bf16, false), rows_)),
        addAndNorm_(plans(normProblem(model, fx::bf16, true), rows_)),
        postNorm_(plans(normProblem(model, fx::f32, false), rows_)),
        rope_(plans(ropeProblem(model), rows_)), kinds_{layerKind(plans, false, model.rope),
                                                        layerKind(plans, true, model.windowRope)},
        output_(product(plans, productProblem(model.vocabulary, model.width), {model.logits})),
        choice_(options.sampling, plans, options.batch, model.vocabulary) {
    const fx::Extents cache{sequences_.pages(), kPage, model.kvHeads, model.head};
    const auto vector = [&](const Floats &values) {
      return values.empty() ? std::optional<fx::TensorArg>()
                            : memory_.upload(values, {values.size()});
    };
    if (model.row.mixture)
      mixtures_.emplace(model, plans, memory_, options.prompt, options.batch);
    for (const Layer &layer : model.layer) {
      fk::GemmProblem gateUp = productProblem(model.inner, model.width, fx::bf16);
      gateUp.activation = model.activation;
      gateUp.gated = true;
      layers_.push_back(
          {.kind = &kinds_[layer.window],
           .attentionNorm = *vector(layer.attentionNorm),
           .mlpNorm = *vector(layer.mlpNorm),
           .afterAttention = vector(layer.afterAttention),
           .afterMlp = vector(layer.afterMlp),
           .qNorm = vector(layer.qNorm),
           .kNorm = vector(layer.kNorm),
           .sinks = vector(layer.sinks),
           .qkv = product(plans, productProblem(model.qkvWidth(), model.width),
                          {layer.q, layer.k, layer.v}, layer.qkvBias),
           .output = product(plans, productProblem(model.width, model.heads * model.head),
                             {layer.output}, layer.outputBias),
           .mlp = layer.experts ? std::nullopt
                                : std::optional(GatedMlp{
                                      product(plans, gateUp, {layer.gate, layer.up}),
                                      product(plans, productProblem(model.width, model.inner),
                                              {layer.down})}),
           .mixture = layer.experts
                          ? std::optional(RoutedMixture{
                                product(plans, productProblem(model.experts.count, model.width),
                                        {layer.experts->router}, layer.experts->routerBias),
                                mixtures_->upload(*layer.experts, memory_),
                                Numbers({rows_, model.experts.count})})
                          : std::nullopt,
           .k = memory_.zeros(fx::bf16, cache),
           .v = memory_.zeros(fx::bf16, cache)});
    }
    workspace_ = memory_.room(fx::u8, {workspaceBytes_});
    flagged_ = memory_.zeros(fx::u8, {flaggedBytes_});
    logits_.fill(0); // the soft cap reads those of sequences that have not begun, too
    // region: graph
    // Warm-up: each kernel is loaded by rows without a place in the cache, and a step is captured.
    prepare(0);
    std::fill_n(starts_.host + 1, options.batch, std::int32_t(rows_));
    inputs_.send();
    forward(rows_, false);
    stream_.synchronize();
    prepare(1);
    inputs_.send();
    forward(options.batch, true);
    stream_.synchronize();
    step_.emplace(
        fx::Graph::capture(stream_, [&](const fx::Stream &) { forward(options.batch, true); }));
    // endregion
  }

  /// Goes on with sequences: tokens[i] follow those that sequence i has; a sequence that has none
  /// begins. One without tokens here waits. Throws std::runtime_error if there is no room.
  void run(std::span<const std::span<const int>> tokens) {
    std::vector<std::span<const int>> left(tokens.begin(), tokens.end());
    left.resize(std::size_t(options_.batch));
    std::size_t longest = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      longest = std::max(longest, left[i].size());
      if (std::size_t(sequences_.length(int(i))) + left[i].size() > std::size_t(options_.context))
        throw std::runtime_error("no room for " + std::to_string(left[i].size()) +
                                 " tokens more of sequence " + std::to_string(i) + ", which has " +
                                 std::to_string(sequences_.length(int(i))) + " of " +
                                 std::to_string(options_.context));
      for (int token : left[i])
        if (token < 0 || token >= model_.vocabulary)
          throw std::runtime_error("there is no token " + std::to_string(token) +
                                   "; the model has 0 to " + std::to_string(model_.vocabulary - 1));
    }
    if (longest == 1)
      return step(left);
    while (std::ranges::any_of(left, [](const auto &of) { return !of.empty(); })) {
      // As many tokens as there are rows, sequence after sequence.
      prepare(0);
      longest_ = 0;
      std::int64_t row = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        const auto count = std::min(left[i].size(), std::size_t(rows_ - row));
        for (int token : left[i].first(count))
          put(row++, int(i), token);
        left[i] = left[i].subspan(count);
        starts_.host[i + 1] = std::int32_t(row);
        longest_ = std::max(longest_, std::int64_t(count));
      }
      inputs_.send();
      forward(row, false);
      stream_.synchronize();
    }
    chosen_ = choice_.tokens();
  }
  /// Ends a sequence: its number and its pages are free.
  void end(int number) {
    sequences_.end(number);
    lengths_.host[number] = 0;
  }

  /// The token that was chosen after a sequence's last one.
  int token(int sequence) const { return chosen_[std::size_t(sequence)]; }
  /// What the model gave for it.
  Floats logits(int sequence) const {
    const Floats all = logits_.to_host();
    const auto first = all.begin() + sequence * model_.vocabulary;
    return Floats(first, first + model_.vocabulary);
  }
  /// A row of a call of prompts: a token of a sequence.
  struct Row {
    int sequence, position;
  };
  /// Called in calls of prompts with what enters each layer, and with what leaves the norm after
  /// the last one, a row of `width` numbers for each token; for --check.
  std::function<void(std::int64_t layer, std::span<const Row> rows, const Floats &values)> watch;

  /// What the router of a layer gave in the last call, a row of `experts.count` numbers for each
  /// of the call's rows; empty if the layer has no router.
  Floats scores(std::int64_t layer) const {
    const auto &mixture = layers_[std::size_t(layer)].mixture;
    return mixture ? mixture->scores.to_host() : Floats();
  }

  std::size_t memory() const {
    return memory_.bytes() + inputs_.bytes() + x_.bytes() + delta_.bytes() + y_.bytes() +
           logits_.bytes() + choice_.bytes();
  }
  std::size_t kernels() const { return step_->size(); } ///< of a step

private:
  using Numbers = fx::DeviceArray<float>;

  /// A product with weights that are on the device, and with a bias, if there is one.
  struct Product {
    fk::GemmPlan plan[2]; ///< for prompts, and for steps
    fk::PreparedWeight b;
    std::optional<fx::TensorArg> bias;
  };
  /// What layers with a window, and those without, have in common.
  struct LayerKind {
    fx::TensorArg cos, sin;
    fk::AttentionPlan attention;
    std::optional<fk::DecodePlan> decode; ///< none: attention takes single tokens, too
    std::int32_t before;                  ///< tokens that a query sees before its own; -1: all
  };
  struct GatedMlp {
    Product gateUp, down;
  };
  struct RoutedMixture {
    Product router;
    DeviceExperts experts;
    fx::DeviceArray<float> scores; ///< that the router gave in the last call
  };
  struct DeviceLayer {
    const LayerKind *kind;
    fx::TensorArg attentionNorm, mlpNorm;
    std::optional<fx::TensorArg> afterAttention, afterMlp, qNorm, kNorm, sinks;
    Product qkv, output;
    std::optional<GatedMlp> mlp; ///< one of the two
    std::optional<RoutedMixture> mixture;
    fx::TensorArg k, v; ///< the cache
  };

  //===-- Memory and plans ----------------------------------------------------===//

  fx::TensorArg raw(const Matrix &matrix) {
    const fx::TensorArg made = memory_.upload(
        std::vector<std::uint8_t>(matrix.bytes.begin(), matrix.bytes.end()), {matrix.bytes.size()});
    return {made.data(), fx::bf16, fx::Extents{matrix.rows, matrix.columns}};
  }
  // region: product
  /// The rows of several matrices lie one after another.
  Product product(samples::Plans &plans, fk::GemmProblem problem, std::vector<Matrix> matrices,
                  const Floats &bias = {}) {
    problem.bias = !bias.empty();
    std::vector<std::uint8_t> rows;
    for (const Matrix &matrix : matrices)
      rows.insert(rows.end(), matrix.bytes.begin(), matrix.bytes.end());
    std::vector<fx::bfloat16_t> prepared(std::size_t(fk::prepared_size(problem.weight())));
    fk::prepare_weight(problem.weight(), rows.data(), prepared.data());
    Product made{
        .plan = {plans(problem, options_.prompt), plans(problem, options_.batch)},
        .b = {.matrix = problem.weight(), .memory = memory_.upload(prepared, {prepared.size()})},
        .bias = bias.empty() ? std::nullopt : std::optional(memory_.upload(bias, {bias.size()}))};
    for (const fk::GemmPlan &plan : made.plan)
      require(plan, hasFlags(plan));
    return made;
  }
  // endregion
  LayerKind layerKind(samples::Plans &plans, bool window, const Rope &rope) {
    const auto table = [&](double (*function)(double)) {
      std::vector<float> values;
      for (int position = 0; position < options_.context; ++position)
        for (double frequency : rope.frequencies)
          values.push_back(float(function(position * frequency) * rope.factor));
      return memory_.upload(values, {options_.context, rope.frequencies.size()});
    };
    LayerKind made{.cos = table(std::cos),
                   .sin = table(std::sin),
                   .attention = plans(attentionProblem(model_, window), rows_),
                   .decode = {},
                   .before = window ? std::int32_t(model_.window - 1) : -1};
    require(made.attention, false);
    if (model_.scoreCap == 0 && !model_.row.sinks) { // decoding has neither
      made.decode = plans(decodeProblem(model_, window, options_.context), options_.batch);
      require(*made.decode, false);
    }
    return made;
  }
  /// One workspace serves all plans, because kernels of a stream take turns; one that is zero
  /// between calls serves those that count their blocks in it.
  template <class P> void require(const fk::Plan<P> &plan, bool flags) {
    std::size_t &bytes = flags ? flaggedBytes_ : workspaceBytes_;
    bytes = std::max(bytes, fk::workspace_bytes(plan.problem(), plan.config(), rows_));
  }
  static bool hasFlags(const fk::GemmPlan &plan) {
    return plan.config().split_k > 1 && plan.config().parts_sum == fk::PartsSum::last_block;
  }

  //===-- Sequences -----------------------------------------------------------===//

  /// No row is a sequence's yet; each sequence has `each` rows.
  void prepare(std::int32_t each) {
    calledRows_.clear();
    std::fill_n(slots_.host, rows_, -1);
    std::fill_n(positions_.host, rows_, 0);
    std::fill_n(tokens_.host, rows_, 0);
    for (int i = 0; i <= options_.batch; ++i)
      starts_.host[i] = i * each;
  }
  /// Makes a token the next one of a sequence, in a row of the next call.
  void put(std::int64_t row, int number, int token) {
    const samples::Sequences::Place place = sequences_.append(number);
    tokens_.host[row] = token;
    positions_.host[row] = place.position;
    slots_.host[row] = place.slot;
    tables_.host[number * sequences_.pagesOfEach() + place.pageOfSequence] = place.page;
    lengths_.host[number] = place.position + 1;
    calledRows_.push_back({number, place.position});
  }
  /// A token more for each sequence that has one.
  void step(std::span<const std::span<const int>> tokens) {
    // A row without a token writes nothing to the cache, and what it gives is not read.
    prepare(1);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (!tokens[i].empty())
        put(std::int64_t(i), int(i), tokens[i][0]);
    inputs_.send();
    step_->launch(stream_);
    stream_.synchronize();
    chosen_ = choice_.tokens();
  }

  //===-- The model -----------------------------------------------------------===//

  /// Puts the model's kernels into the stream: for a row of each sequence, or for m rows of
  /// prompts.
  void forward(std::int64_t m, bool step) {
    const auto rows = [&](const fx::TensorArg &of) { return part(of, 0, 0, m); };
    const auto multiply = [&](const Product &product, const fx::TensorArg &a,
                              const fx::TensorArg &c) {
      const fk::GemmPlan &plan = product.plan[step];
      plan({.a = a,
            .b = product.b,
            .c = c,
            .bias = product.bias,
            .workspace = hasFlags(plan) ? flagged_ : workspace_},
           stream_);
    };
    // What was made last, delta, is added to x where the sum is normalised next.
    const auto addAndNormalise = [&](const fx::TensorArg &weight) {
      addAndNorm_({.x = rows(delta_),
                   .weight = weight,
                   .residual = rows(x_),
                   .y = rows(y_),
                   .residual_out = rows(x_)},
                  stream_);
    };
    const auto normaliseDelta = [&](const std::optional<fx::TensorArg> &weight) {
      if (weight)
        postNorm_({.x = rows(delta_), .weight = *weight, .y = rows(delta_)}, stream_);
    };
    embed(m);
    norm_({.x = rows(x_), .weight = layers_[0].attentionNorm, .y = rows(y_)}, stream_);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      // region: layer
      const DeviceLayer &layer = layers_[i];
      if (i > 0)
        addAndNormalise(layer.attentionNorm);
      show(std::int64_t(i), x_, step);
      multiply(layer.qkv, rows(y_), rows(qkv_));
      rotate(layer, m);
      attend(layer, m, step);
      multiply(layer.output,
               fx::tensor(attended_.data(), fx::bf16, {m, model_.heads * model_.head}),
               rows(delta_));
      normaliseDelta(layer.afterAttention);
      addAndNormalise(layer.mlpNorm);
      if (layer.mlp) {
        multiply(layer.mlp->gateUp, rows(y_), rows(inner_));
        multiply(layer.mlp->down, rows(inner_), rows(delta_));
      } else {
        const RoutedMixture &mixture = *layer.mixture;
        multiply(mixture.router, rows(y_), rows(mixture.scores));
        (*mixtures_)(mixture.experts, rows(mixture.scores), rows(y_), rows(delta_), step, stream_);
      }
      normaliseDelta(layer.afterMlp);
      // endregion
    }
    addAndNormalise(finalNorm_);
    show(model_.layers, y_, step);
    // Of a step each row gives logits, of prompts the last row of each sequence.
    if (step)
      multiply(output_, rows(y_), logits_);
    else
      for (int i = 0; i < options_.batch; ++i)
        if (starts_.host[i + 1] > starts_.host[i])
          multiply(output_, part(y_, 0, starts_.host[i + 1] - 1, 1), part(logits_, 0, i, 1));
    if (model_.logitCap != 0)
      capKernel(logits_, float(model_.logitCap))
          .launch({.grid = options_.batch, .block = kThreads, .stream = stream_});
    // All rows choose; of those whose logits this call has not changed, the last choice counts.
    choice_(logits_, 0, stream_);
  }
  void embed(std::int64_t m) {
    const auto counted = [m](const fx::TensorArg &of) {
      return part(of, 0, 0, m).mark_shape_dynamic(0);
    };
    embedKernel(counted(tokens_.device), embedding_, float(model_.embeddingScale), counted(x_))
        .launch({.grid = m, .block = kThreads, .stream = stream_});
  }
  void rotate(const DeviceLayer &layer, std::int64_t m) {
    const auto headsOf = [&](std::int64_t first, std::int64_t count) {
      return fx::tensor(static_cast<float *>(qkv_.data()) + first * model_.head,
                        {m, count, model_.head}, {model_.qkvWidth(), model_.head, 1});
    };
    rope_({.q = headsOf(0, model_.heads),
           .k = headsOf(model_.heads, model_.kvHeads),
           .v = headsOf(model_.heads + model_.kvHeads, model_.kvHeads),
           .positions = part(positions_.device, 0, 0, m),
           .cos = layer.kind->cos,
           .sin = layer.kind->sin,
           .slots = part(slots_.device, 0, 0, m),
           .q_out = part(q_, 0, 0, m),
           .k_cache = layer.k,
           .v_cache = layer.v,
           .q_weight = layer.qNorm,
           .k_weight = layer.kNorm},
          stream_);
  }
  void attend(const DeviceLayer &layer, std::int64_t m, bool step) {
    // region: attend
    const LayerKind &kind = *layer.kind;
    const fx::TensorArg q = part(q_, 0, 0, m), y = part(attended_, 0, 0, m);
    if (step && kind.decode)
      (*kind.decode)({.q = q,
                      .k_cache = layer.k,
                      .v_cache = layer.v,
                      .tables = tables_.device,
                      .contexts = lengths_.device,
                      .before = kind.before,
                      .workspace = workspace_,
                      .y = y},
                     stream_);
    else
      kind.attention({.q = q,
                      .k = layer.k,
                      .v = layer.v,
                      .o = y,
                      .cu_seqlens_q = starts_.device,
                      .max_seqlen_q = step ? 1 : longest_,
                      .seqlens_kv = lengths_.device,
                      .block_table = tables_.device,
                      .window_left = kind.before,
                      .sink = layer.sinks,
                      .workspace = workspace_},
                     stream_);
    // endregion
  }
  template <class T> void show(std::int64_t layer, const fx::DeviceArray<T> &values, bool step) {
    if (step || !watch)
      return;
    stream_.synchronize();
    const std::vector<T> host = values.to_host();
    watch(layer, calledRows_, Floats(host.begin(), host.end()));
  }

  const Model &model_;
  const EngineOptions options_;
  const std::int64_t rows_; ///< of a call, at most
  fx::Stream stream_;
  samples::DeviceRoom memory_;
  samples::Sequences sequences_;

  samples::StepInputs inputs_;
  using Input = samples::StepInputs::Input;
  Input tokens_, positions_, slots_;  ///< of rows
  Input starts_, lengths_, tables_;   ///< of sequences: first rows, tokens, and pages
  std::int64_t longest_ = 0;          ///< rows of a sequence in a call of prompts, at most
  std::vector<Row> calledRows_;       ///< of a call of prompts
  Numbers x_, delta_, logits_;        ///< x + delta is the stream between the layers
  fx::DeviceArray<fx::bfloat16_t> y_; ///< what was normalised
  fx::TensorArg qkv_, q_, attended_, inner_, embedding_, finalNorm_;
  std::size_t workspaceBytes_ = 1, flaggedBytes_ = 1;
  fk::NormPlan norm_, addAndNorm_, postNorm_;
  fk::RopePlan rope_;
  LayerKind kinds_[2]; ///< without and with a window
  std::optional<MixturePlans> mixtures_;
  Product output_; ///< gives logits
  samples::TokenChoice choice_;
  fx::TensorArg workspace_ = {nullptr, fx::u8, fx::Extents{0}},
                flagged_ = {nullptr, fx::u8, fx::Extents{0}};
  std::vector<DeviceLayer> layers_;

  std::vector<int> chosen_; ///< of each sequence
  std::optional<fx::Graph> step_;
};

} // namespace decoder
