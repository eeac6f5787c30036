// The engine: a model on a device, and sequences that are continued token by token.
//
// All plans are made and all memory is allocated when it starts. Sequences share a cache of pages;
// one may begin or end while others go on (continuous batching). A step of all sequences is a graph
// that was captured once: its kernels read what changes, such as tokens and positions, from memory.
#pragma once

#include "common/device_room.h"
#include "common/plans.h"
#include "common/sampling.h"
#include "common/sequences.h"
#include "model.h"

#include <flydsl/host/graph.h>
#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/collective.h>
#include <flydsl/kernels/collective_norm.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/rope.h>

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

namespace llama {

inline constexpr int kPage = 16; // tokens

using samples::part;
using samples::Plans;

// region: problems
inline fk::RopeProblem ropeProblem(const Model &model) {
  return {.x = fx::f32,
          .y = fx::f16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .style = fk::RopeStyle::gptj, // of GGUF files of this architecture
          .k_out = false,
          .cache = fk::KvCache::pages,
          .cached = fx::f16,
          .page = kPage};
}
inline fk::NormProblem normProblem(const Model &model, bool residual) {
  return {.x = fx::f32,
          .weight = fx::f32,
          .y = fx::f32,
          .n = model.width,
          .eps = model.eps,
          .residual = residual};
}
// endregion
inline fk::AttentionProblem attentionProblem(const Model &model) {
  return {.q = fx::f16,
          .kv = fx::f16,
          .y = fx::f16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .causal = true,
          .cache = fk::KvCache::pages,
          .page = kPage};
}
inline fk::DecodeProblem decodeProblem(const Model &model, int context) {
  return {.q = fx::f16,
          .kv = fx::f16,
          .y = fx::f16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .page = kPage,
          .context = context};
}

struct EngineOptions {
  int batch = 1;     ///< sequences at a time
  int context = 256; ///< tokens of a sequence, at most
  int prompt = 64;   ///< tokens of a prompt that are taken together
  samples::Sampling sampling = {};
};

class Engine {
public:
  /// An engine on the current device, with the model or a rank's part of it; the parts' sums are
  /// made by the rank's group. `warmUp` comes before all else.
  Engine(const Model &model, Plans &plans, const EngineOptions &options,
         const std::optional<fx::Group> &group = std::nullopt)
      : model_(model), options_(options), group_(group),
        rows_(std::max(options.prompt, options.batch)),
        sequences_(options.batch, options.context, kPage),
        inputs_(std::size_t(3 * rows_ + options.batch * (1 + sequences_.pagesOfEach()))),
        tokens_(inputs_.add({rows_})), positions_(inputs_.add({rows_})),
        places_(inputs_.add({rows_})), lengths_(inputs_.add({options.batch})),
        tables_(inputs_.add({options.batch, sequences_.pagesOfEach()})), x_({rows_, model.width}),
        delta_({rows_, model.width}), logits_({options.batch, model.vocabulary}),
        y_(memory_.room(fx::f32, {rows_, model.width})),
        qkv_(memory_.room(fx::f32, {rows_, model.qkvWidth()})),
        inner_(memory_.room(fx::f32, {rows_, model.inner})),
        q_(memory_.room(fx::f16, {rows_, model.heads, model.head})),
        attended_(memory_.room(fx::f16, {rows_, model.heads, model.head})),
        cos_(rotation(std::cos)), sin_(rotation(std::sin)),
        finalNorm_(memory_.upload(model.finalNorm, {model.width})),
        output_(product(plans, {&model.logits, 1}, fx::f32)),
        choice_(options.sampling, plans, options.batch, model.vocabulary),
        embed_(plans(fk::GgmlRowsProblem{.format = model.embedding.format,
                                         .layout = fk::GgmlLayout::planes,
                                         .n = model.vocabulary,
                                         .k = model.width},
                     options.batch)),
        embedding_(model.embedding.data == model.logits.data
                       ? output_.b
                       : weights(embed_.problem().weight(), {&model.embedding, 1})),
        norm_(plans(normProblem(model, false), options.batch)),
        addAndNorm_(plans(normProblem(model, true), options.batch)),
        rope_(plans(ropeProblem(model), options.batch)),
        attention_(plans(attentionProblem(model), options.prompt)),
        decode_(plans(decodeProblem(model, options.context), options.batch)),
        attentionSpace_(workspace(attention_, options.prompt)),
        decodeSpace_(workspace(decode_, options.batch)) {
    if (group)
      for (const int rows : {options.batch, options.prompt})
        sums_.push_back(plans(fk::CollectiveProblem{.kind = fk::CollectiveKind::all_reduce,
                                                    .type = fx::f32,
                                                    .ranks = group->size()},
                              rows * model.width));
    if (group)
      sumAndNorm_.emplace(
          plans(fk::CollectiveNormProblem{.norm = normProblem(model, true), .ranks = group->size()},
                options.batch));
    const fx::Extents cache{sequences_.pages(), kPage, model.kvHeads, model.head};
    for (const Layer &layer : model.layer) {
      std::vector<Product> qkv;
      const std::array all{layer.q, layer.k, layer.v};
      for (auto first = all.begin(); first != all.end();) { // neighbours of one format together
        const auto last = std::find_if(
            first, all.end(), [&](const Matrix &other) { return other.format != first->format; });
        qkv.push_back(product(plans, {first, last}, fx::f32));
        first = last;
      }
      layers_.push_back({memory_.upload(layer.attentionNorm, {model.width}),
                         memory_.upload(layer.mlpNorm, {model.width}), std::move(qkv),
                         product(plans, {&layer.output, 1}, fx::f16),
                         product(plans, {&layer.gate, 1}, fx::f32, &layer.up),
                         product(plans, {&layer.down, 1}, fx::f32), memory_.room(fx::f16, cache),
                         memory_.room(fx::f16, cache)});
    }
  }

