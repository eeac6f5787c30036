#include "engine.h"

#include <chrono>
#include <cmath>
#include <cstring>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace llama {
namespace {

constexpr int kPage = 16; // tokens
enum Section { kTokens, kPositions, kPlaces, kLengths, kTables };

fk::GgmlWeight weightOf(const Matrix &matrix, std::int64_t rows) {
  return {matrix.format, fk::GgmlLayout::planes, rows, matrix.columns};
}
// region: problems
fk::RopeProblem ropeProblem(const Model &model) {
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
fk::NormProblem normProblem(const Model &model, bool residual) {
  return {.x = fx::f32,
          .weight = fx::f32,
          .y = fx::f32,
          .n = model.width,
          .eps = model.eps,
          .residual = residual};
}
// endregion

} // namespace

Engine::Common::Common(const Model &model, const fk::GgmlWeight &embedding, Plans &plans,
                       std::int64_t m)
    : embed(plans.make(fk::GgmlRowsProblem{.format = embedding.format,
                                           .layout = embedding.layout,
                                           .n = embedding.n,
                                           .k = embedding.k},
                       m)),
      norm(plans.make(normProblem(model, false), m)), add(plans.make(normProblem(model, true), m)),
      rope(plans.make(ropeProblem(model), m)) {}

template <class T> fx::DeviceArray<T> Engine::room(const fx::Extents &shape) {
  fx::DeviceArray<T> array(shape);
  memory_ += array.bytes();
  return array;
}
template <class T> fx::DeviceArray<T> Engine::upload(std::span<const T> values) {
  fx::DeviceArray<T> array = room<T>({values.size()});
  array.copy_from(values);
  return array;
}

Engine::Product Engine::product(Plans &plans, std::span<const Matrix *const> matrices,
                                const Matrix *up, fx::DType a, std::int64_t column) {
  std::int64_t rows = 0;
  std::vector<std::uint8_t> raw, prepared;
  for (const Matrix *matrix : matrices) { // rows of several matrices lie one behind another
    rows += matrix->rows;
    raw.insert(raw.end(), matrix->data, matrix->data + matrix->bytes);
  }
  // region: weights
  const fk::GgmlWeight weight = weightOf(*matrices[0], rows);
  const auto prepare = [&](const std::uint8_t *bytes) {
    prepared.resize(fk::weight_bytes(weight));
    fk::prepare_weight(weight, bytes, prepared.data());
    return upload<std::uint8_t>(prepared);
  };
  // endregion
  // region: product
  const fk::GgmlGemmProblem problem{.format = weight.format,
                                    .layout = weight.layout,
                                    .a = a,
                                    .n = rows,
                                    .k = weight.k,
                                    .activation = up ? fk::Activation::silu : fk::Activation::none,
                                    .gated = up != nullptr};
  return {weight,
          prepare(raw.data()),
          up ? std::optional(prepare(up->data)) : std::nullopt,
          plans.make(problem, options_.prompt),
          plans.make(problem, options_.batch),
          column};
  // endregion
}

Engine::Engine(const Model &model, Plans &plans, const EngineOptions &options)
    : model_(model), options_(options), pagesOfSequence_((options.context + kPage - 1) / kPage),
      rows_(std::max(options.prompt, options.batch)),
      sequences_(static_cast<std::size_t>(options.batch)) {
  const std::int64_t batch = options.batch, pages = batch * pagesOfSequence_;
  for (std::int64_t page = pages; page-- > 0;)
    freePages_.push_back(std::int32_t(page));
  for (const Layer &layer : model.layer) {
    std::vector<Product> qkv;
    const Matrix *const all[] = {&layer.q, &layer.k, &layer.v};
    if (layer.q.format == layer.k.format && layer.q.format == layer.v.format)
      qkv.push_back(product(plans, all, nullptr, fx::f32, 0));
    else
      for (std::int64_t column = 0; const Matrix *matrix : all) {
        qkv.push_back(product(plans, {&matrix, 1}, nullptr, fx::f32, column));
        column += matrix->rows;
      }
    const auto one = [&](const Matrix &matrix, const Matrix *up, fx::DType a) {
      const Matrix *const alone = &matrix;
      return product(plans, {&alone, 1}, up, a, 0);
    };
    layers_.push_back({upload<float>(layer.attentionNorm), upload<float>(layer.mlpNorm),
                       std::move(qkv), one(layer.output, nullptr, fx::f16),
                       one(layer.gate, &layer.up, fx::f32), one(layer.down, nullptr, fx::f32),
                       room<fx::half_t>({pages, kPage, model.kvHeads, model.head}),
                       room<fx::half_t>({pages, kPage, model.kvHeads, model.head})});
  }
  const Matrix *const last = &model.logits;
  logitsOf_.emplace(product(plans, {&last, 1}, nullptr, fx::f32, 0));
  const fk::GgmlWeight embedding = weightOf(model.embedding, model.vocabulary);
  if (model.embedding.data != model.logits.data) {
    std::vector<std::uint8_t> prepared(fk::weight_bytes(embedding));
    fk::prepare_weight(embedding, model.embedding.data, prepared.data());
    embedding_.emplace(upload<std::uint8_t>(prepared));
  }
  ofPrompt_.emplace(model, embedding, plans, options.prompt);
  ofStep_.emplace(model, embedding, plans, batch);
  attention_.emplace(plans.make(fk::AttentionProblem{.q = fx::f16,
                                                     .kv = fx::f16,
                                                     .y = fx::f16,
                                                     .q_heads = int(model.heads),
                                                     .kv_heads = int(model.kvHeads),
                                                     .head = int(model.head),
                                                     .causal = true,
                                                     .cache = fk::KvCache::pages,
                                                     .page = kPage},
                                options.prompt));
  decode_.emplace(plans.make(fk::DecodeProblem{.q = fx::f16,
                                               .kv = fx::f16,
                                               .y = fx::f16,
                                               .q_heads = int(model.heads),
                                               .kv_heads = int(model.kvHeads),
                                               .head = int(model.head),
                                               .page = kPage,
                                               .context = options.context},
                             batch));

  std::vector<float> cos, sin;
  for (int position = 0; position < options.context; ++position)
    for (std::int64_t i = 0; i < model.head / 2; ++i) {
      const double angle =
          position * std::pow(model.ropeBase, -2.0 * double(i) / double(model.head));
      cos.push_back(float(std::cos(angle)));
      sin.push_back(float(std::sin(angle)));
    }
  finalNorm_.emplace(upload<float>(model.finalNorm));
  cos_.emplace(upload<float>(cos));
  sin_.emplace(upload<float>(sin));
  for (auto [array, width] :
       {std::pair(&x_, model.width), std::pair(&y_, model.width), std::pair(&delta_, model.width),
        std::pair(&qkv_, model.qkvWidth()), std::pair(&inner_, model.inner)})
    array->emplace(room<float>({rows_, width}));
  q_.emplace(room<fx::half_t>({rows_, model.heads * model.head}));
  attended_.emplace(room<fx::half_t>({rows_, model.heads * model.head}));
  logits_.emplace(room<float>({batch, model.vocabulary}));
  hostLogits_.resize(logits_->size());
  const std::size_t bytes =
      std::max(fk::workspace_bytes(attention_->problem(), attention_->config(), options.prompt),
               fk::workspace_bytes(decode_->problem(), decode_->config(), batch));
  if (bytes)
    workspace_.emplace(room<std::uint8_t>({bytes}));
  inputs_.resize(std::size_t(3 * rows_ + batch + batch * pagesOfSequence_));
  deviceInputs_.emplace(room<std::int32_t>({inputs_.size()}));

  // region: graph
  // Warm-up: each kernel is loaded by a step of no sequence, and the step is captured.
  std::fill_n(input(kPlaces), rows_, -1);
  deviceInputs_->copy_from(inputs_);
  forward(/*prompt=*/true, 0, options.prompt, options.prompt - 1, 0);
  forward(/*prompt=*/false, 0, batch, 0, 0);
  stream_.synchronize();
  step_.emplace(fx::Graph::capture(
      stream_, [&](const fx::Stream &) { forward(/*prompt=*/false, 0, batch, 0, 0); }));
  // endregion
}

std::int32_t *Engine::input(int section, std::int64_t at) {
  const std::int64_t start = section <= kLengths ? section * rows_ : 3 * rows_ + options_.batch;
  return &inputs_[std::size_t(start + at)];
}
fx::TensorArg Engine::deviceInput(int section, const fx::Extents &shape, std::int64_t at) {
  return fx::tensor(deviceInputs_->data() + (input(section, at) - inputs_.data()), shape);
}

//===-- The model -----------------------------------------------------------===//

void Engine::multiply(const Product &product, bool prompt, const fx::TensorArg &a,
                      const fx::TensorArg &c) {
  fk::GgmlGemmArgs args{.a = a, .b = product.b, .c = c};
  if (product.up)
    args.up = product.up->tensor();
  (prompt ? product.prompt : product.step)(args, stream_);
}

void Engine::attend(const DeviceLayer &layer, bool prompt, int sequence, std::int64_t m) {
  const std::int64_t heads = model_.heads, head = model_.head;
  const auto workspace = workspace_ ? std::optional(workspace_->tensor()) : std::nullopt;
  // region: attend
  if (prompt)
    (*attention_)(
        {.q = fx::tensor(q_->data(), {1, m, heads, head}),
         .k = layer.k,
         .v = layer.v,
         .o = fx::tensor(attended_->data(), {1, m, heads, head}),
         .seqlens_kv = deviceInput(kLengths, {1}, sequence),
         .block_table = deviceInput(kTables, {1, pagesOfSequence_}, sequence * pagesOfSequence_),
         .workspace = attention_->config().splits > 1 ? workspace : std::nullopt},
        stream_);
  else
    (*decode_)({.q = fx::tensor(q_->data(), {m, heads, head}),
                .k_cache = layer.k,
                .v_cache = layer.v,
                .tables = deviceInput(kTables, {m, pagesOfSequence_}),
                .contexts = deviceInput(kLengths, {m}),
                .workspace = decode_->config().splits > 1 ? workspace : std::nullopt,
                .y = fx::tensor(attended_->data(), {m, heads, head})},
               stream_);
  // endregion
}

void Engine::forward(bool prompt, int sequence, std::int64_t m, std::int64_t from,
                     std::int64_t to) {
  const Common &plans = prompt ? *ofPrompt_ : *ofStep_;
  const std::int64_t width = model_.width, heads = model_.heads, kvHeads = model_.kvHeads,
                     head = model_.head, across = model_.qkvWidth();
  const auto rows = [&](auto &array, std::int64_t columns, std::int64_t first = 0) {
    return fx::tensor(array->data() + first * columns, {m - first, columns});
  };
  const auto headsOf = [&](std::int64_t first, std::int64_t count) {
    return fx::tensor(qkv_->data() + first * head, {m, count, head}, {across, head, 1});
  };
  const auto tables = [&](const Numbers &table) {
    return fx::tensor(table.data(), {options_.context, head / 2});
  };
  plans.embed({.ids = deviceInput(kTokens, {m}),
               .b = embedding_ ? embedding_->tensor() : logitsOf_->b.tensor(),
               .y = rows(x_, width)},
              stream_);
  bool first = true;
  // x + delta is the residual stream: the sum is made where it is normalised next.
  const auto normalise = [&](const Numbers &weight, std::int64_t row) {
    const fx::TensorArg x = rows(x_, width, row), y = rows(y_, width, row);
    if (first)
      plans.norm({.x = x, .weight = weight, .y = y}, stream_);
    else
      plans.add({.x = rows(delta_, width, row),
                 .weight = weight,
                 .residual = x,
                 .y = y,
                 .residual_out = x},
                stream_);
    first = false;
  };
  for (std::int64_t i = 0; i < model_.layers; ++i) {
    // region: layer
    const DeviceLayer &layer = layers_[std::size_t(i)];
    normalise(layer.attentionNorm, 0);
    for (const Product &part : layer.qkv)
      multiply(part, prompt, rows(y_, width),
               fx::tensor(qkv_->data() + part.column, {m, part.weight.n}, {across, 1}));
    plans.rope({.q = headsOf(0, heads),
                .k = headsOf(heads, kvHeads),
                .v = headsOf(heads + kvHeads, kvHeads),
                .positions = deviceInput(kPositions, {m}),
                .cos = tables(*cos_),
                .sin = tables(*sin_),
                .slots = deviceInput(kPlaces, {m}),
                .q_out = fx::tensor(q_->data(), {m, heads, head}),
                .k_cache = layer.k,
                .v_cache = layer.v},
               stream_);
    attend(layer, prompt, sequence, m);
    multiply(layer.output, prompt, rows(attended_, heads * head), rows(delta_, width));
    normalise(layer.mlpNorm, 0);
    multiply(layer.gateUp, prompt, rows(y_, width), rows(inner_, model_.inner));
    multiply(layer.down, prompt, rows(inner_, model_.inner), rows(delta_, width));
    // endregion
    if (prompt && afterLayer)
      readLayer(i, m);
  }
  normalise(*finalNorm_, from);
  multiply(*logitsOf_, prompt && m - from > options_.batch, rows(y_, width, from),
           fx::tensor(logits_->data() + to * model_.vocabulary, {m - from, model_.vocabulary}));
}

void Engine::readLayer(std::int64_t layer, std::int64_t m) {
  stream_.synchronize();
  std::vector<float> x = x_->to_host();
  const std::vector<float> delta = delta_->to_host();
  x.resize(std::size_t(m * model_.width));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += delta[i];
  afterLayer(layer, x);
}

//===-- Sequences -----------------------------------------------------------===//

// region: grow
void Engine::grow(Sequence &sequence, int tokens) {
  sequence.length += tokens;
  while (std::int64_t(sequence.pages.size()) * kPage < sequence.length) {
    sequence.pages.push_back(freePages_.back());
    freePages_.pop_back();
  }
}
// endregion

int Engine::begin(std::span<const int> tokens) {
  int number = 0;
  while (number < options_.batch && sequences_[std::size_t(number)].length)
    ++number;
  if (number == options_.batch || tokens.empty() || int(tokens.size()) > options_.context)
    throw std::runtime_error("no room for a sequence of " + std::to_string(tokens.size()) +
                             " tokens: " + std::to_string(options_.batch) + " sequences of 1 to " +
                             std::to_string(options_.context) + " at a time");
  Sequence &sequence = sequences_[std::size_t(number)];
  for (std::size_t done = 0; done < tokens.size();) {
    const std::size_t count = std::min(tokens.size() - done, std::size_t(options_.prompt));
    grow(sequence, int(count));
    for (std::size_t i = 0; i < count; ++i) {
      const int position = int(done + i);
      *input(kTokens, std::int64_t(i)) = tokens[done + i];
      *input(kPositions, std::int64_t(i)) = position;
      *input(kPlaces, std::int64_t(i)) =
          sequence.pages[std::size_t(position / kPage)] * kPage + position % kPage;
    }
    *input(kLengths, number) = sequence.length;
    std::copy(sequence.pages.begin(), sequence.pages.end(),
              input(kTables, number * pagesOfSequence_));
    deviceInputs_->copy_from(inputs_);
    const auto m = std::int64_t(count);
    forward(/*prompt=*/true, number, m, m - 1, number);
    stream_.synchronize();
    done += count;
  }
  const std::vector<float> all = logits_->to_host();
  const std::size_t row = std::size_t(number * model_.vocabulary);
  std::copy_n(all.begin() + std::ptrdiff_t(row), model_.vocabulary,
              hostLogits_.begin() + std::ptrdiff_t(row));
  return number;
}

void Engine::end(int sequence) {
  Sequence &ended = sequences_[std::size_t(sequence)];
  freePages_.insert(freePages_.end(), ended.pages.begin(), ended.pages.end());
  ended = {};
}

void Engine::step(std::span<const int> tokens) {
  for (int i = 0; i < options_.batch; ++i) {
    Sequence &sequence = sequences_[std::size_t(i)];
    const bool goesOn = sequence.length > 0;
    if (goesOn && sequence.length == options_.context)
      throw std::runtime_error("sequence " + std::to_string(i) + " has " +
                               std::to_string(options_.context) + " tokens, the most");
    if (goesOn)
      grow(sequence, 1);
    const int position = goesOn ? sequence.length - 1 : 0;
    *input(kTokens, i) = goesOn ? tokens[std::size_t(i)] : 0;
    *input(kPositions, i) = position;
    // A row without a sequence writes nothing to the cache and sees nothing.
    *input(kPlaces, i) =
        goesOn ? sequence.pages[std::size_t(position / kPage)] * kPage + position % kPage : -1;
    *input(kLengths, i) = sequence.length;
    std::copy(sequence.pages.begin(), sequence.pages.end(), input(kTables, i * pagesOfSequence_));
  }
  // region: step
  deviceInputs_->copy_from(inputs_);
  const auto start = std::chrono::steady_clock::now();
  step_->launch(stream_);
  hostSeconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stream_.synchronize();
  hostLogits_ = logits_->to_host();
  // endregion
}

std::span<const float> Engine::logits(int sequence) const {
  return std::span(hostLogits_)
      .subspan(std::size_t(sequence * model_.vocabulary), std::size_t(model_.vocabulary));
}

} // namespace llama
