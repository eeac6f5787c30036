// One layer of a decoder with kernels of the library: norm, QKV product, rotary embedding and
// cache, attention, output product, norm, gated MLP. Two prompts of different lengths are one
// batch, then each sequence gets some tokens more. Keys and values are in a cache of pages, whose
// blocks the sequences own in any order. A reference in double precision checks every token.
//
// New here: plans of flydsl::kernels, made once and called for any number of tokens; nothing is
// allocated or compiled after that. Options: --prompt (19), --steps (2), --hidden (256), --heads
// (4), --kv-heads (2), --mlp (512).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/rope.h>

#include <cmath>
#include <random>
#include <vector>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

using Half = fx::half_t;
using Values = std::vector<Half>;

constexpr int kHead = 64, kPage = 16;

/// The sizes of a layer.
struct Shape {
  std::int64_t hidden, mlp;
  int heads, kv_heads;
  std::int64_t wideQ() const { return heads * kHead; }
  std::int64_t wideK() const { return kv_heads * kHead; }
  std::int64_t wide() const { return wideQ() + 2 * wideK(); } ///< q, k and v of a token
};

/// Numbers of variance `scale`^2.
Values random(std::int64_t count, unsigned seed, double scale) {
  std::mt19937 bits(seed);
  Values values(static_cast<std::size_t>(count));
  for (Half &value : values)
    value = Half(float((double(bits()) * 0x1p-31 - 1) * std::sqrt(3.0) * scale));
  return values;
}

/// The weights of a layer as a model's file has them: rows are output channels.
struct Weights {
  explicit Weights(const Shape &s)
      : norm1(random(s.hidden, 1, 1)), qkv(matrix(s.wide(), s.hidden, 2)),
        out(matrix(s.hidden, s.wideQ(), 3)), norm2(random(s.hidden, 4, 1)),
        gate_up(matrix(2 * s.mlp, s.hidden, 5)), down(matrix(s.hidden, s.mlp, 6)) {}
  Values norm1, qkv, out, norm2, gate_up, down;

private:
  static Values matrix(std::int64_t n, std::int64_t k, unsigned seed) {
    return random(n * k, seed, 1 / std::sqrt(double(k)));
  }
};

// region: batch
/// The tokens of a step: which sequences they belong to, and where their keys and values go.
struct Batch {
  int tokens = 0;                 ///< of all sequences
  int longest = 0;                ///< tokens of a sequence in this step, at most
  fx::DeviceArray<int> positions; ///< (tokens)
  fx::DeviceArray<int> slots;     ///< (tokens): block * kPage + place
  fx::DeviceArray<int> starts;    ///< (sequences + 1): where the tokens of a sequence start
  fx::DeviceArray<int> lengths;   ///< (sequences): keys, with those of this step
  fx::DeviceArray<int> blocks;    ///< (sequences, blocks): which blocks a sequence has
};
// endregion

fx::DeviceArray<int> toDevice(const std::vector<int> &values) {
  return fx::DeviceArray<int>::from_host(values, {std::int64_t(values.size())});
}

// region: product
/// A product with weights of the layer, which are prepared once, when the model is loaded.
class Product {
public:
  Product(const fk::GemmProblem &problem, int most, const Values &weights)
      : plan_(problem, fk::choose(problem, most)), weights_({fk::prepared_size(problem.weight())}),
        workspace_(plan_.workspace_bytes(most)) {
    Values prepared(static_cast<std::size_t>(fk::prepared_size(problem.weight())));
    fk::prepare_weight(problem.weight(), weights.data(), prepared.data());
    weights_.copy_from(prepared);
  }
  std::size_t workspace() const { return workspace_; }
  void operator()(const fx::TensorArg &a, const fx::TensorArg &c, const fx::TensorArg &workspace,
                  fx::StreamRef stream) const {
    const fk::PreparedWeight b{.matrix = plan_.problem().weight(), .memory = weights_};
    fk::GemmArgs args{.a = a, .b = b, .c = c};
    if (workspace_)
      args.workspace = workspace;
    plan_(args, stream);
  }

private:
  fk::GemmPlan plan_;
  fx::DeviceArray<Half> weights_;
  std::size_t workspace_;
};
// endregion