  /// Loads each kernel by rows of no sequence, and captures a step. All ranks do it at a time, as
  /// they begin sequences and make steps.
  void warmUp() {
    // region: graph
    std::fill_n(places_.host, rows_, -1);
    inputs_.send();
    forward(options_.prompt, 0);
    forward(options_.batch);
    wait();
    step_.emplace(
        fx::Graph::capture(stream_, [&](const fx::Stream &) { forward(options_.batch); }));
    // endregion
  }

  /// Begins a sequence with at least one token, and gives its number: 0 to batch - 1. Throws
  /// std::runtime_error if there is no room.
  int begin(std::span<const int> tokens) {
    const std::optional<int> number = sequences_.unused();
    if (!number || tokens.empty() || int(tokens.size()) > options_.context)
      throw std::runtime_error("no room for a sequence of " + std::to_string(tokens.size()) +
                               " tokens: " + std::to_string(options_.batch) +
                               " sequences of 1 to " + std::to_string(options_.context) +
                               " at a time");
    while (!tokens.empty()) {
      const std::size_t count = std::min(tokens.size(), std::size_t(options_.prompt));
      for (std::size_t i = 0; i < count; ++i)
        put(std::int64_t(i), *number, tokens[i]);
      inputs_.send();
      forward(std::int64_t(count), *number);
      wait();
      tokens = tokens.subspan(count);
    }
    chosen_ = choice_.tokens();
    return *number;
  }

  /// Ends it: its place and its pages are free.
  void end(int number) {
    sequences_.end(number);
    lengths_.host[number] = 0;
  }

  /// One token more for each sequence that goes on: `tokens` has one for each number, and what it
  /// has for others is not used.
  void step(std::span<const int> tokens) {
    // region: step
    // A row without a sequence writes nothing to the cache and sees nothing.
    std::fill_n(places_.host, options_.batch, -1);
    for (int number = 0; number < options_.batch; ++number)
      if (sequences_.length(number))
        put(number, number, tokens[std::size_t(number)]);
    inputs_.send();
    const auto start = std::chrono::steady_clock::now();
    step_->launch(stream_);
    hostSeconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    wait();
    chosen_ = choice_.tokens();
    // endregion
  }

  /// The token that was chosen after a sequence's last one.
  int token(int sequence) const { return chosen_[std::size_t(sequence)]; }
  /// Called after each layer of a prompt with the rows' numbers; for --check.
  std::function<void(std::int64_t layer, std::span<const float> rows)> afterLayer;

  /// Bytes on the device.
  std::size_t memory() const {
    return memory_.bytes() + inputs_.bytes() + x_.bytes() + delta_.bytes() + logits_.bytes() +
           choice_.bytes();
  }

  /// Bytes of the largest sum over the ranks.
  static std::size_t sumBytes(const Model &model, const EngineOptions &options) {
    return std::size_t(std::max(options.prompt, options.batch) * model.width) * sizeof(float);
  }

  std::size_t kernels() const { return step_->size(); } ///< of a step
  double hostSeconds() const { return hostSeconds_; } ///< of the last step, until it was given away

private:
  using Numbers = fx::DeviceArray<float>;

  /// A product with weights that are on the device.
  struct Product {
    fk::GgmlGemmPlan plan[2]; ///< for steps, and for prompts
    fk::GgmlTensor b;
    std::optional<fk::GgmlTensor> up;
  };
  struct DeviceLayer {
    fx::TensorArg attentionNorm, mlpNorm;
    std::vector<Product> qkv; ///< neighbours of the same format are one
    Product output, gateUp, down;
    fx::TensorArg k, v; ///< the cache
  };

