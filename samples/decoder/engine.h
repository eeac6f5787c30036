// The engine: a model on a device, and sequences that go on token by token.
//
// All plans are made and all memory is allocated when it starts. Sequences share a cache of pages. Where
// a sequence begins, or gets several tokens, the tokens of all sequences are the rows of calls, one
// sequence after another, so that a call has sequences of any lengths, and a long prompt goes on in the
// next call. A step, in which each sequence gets one token at most, is a graph that was captured once: its
// kernels read what changes, such as tokens and positions, from memory.
#pragma once

#include "common/sampling.h"
#include "delta.h"
#include "experts.h"
#include "latent.h"

#include <flydsl/host/graph.h>
#include <flydsl/kernels/norm.h>

namespace decoder {

inline fk::NormProblem normProblem(const Model &model, fx::DType y, bool residual) {
  return {.x = fx::f32,
          .weight = fx::f32,
          .y = y,
          .n = model.width,
          .eps = model.eps,
          .residual = residual};
}

struct EngineOptions {
  int batch = 1;     ///< sequences at a time
  int context = 256; ///< tokens of a sequence, at most
  int prompt = 64;   ///< tokens of prompts that are taken together
  /// Tokens of a prompt from which on latent attention makes keys and values of heads; 0: from where it
  /// is less work.
  int expandFrom = 0;
  samples::Sampling sampling = {};
};

class Engine {
public:
  Engine(const Model &model, samples::Plans &plans, const EngineOptions &options)
      : model_(model), options_(options), maker_{model,
                                                 plans,
                                                 memory_,
                                                 workspaces_,
                                                 {options.prompt, options.batch}},
        rows_(maker_.rows.most()),
        batch_(maker_.rows, options.context, model.row.latent ? model.heads : 0),
        x_({rows_, model.width}), delta_({rows_, model.width}),
        logits_({options.batch, model.vocabulary}), y_({rows_, model.width}),
        inner_(memory_.room(fx::bf16, {rows_, std::max(model.inner, model.experts.apart)})),
        latentRows_{memory_.room(fx::bf16, {rows_, model.experts.latent}),
                    memory_.room(fx::bf16, {rows_, model.experts.latent})},
        apart_(memory_.room(fx::f32, {rows_, model.experts.apart ? model.width : 0})),
        embedding_(raw(model.embedding)),
        finalNorm_(memory_.upload(model.finalNorm, {model.width})),
        sharedGate_(memory_.room(fx::f32, {rows_, 1})), embed_(embedPlan(model)),
        norm_(plans(normProblem(model, fx::bf16, false), rows_)),
        addAndNorm_(plans(normProblem(model, fx::bf16, true), rows_)),
        postNorm_(plans(normProblem(model, fx::f32, false), rows_)),
        output_(maker_, productProblem(model.vocabulary, model.width), {model.logits}),
        choice_(options.sampling, plans, options.batch, model.vocabulary) {
    if (model.row.latent)
      latent_.emplace(maker_, batch_, options.expandFrom);
    else if (model.row.attention)
      heads_.emplace(maker_, batch_);
    if (model.row.delta || model.row.stateSpaces)
      linear_.emplace(maker_, batch_);
    if (model.experts.count)
      mixtures_.emplace(maker_);
    if (model.experts.apart)
      add_ = addPlan(model);
    if (model.logitCap != 0)
      softCap_ = capPlan(model);
    for (std::size_t i = 0; i < model.layer.size(); ++i)
      layers_.push_back(layer(model.layer[i], model.mixing[i]));
    workspaces_.allocate(memory_);
    logits_.fill(0); // all sequences choose, those that have not begun too
    // region: graph
    // Warm-up: each kernel is loaded by rows without a place in the cache, and a step is captured.
    batch_.prepare(0);
    std::fill_n(batch_.starts.host + 1, options.batch, std::int32_t(rows_));
    batch_.send(rows_);
    forward({rows_, false, stream_});
    stream_.synchronize();
    batch_.prepare(1);
    batch_.send(options.batch);
    const auto step = [&] { forward({options.batch, true, stream_}); };
    step();
    stream_.synchronize();
    step_.emplace(fx::Graph::capture(stream_, [&](const fx::Stream &) { step(); }));
    // endregion
  }