// region: problems
/// What each kernel of the layer computes. Sizes of the model are constants; tokens are not.
fk::NormProblem normOf(const Shape &s) { return {.n = s.hidden, .residual = true}; }
fk::GemmProblem productOf(std::int64_t n, std::int64_t k) { return {.n = n, .k = k}; }
fk::GemmProblem gatedOf(const Shape &s) {
  return {.n = s.mlp, .k = s.hidden, .activation = fk::Activation::silu, .gated = true};
}
fk::RopeProblem ropeOf(const Shape &s) {
  return {.q_heads = s.heads,
          .kv_heads = s.kv_heads,
          .head = kHead,
          .k_out = false, // attention reads k from the cache
          .cache = fk::KvCache::pages,
          .page = kPage};
}
fk::AttentionProblem attentionOf(const Shape &s) {
  return {.q_heads = s.heads,
          .kv_heads = s.kv_heads,
          .head = kHead,
          .causal = true,
          .varlen = true,
          .cache = fk::KvCache::pages,
          .page = kPage};
}
// endregion

class DecoderLayer {
public:
  /// A layer for steps of up to `most` tokens, with a cache of `blocks` blocks.
  DecoderLayer(const Shape &shape, const Weights &weights, int most, int blocks, int positions)
      : shape_(shape), norm_(normOf(shape), fk::choose(normOf(shape), most)),
        rope_(ropeOf(shape), fk::choose(ropeOf(shape), most)),
        attention_(attentionOf(shape), fk::choose(attentionOf(shape), most)),
        qkv_(productOf(shape.wide(), shape.hidden), most, weights.qkv),
        out_(productOf(shape.hidden, shape.wideQ()), most, weights.out),
        gate_up_(gatedOf(shape), most, weights.gate_up),
        down_(productOf(shape.hidden, shape.mlp), most, weights.down),
        norm1_(fx::DeviceArray<Half>::from_host(weights.norm1, {shape.hidden})),
        norm2_(fx::DeviceArray<Half>::from_host(weights.norm2, {shape.hidden})),
        keys_({blocks, kPage, shape.kv_heads, kHead}),
        values_({blocks, kPage, shape.kv_heads, kHead}), cos_({positions, kHead / 2}),
        sin_({positions, kHead / 2}), heads_({most, shape.wide()}),
        attended_({most, shape.wideQ()}), mlp_({most, shape.mlp}),
        attentionBytes_(attention_.workspace_bytes(most)),
        workspace_(
            {std::int64_t(std::max({std::size_t(1), attentionBytes_, qkv_.workspace(),
                                    out_.workspace(), gate_up_.workspace(), down_.workspace()}))}) {
    std::vector<float> cos, sin;
    for (int position = 0; position < positions; ++position)
      for (int i = 0; i < kHead / 2; ++i) {
        const double angle = position * std::pow(10000.0, -2.0 * i / kHead);
        cos.push_back(float(std::cos(angle)));
        sin.push_back(float(std::sin(angle)));
      }
    cos_.copy_from(cos);
    sin_.copy_from(sin);
    keys_.poison();
    values_.poison();
  }

  // region: layer
  /// x (tokens, hidden) is what the layer before added to the residual stream, and becomes what
  /// this one adds; `residual` gets the former x added.
  void operator()(const Batch &batch, Half *x, Half *residual, fx::StreamRef stream) const {
    const std::int64_t m = batch.tokens, wide = shape_.wide();
    const fx::TensorArg hidden = fx::tensor(x, {m, shape_.hidden}),
                        stays = fx::tensor(residual, {m, shape_.hidden}),
                        all = fx::tensor(heads_.data(), {m, wide}),
                        attended = fx::tensor(attended_.data(), {m, shape_.wideQ()}),
                        mlp = fx::tensor(mlp_.data(), {m, shape_.mlp});
    // q, k and v of a token lie side by side; q is rotated in place, k and v go into the cache.
    Half *q = heads_.data(), *k = q + shape_.wideQ(), *v = k + shape_.wideK();
    const auto headsOf = [&](Half *first, int count) {
      return fx::tensor(first, {m, count, kHead}, {wide, kHead, 1});
    };
    const fx::TensorArg queries = headsOf(q, shape_.heads);

    norm_({.x = hidden, .weight = norm1_, .residual = stays, .y = hidden, .residual_out = stays},
          stream);
    qkv_(hidden, all, workspace_, stream);
    rope_({.q = queries,
           .k = headsOf(k, shape_.kv_heads),
           .v = headsOf(v, shape_.kv_heads),
           .positions = batch.positions,
           .cos = cos_,
           .sin = sin_,
           .slots = batch.slots,
           .q_out = queries,
           .k_cache = keys_,
           .v_cache = values_},
          stream);
    fk::AttentionArgs attention{.q = queries,
                                .k = keys_,
                                .v = values_,
                                .o = fx::tensor(attended_.data(), {m, shape_.heads, kHead}),
                                .cu_seqlens_q = batch.starts,
                                .max_seqlen_q = batch.longest,
                                .seq_lens = batch.lengths,
                                .block_table = batch.blocks};
    if (attentionBytes_)
      attention.workspace = workspace_;
    attention_(attention, stream);
    out_(attended, hidden, workspace_, stream);
    norm_({.x = hidden, .weight = norm2_, .residual = stays, .y = hidden, .residual_out = stays},
          stream);
    gate_up_(hidden, mlp, workspace_, stream);
    down_(mlp, hidden, workspace_, stream);
  }
  // endregion

private:
  Shape shape_;
  fk::NormPlan norm_; // both norms are one problem
  fk::RopePlan rope_;
  fk::AttentionPlan attention_;
  Product qkv_, out_, gate_up_, down_;
  fx::DeviceArray<Half> norm1_, norm2_, keys_, values_;
  fx::DeviceArray<float> cos_, sin_;
  fx::DeviceArray<Half> heads_, attended_, mlp_;
  std::size_t attentionBytes_;
  fx::DeviceArray<std::uint8_t> workspace_; // one for all, because kernels of a stream take turns
};