  //===-- Memory --------------------------------------------------------------===//

  fx::TensorArg rotation(double (*function)(double)) {
    std::vector<float> table;
    const auto head = double(model_.head);
    for (int position = 0; position < options_.context; ++position)
      for (std::int64_t i = 0; i < model_.head / 2; ++i)
        table.push_back(
            float(function(position * std::pow(model_.ropeBase, -2.0 * double(i) / head))));
    return memory_.upload(table, {options_.context, model_.head / 2});
  }
  template <class P> std::optional<fx::TensorArg> workspace(const fk::Plan<P> &plan, int rows) {
    const std::size_t bytes = plan.workspace_bytes(rows);
    return bytes ? std::optional(memory_.room(fx::u8, {bytes})) : std::nullopt;
  }
  // region: weights
  fk::GgmlTensor weights(const fk::GgmlWeight &weight, std::span<const Matrix> matrices) {
    std::vector<std::uint8_t> raw; // the rows of all matrices, one after the other
    for (const Matrix &matrix : matrices)
      for (std::int64_t i = 0; i < matrix.rows; ++i)
        raw.insert(raw.end(), matrix.row(i), matrix.row(i) + matrix.bytesOf(matrix.columns));
    std::vector<std::uint8_t> prepared(fk::weight_bytes(weight));
    fk::prepare_weight(weight, raw.data(), prepared.data());
    return {weight, memory_.upload(prepared, {prepared.size()})};
  }
  // endregion

  Product product(Plans &plans, std::span<const Matrix> matrices, fx::DType a,
                  const Matrix *up = nullptr) {
    std::int64_t rows = 0;
    for (const Matrix &matrix : matrices)
      rows += matrix.rows;
    // region: product
    const fk::GgmlGemmProblem problem{.format = matrices[0].format,
                                      .layout = fk::GgmlLayout::planes,
                                      .a = a,
                                      .n = rows,
                                      .k = matrices[0].columns,
                                      .activation =
                                          up ? fk::Activation::silu : fk::Activation::none,
                                      .gated = up != nullptr};
    return {{plans(problem, options_.batch), plans(problem, options_.prompt)},
            weights(problem.weight(), matrices),
            up ? std::optional(weights(problem.weight(), {up, 1})) : std::nullopt};
    // endregion
  }

  /// Until the stream's work is done. Throws if another rank did not come.
  void wait() {
    stream_.synchronize();
    if (group_)
      group_->check();
  }

  // region: put
  /// Makes a token the next one of a sequence, in a row of the next call.
  void put(std::int64_t row, int number, int token) {
    const samples::Sequences::Place place = sequences_.append(number);
    tables_.host[number * sequences_.pagesOfEach() + place.pageOfSequence] = place.page;
    tokens_.host[row] = token;
    positions_.host[row] = place.position;
    places_.host[row] = place.slot;
    lengths_.host[number] = place.position + 1;
  }
  // endregion