  /// Goes on with sequences: tokens[i] follow those that sequence i has; a sequence that has none
  /// begins. One without tokens here waits. Throws std::runtime_error if there is no room.
  void run(std::span<const std::span<const int>> tokens) {
    std::vector<std::span<const int>> left(tokens.begin(), tokens.end());
    left.resize(std::size_t(options_.batch));
    std::size_t longest = 0;
    bool begins = false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      longest = std::max(longest, left[i].size());
      const int length = batch_.sequences().length(int(i));
      begins |= length == 0 && !left[i].empty();
      if (std::size_t(length) + left[i].size() > std::size_t(options_.context))
        throw std::runtime_error("no room for " + std::to_string(left[i].size()) +
                                 " tokens more of sequence " + std::to_string(i) + ", which has " +
                                 std::to_string(length) + " of " +
                                 std::to_string(options_.context));
      for (int token : left[i])
        if (token < 0 || token >= model_.vocabulary)
          throw std::runtime_error("there is no token " + std::to_string(token) +
                                   "; the model has 0 to " + std::to_string(model_.vocabulary - 1));
    }
    if (longest == 1 && !begins)
      return step(left);
    while (std::ranges::any_of(left, [](const auto &of) { return !of.empty(); })) {
      const std::int64_t m = batch_.fill(left);
      batch_.send(m);
      forward({m, false, stream_});
      stream_.synchronize();
    }
    chosen_ = choice_.tokens();
  }
  void end(int number) { batch_.end(number); } ///< ends a sequence

  /// The token that was chosen after a sequence's last one.
  int token(int sequence) const { return chosen_[std::size_t(sequence)]; }
  /// What the model gave for it.
  Floats logits(int sequence) const {
    const Floats all = logits_.to_host();
    const auto first = all.begin() + sequence * model_.vocabulary;
    return Floats(first, first + model_.vocabulary);
  }
  using Row = Batch::Row;
  /// Called in calls of prompts with what enters each layer, and with what leaves the norm after
  /// the last one, a row of `width` numbers for each token; for --check.
  std::function<void(std::int64_t layer, std::span<const Row> rows, const Floats &values)> watch;

  /// What the router of a layer gave in the last call, a row of `experts.count` numbers for each
  /// of the call's rows; empty if the layer has no router.
  Floats scores(std::int64_t layer) const {
    const auto &mixture = layers_[std::size_t(layer)].mixture;
    return mixture ? mixture->scores.to_host() : Floats();
  }

  /// What the last call's states of a layer normalised, a row of numbers for each of the call's rows, of
  /// each group 1 / the root mean square; empty if the layer has no states.
  Floats groups(std::int64_t layer) const {
    const auto &delta = layers_[std::size_t(layer)].delta;
    return delta ? delta->groups.to_host() : Floats();
  }

  /// What the indexer of a layer gave in the last call, a row of a number for each token of a sequence,
  /// as many as `context`, for each of the call's rows; empty if the layer has no indexer.
  Floats indexScores(std::int64_t layer) const {
    const auto &latent = layers_[std::size_t(layer)].latent;
    return latent && latent->indexer ? latent->indexer->scores.to_host() : Floats();
  }

  std::int64_t context() const { return options_.context; } ///< tokens of a sequence, at most
  std::size_t memory() const {
    return memory_.bytes() + batch_.bytes() + x_.bytes() + delta_.bytes() + y_.bytes() +
           logits_.bytes() + choice_.bytes();
  }
  std::size_t kernels() const { return step_->size(); } ///< of a step

private:
  using Numbers = fx::DeviceArray<float>;

  struct Mlp {
    std::int64_t inner;
    Product up, down; ///< up: with a gate, if the model has one
  };
  struct RoutedMixture {
    Product router;
    DeviceExperts experts;
    Numbers scores; ///< that the router gave in the last call
    std::optional<Product> sharedGate = {}, toLatent = {}, fromLatent = {};
    std::optional<Mlp> apart = {}; ///< besides the experts
  };
  struct DeviceLayer {
    fx::TensorArg norm; ///< of what enters the layer
    std::optional<fx::TensorArg> mlpNorm, afterAttention, afterMlp;
    std::optional<HeadAttention::Layer> heads; ///< one of the three, or none
    std::optional<LatentAttention::Layer> latent;
    std::optional<DeltaAttention::Layer> delta;
    std::optional<Mlp> mlp; ///< one of the two, or none
    std::optional<RoutedMixture> mixture;
  };