/// The layer by its definition, in double precision, for one sequence.
class Reference {
public:
  Reference(const Shape &shape, const Weights &weights) : s_(shape), w_(weights) {}

  /// What the residual stream holds after the layer, for the sequence's next token.
  std::vector<double> next(const std::vector<double> &x, const std::vector<double> &residual) {
    std::vector<double> stream = residual;
    add(stream, x);
    std::vector<double> heads = product(w_.qkv, norm(stream, w_.norm1), s_.wide());
    const int position = int(keys_.size());
    for (int h = 0; h < s_.heads + s_.kv_heads; ++h)
      for (int i = 0; i < kHead / 2; ++i) {
        const double angle = position * std::pow(10000.0, -2.0 * i / kHead), c = std::cos(angle),
                     sn = std::sin(angle);
        double &a = heads[std::size_t(h * kHead + i)],
               &b = heads[std::size_t(h * kHead + i + kHead / 2)];
        const double first = a * c - b * sn;
        b = b * c + a * sn;
        a = first;
      }
    const auto k = heads.begin() + s_.wideQ(), v = k + s_.wideK();
    keys_.emplace_back(k, v);
    values_.emplace_back(v, heads.end());
    add(stream, product(w_.out, attention(heads), s_.hidden));
    std::vector<double> both = product(w_.gate_up, norm(stream, w_.norm2), 2 * s_.mlp), mlp;
    for (std::size_t i = 0; i < std::size_t(s_.mlp); ++i)
      mlp.push_back(both[i] / (1 + std::exp(-both[i])) * both[i + std::size_t(s_.mlp)]);
    add(stream, product(w_.down, mlp, s_.hidden));
    return stream;
  }

private:
  static void add(std::vector<double> &to, const std::vector<double> &values) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] += values[i];
  }
  static std::vector<double> norm(const std::vector<double> &x, const Values &weight) {
    double squares = 0;
    for (double value : x)
      squares += value * value;
    std::vector<double> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(x[i] / std::sqrt(squares / double(x.size()) + fk::NormProblem{}.eps) *
                  double(weight[i]));
    return y;
  }
  static std::vector<double> product(const Values &weight, const std::vector<double> &x,
                                     std::int64_t n) {
    std::vector<double> y(static_cast<std::size_t>(n));
    for (std::size_t j = 0; j < y.size(); ++j)
      for (std::size_t i = 0; i < x.size(); ++i)
        y[j] += double(weight[j * x.size() + i]) * x[i];
    return y;
  }
  std::vector<double> attention(const std::vector<double> &heads) const {
    std::vector<double> o(static_cast<std::size_t>(s_.wideQ()));
    for (int h = 0; h < s_.heads; ++h) {
      const std::size_t q = std::size_t(h * kHead),
                        kv = std::size_t(h / (s_.heads / s_.kv_heads) * kHead);
      double sum = 0;
      for (std::size_t j = 0; j < keys_.size(); ++j) {
        double score = 0;
        for (std::size_t d = 0; d < kHead; ++d)
          score += heads[q + d] * keys_[j][kv + d];
        const double weight = std::exp(score / std::sqrt(double(kHead)));
        sum += weight;
        for (std::size_t d = 0; d < kHead; ++d)
          o[q + d] += weight * values_[j][kv + d];
      }
      for (std::size_t d = 0; d < kHead; ++d)
        o[q + d] /= sum;
    }
    return o;
  }

  const Shape &s_;
  const Weights &w_;
  std::vector<std::vector<double>> keys_, values_; // of each token so far
};