  /// Puts the model's kernels into the stream: for a row of each sequence, or for m rows of the
  /// prompt of one.
  void forward(std::int64_t m, std::optional<int> promptOf = std::nullopt) {
    const std::int64_t heads = model_.heads, kvHeads = model_.kvHeads, head = model_.head;
    const auto rows = [&](const fx::TensorArg &of) { return part(of, 0, 0, m); };
    const auto headsOf = [&](std::int64_t first, std::int64_t count) {
      return fx::tensor(static_cast<float *>(qkv_.data()) + first * head, {m, count, head},
                        {model_.qkvWidth(), head, 1});
    };
    const auto multiply = [&](const Product &product, const fx::TensorArg &a,
                              const fx::TensorArg &c) {
      const bool prompt = promptOf && a.shape()[0] > options_.batch;
      product.plan[prompt]({.a = a, .b = product.b, .up = product.up, .c = c}, stream_);
    };
    // region: sum
    // What the ranks' parts of a layer add is summed up, with the same bits on each: the rows of a
    // prompt by themselves, the few rows of a step by the launch that normalises them.
    const bool atOnce = group_ && !promptOf;
    const auto addUp = [&] {
      if (!group_ || atOnce)
        return;
      const fx::TensorArg delta = fx::tensor(delta_.data(), {m * model_.width});
      sums_[m > options_.batch]({.x = delta, .y = delta, .group = &*group_}, stream_);
    };
    // endregion
    // The sum of x and delta is made where it is normalised next.
    const auto addAndNormalise = [&](const fx::TensorArg &weight, std::int64_t from) {
      const fx::TensorArg x = part(x_, 0, from, m - from);
      if (atOnce) {
        (*sumAndNorm_)({.x = rows(delta_),
                        .weight = weight,
                        .residual = x,
                        .y = rows(y_),
                        .residual_out = x,
                        .group = &*group_},
                       stream_);
        return;
      }
      addAndNorm_({.x = part(delta_, 0, from, m - from),
                   .weight = weight,
                   .residual = x,
                   .y = part(y_, 0, from, m - from),
                   .residual_out = x},
                  stream_);
    };
    embed_({.ids = rows(tokens_.device), .b = embedding_, .y = rows(x_)}, stream_);
    norm_({.x = rows(x_), .weight = layers_[0].attentionNorm, .y = rows(y_)}, stream_);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      // region: layer
      const DeviceLayer &layer = layers_[i];
      if (i > 0)
        addAndNormalise(layer.attentionNorm, 0);
      for (std::int64_t column = 0; const Product &product : layer.qkv) {
        const std::int64_t columns = product.plan[0].problem().n;
        multiply(product, rows(y_), part(rows(qkv_), 1, column, columns));
        column += columns;
      }
      rope_({.q = headsOf(0, heads),
             .k = headsOf(heads, kvHeads),
             .v = headsOf(heads + kvHeads, kvHeads),
             .positions = rows(positions_.device),
             .cos = cos_,
             .sin = sin_,
             .slots = rows(places_.device),
             .q_out = rows(q_),
             .k_cache = layer.k,
             .v_cache = layer.v},
            stream_);
      // endregion
      // region: attend
      if (promptOf)
        attention_({.q = fx::tensor(q_.data(), fx::f16, {1, m, heads, head}),
                    .k = layer.k,
                    .v = layer.v,
                    .o = fx::tensor(attended_.data(), fx::f16, {1, m, heads, head}),
                    .seq_lens = part(lengths_.device, 0, *promptOf, 1),
                    .block_table = part(tables_.device, 0, *promptOf, 1),
                    .workspace = attentionSpace_},
                   stream_);
      else
        decode_({.q = rows(q_),
                 .k = layer.k,
                 .v = layer.v,
                 .o = rows(attended_),
                 .seq_lens = lengths_.device,
                 .block_table = tables_.device,
                 .workspace = decodeSpace_},
                stream_);
      // endregion
      // region: mlp
      multiply(layer.output, fx::tensor(attended_.data(), fx::f16, {m, heads * head}),
               rows(delta_));
      addUp();
      addAndNormalise(layer.mlpNorm, 0);
      multiply(layer.gateUp, rows(y_), rows(inner_));
      multiply(layer.down, rows(inner_), rows(delta_));
      addUp();
      // endregion
      if (promptOf && afterLayer) {
        stream_.synchronize();
        std::vector<float> x = x_.to_host();
        const std::vector<float> delta = delta_.to_host();
        std::transform(x.begin(), x.end(), delta.begin(), x.begin(), std::plus());
        afterLayer(std::int64_t(i), std::span(x).first(std::size_t(m * model_.width)));
      }
    }
    // Of a prompt the last row gives logits, and of a step each.
    const std::int64_t from = promptOf ? m - 1 : 0;
    addAndNormalise(finalNorm_, from);
    const fx::TensorArg logits = part(logits_, 0, promptOf.value_or(0), m - from);
    multiply(output_, part(y_, 0, from, m - from), logits);
    choice_(logits, promptOf.value_or(0), stream_);
  }

  const Model &model_;
  const EngineOptions options_;
  const std::optional<fx::Group> group_;             ///< none: the model is whole
  std::vector<fk::CollectivePlan> sums_;             ///< of a prompt's rows: few, and many
  std::optional<fk::CollectiveNormPlan> sumAndNorm_; ///< of a step's rows
  const std::int64_t rows_;                          ///< of a call, at most
  double hostSeconds_ = 0;
  fx::Stream stream_;
  samples::DeviceRoom memory_; ///< what TensorArgs point to
  samples::Sequences sequences_;

  samples::StepInputs inputs_;
  using Input = samples::StepInputs::Input;
  Input tokens_, positions_, places_; ///< of rows; a place is a token's in the cache
  Input lengths_, tables_;            ///< of sequences: tokens, and pages
  Numbers x_, delta_, logits_;        ///< x + delta is the stream between the layers
  fx::TensorArg y_, qkv_, inner_, q_, attended_, cos_, sin_, finalNorm_;
  std::vector<DeviceLayer> layers_;
  Product output_; ///< gives logits
  samples::TokenChoice choice_;
  fk::GgmlRowsPlan embed_;
  fk::GgmlTensor embedding_;
  fk::NormPlan norm_, addAndNorm_;
  fk::RopePlan rope_;
  fk::AttentionPlan attention_;
  fk::DecodePlan decode_;
  std::optional<fx::TensorArg> attentionSpace_, decodeSpace_;

  std::vector<int> chosen_; ///< of each sequence
  std::optional<fx::Graph> step_;
};

} // namespace llama