  //===-- Memory and plans ----------------------------------------------------===//

  fx::TensorArg raw(const Matrix &matrix) {
    const fx::TensorArg made = memory_.upload(
        std::vector<std::uint8_t>(matrix.bytes.begin(), matrix.bytes.end()), {matrix.bytes.size()});
    return {made.data(), fx::bf16, fx::Extents{matrix.rows, matrix.columns}};
  }
  DeviceLayer layer(const Layer &weights, Mixing mixing) {
    DeviceLayer made{.norm = *maker_.vector(weights.norm),
                     .mlpNorm = maker_.vector(weights.mlpNorm),
                     .afterAttention = maker_.vector(weights.afterAttention),
                     .afterMlp = maker_.vector(weights.afterMlp),
                     .heads = {},
                     .latent = {},
                     .delta = {},
                     .mlp = {},
                     .mixture = {}};
    if (weights.heads)
      made.heads.emplace(heads_->layer(maker_, *weights.heads, mixing));
    else if (weights.delta)
      made.delta.emplace(linear_->layer(maker_, *weights.delta));
    else if (weights.latent)
      made.latent.emplace(latent_->layer(maker_, *weights.latent));
    if (weights.experts) {
      const ExpertWeights &experts = *weights.experts;
      made.mixture.emplace(Product(maker_, productProblem(model_.experts.count, model_.width),
                                   {experts.router}, experts.routerBias),
                           mixtures_->upload(experts, maker_),
                           Numbers({rows_, model_.experts.count}));
      if (experts.sharedGate)
        made.mixture->sharedGate.emplace(maker_, productProblem(1, model_.width),
                                         std::vector{*experts.sharedGate});
      if (experts.toLatent) {
        const std::int64_t latent = model_.experts.latent;
        made.mixture->toLatent.emplace(maker_, productProblem(latent, model_.width, fx::bf16),
                                       std::vector{*experts.toLatent});
        made.mixture->fromLatent.emplace(maker_, productProblem(model_.width, latent),
                                         std::vector{*experts.fromLatent});
      }
      if (experts.apart)
        made.mixture->apart = mlp(*experts.apart);
    } else if (weights.mlp) {
      made.mlp = mlp(*weights.mlp);
    }
    return made;
  }
  Mlp mlp(const MlpWeights &weights) const {
    fk::GemmProblem up = productProblem(weights.up.rows, model_.width, fx::bf16);
    up.activation = model_.activation;
    up.gated = weights.gate.has_value();
    return {weights.up.rows,
            Product(maker_, up,
                    weights.gate ? std::vector{*weights.gate, weights.up} : std::vector{weights.up},
                    weights.upBias),
            Product(maker_, productProblem(model_.width, weights.up.rows), {weights.down},
                    weights.downBias)};
  }

  //===-- The model -----------------------------------------------------------===//