// region: steps
/// The batch of a step in which sequence i goes from `before[i]` tokens to `after[i]`.
Batch batchOf(const std::vector<int> &before, const std::vector<int> &after, int blocksOfEach) {
  const int sequences = int(before.size());
  std::vector<int> positions, slots, starts{0}, blocks;
  int longest = 0;
  for (int i = 0; i < sequences; ++i) {
    // The sequences' blocks take turns in the cache.
    const auto blockOf = [&](int number) { return number * sequences + i; };
    for (int number = 0; number < blocksOfEach; ++number)
      blocks.push_back(blockOf(number));
    for (int position = before[std::size_t(i)]; position < after[std::size_t(i)]; ++position) {
      positions.push_back(position);
      slots.push_back(blockOf(position / kPage) * kPage + position % kPage);
    }
    starts.push_back(int(positions.size()));
    longest = std::max(longest, after[std::size_t(i)] - before[std::size_t(i)]);
  }
  return {int(positions.size()),
          longest,
          toDevice(positions),
          toDevice(slots),
          toDevice(starts),
          toDevice(after),
          fx::DeviceArray<int>::from_host(blocks, {sequences, blocksOfEach})};
}
// endregion

int run(const samples::Options &options) {
  const Shape shape{.hidden = options.get("hidden", 256),
                    .mlp = options.get("mlp", 512),
                    .heads = int(options.get("heads", 4)),
                    .kv_heads = int(options.get("kv-heads", 2))};
  const int prompt = int(options.get("prompt", 19)), steps = int(options.get("steps", 2));
  samples::reportDevice();

  const Weights weights(shape);
  const std::vector<int> prompts{prompt, (prompt + 1) / 2}; // two sequences
  const int most = prompts[0] + prompts[1], longest = prompt + steps,
            blocksOfEach = (longest + kPage - 1) / kPage;
  const DecoderLayer layer(shape, weights, most, 2 * blocksOfEach, longest);
  const fx::Stream stream;

  std::vector<Reference> references(2, Reference(shape, weights));
  std::vector<int> before{0, 0}, after = prompts;
  samples::Worst worst;
  for (int step = 0; step <= steps; ++step) {
    const Batch batch = batchOf(before, after, blocksOfEach);
    const std::int64_t size = batch.tokens * shape.hidden;
    const Values x = random(size, 100 + unsigned(step), 1), residual = random(size, 200, 1);
    auto hidden = fx::DeviceArray<Half>::from_host(x, {size}),
         stays = fx::DeviceArray<Half>::from_host(residual, {size});
    layer(batch, hidden.data(), stays.data(), stream);
    stream.synchronize();

    const Values added = hidden.to_host(), kept = stays.to_host();
    double errors = 0, squares = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < 2; ++i)
      for (int token = before[i]; token < after[i]; ++token) {
        const auto row = [&](const Values &all) {
          return std::vector<double>(all.begin() + std::ptrdiff_t(at),
                                     all.begin() + std::ptrdiff_t(at) + shape.hidden);
        };
        for (double expected : references[i].next(row(x), row(residual))) {
          const double error = double(added[at]) + double(kept[at]) - expected;
          errors += error * error;
          squares += expected * expected;
          ++at;
        }
      }
    std::printf("step %d: %d tokens, error %.2g of the magnitude\n", step, batch.tokens,
                std::sqrt(errors / squares));
    worst.add(std::sqrt(errors / squares));
    before = after;
    for (int &length : after)
      ++length;
  }
  // Eleven results are rounded to f16 on the way of a token: the sums of the residual stream,
  // norms, products, heads, weights of attention. Each errs by up to 2^-11 of its magnitude, which
  // products with random weights of this size keep.
  return samples::verdict("largest error", samples::dims(most, shape.hidden), worst, 11 * 0x1p-11);
}

} // namespace

int main(int argc, char **argv) {
  return samples::main(argc, argv, {"prompt", "steps", "hidden", "heads", "kv-heads", "mlp"}, run);
}