  /// A token more for each sequence that has one.
  void step(std::span<const std::span<const int>> tokens) {
    // A row without a token writes nothing to the cache, and what it gives is not read.
    batch_.prepare(1);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (!tokens[i].empty())
        batch_.put(std::int64_t(i), int(i), tokens[i][0]);
    batch_.send(options_.batch);
    step_->launch(stream_);
    stream_.synchronize();
    chosen_ = choice_.tokens();
  }
  /// Puts the model's kernels into the stream.
  void forward(const Call &call) {
    const fx::TensorArg x = call.rows(x_), delta = call.rows(delta_), y = call.rows(y_);
    // What was made last, delta, is added to x where the sum is normalised next.
    const auto addAndNormalise = [&](const fx::TensorArg &weight) {
      addAndNorm_({.x = delta, .weight = weight, .residual = x, .y = y, .residual_out = x},
                  call.stream);
    };
    const auto normaliseDelta = [&](const std::optional<fx::TensorArg> &weight) {
      if (weight)
        postNorm_({.x = delta, .weight = *weight, .y = delta}, call.stream);
    };
    embed_({.x = {embedding_}, .y = {x}, .ids = call.rows(batch_.tokens.device)}, call.stream);
    norm_({.x = x, .weight = layers_[0].norm, .y = y}, call.stream);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      // region: layer
      const DeviceLayer &layer = layers_[i];
      if (i > 0)
        addAndNormalise(layer.norm);
      show(std::int64_t(i), x_, call);
      if (layer.heads)
        (*heads_)(*layer.heads, y, delta, call);
      else if (layer.delta)
        (*linear_)(*layer.delta, y, delta, call);
      else if (layer.latent)
        (*latent_)(*layer.latent, y, delta, call);
      normaliseDelta(layer.afterAttention);
      if (layer.mlpNorm) // else the layer is one thing
        addAndNormalise(*layer.mlpNorm);
      if (layer.mlp)
        runMlp(*layer.mlp, y, delta, call);
      else if (layer.mixture)
        runMixture(*layer.mixture, y, delta, call);
      normaliseDelta(layer.afterMlp);
      // endregion
    }
    addAndNormalise(finalNorm_);
    show(model_.layers, y_, call);
    // Of a step each row gives logits, of prompts the last row of each sequence.
    // The logits of other sequences stay as they are: a second soft cap would change them.
    const auto give = [&](const fx::TensorArg &rows, const fx::TensorArg &logits) {
      output_(rows, logits, call);
      if (softCap_)
        (*softCap_)({.x = {logits}, .y = {logits}}, call.stream);
    };
    const std::int32_t *starts = batch_.starts.host;
    if (call.step)
      give(y, logits_);
    else
      for (int i = 0; i < options_.batch; ++i)
        if (starts[i + 1] > starts[i])
          give(part(y_, 0, starts[i + 1] - 1, 1), part(logits_, 0, i, 1));
    // All rows choose; of those whose logits this call has not changed, the last choice counts.
    choice_(logits_, 0, call.stream);
  }
  void runMlp(const Mlp &mlp, const fx::TensorArg &y, const fx::TensorArg &result,
              const Call &call) const {
    const fx::TensorArg inner = part(call.rows(inner_), 1, 0, mlp.inner);
    mlp.up(y, inner, call);
    mlp.down(inner, result, call);
  }
  void runMixture(const RoutedMixture &mixture, const fx::TensorArg &y, const fx::TensorArg &result,
                  const Call &call) const {
    const fx::TensorArg scores = call.rows(mixture.scores);
    mixture.router(y, scores, call);
    std::optional<fx::TensorArg> sharedGate;
    if (mixture.sharedGate) {
      sharedGate = call.rows(sharedGate_);
      (*mixture.sharedGate)(y, *sharedGate, call);
    }
    if (mixture.toLatent) {
      const fx::TensorArg in = call.rows(latentRows_[0]), out = call.rows(latentRows_[1]);
      (*mixture.toLatent)(y, in, call);
      (*mixtures_)(mixture.experts, scores, sharedGate, in, out, call);
      (*mixture.fromLatent)(out, result, call);
    } else {
      (*mixtures_)(mixture.experts, scores, sharedGate, y, result, call);
    }
    if (mixture.apart) {
      runMlp(*mixture.apart, y, call.rows(apart_), call);
      (*add_)({.x = {result, call.rows(apart_)}, .y = {result}}, call.stream);
    }
  }
  template <class T>
  void show(std::int64_t layer, const fx::DeviceArray<T> &values, const Call &call) {
    if (call.step || !watch)
      return;
    stream_.synchronize();
    const std::vector<T> host = values.to_host();
    watch(layer, batch_.called(), Floats(host.begin(), host.end()));
  }

  const Model &model_;
  const EngineOptions options_;
  fx::Stream stream_;
  samples::DeviceRoom memory_;
  Workspaces workspaces_;
  const Maker maker_;
  const std::int64_t rows_; ///< of a call, at most
  Batch batch_;
  Numbers x_, delta_, logits_;        ///< x + delta is the stream between the layers
  fx::DeviceArray<fx::bfloat16_t> y_; ///< what was normalised
  fx::TensorArg inner_, latentRows_[2], apart_, embedding_, finalNorm_, sharedGate_;
  fk::ElementwisePlan embed_;
  fk::NormPlan norm_, addAndNorm_, postNorm_;
  std::optional<fk::ElementwisePlan> softCap_, add_;
  std::optional<HeadAttention> heads_;
  std::optional<LatentAttention> latent_;
  std::optional<DeltaAttention> linear_;
  std::optional<MixturePlans> mixtures_;
  Product output_; ///< gives logits
  samples::TokenChoice choice_;
  std::vector<DeviceLayer> layers_;

  std::vector<int> chosen_; ///< of each sequence
  std::optional<fx::Graph> step_;
};

} // namespace decoder
