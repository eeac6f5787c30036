// The kernel of logits of many query heads and one key head. A wave has its keys in registers and
// goes over the block's tokens. For each it multiplies 16 heads by 16 keys at a time, so that the
// heads of a key are in the values of a lane and in every 16th lane, where they are
// added up.
#include "blocks/attention/kv_source.h"
#include "blocks/common/host_or_traced.h"
#include "blocks/products/wave_product.h"
#include "frame/compile.h"
#include "mqa_logits/mqa_logits_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The operands of a call.
struct LogitsOperands {
  Tensor q;                   // (m, heads, head)
  Tensor weights;             // (m, heads)
  Tensor logits;              // (m, n)
  std::optional<Tensor> bias; // (m, n)

  static LogitsOperands of(const MqaLogitsProblem &problem, const MqaLogitsParams<OnDevice> &p) {
    const int heads = problem.heads, head = problem.head;
    return {.q = p.q.view(problem.x, {p.m, heads, head}, kPieceBytes), // (m, heads, head)
            .weights = p.weights.view(f32, {p.m, heads}),              // (m, heads)
            .logits = p.logits.view(f32, {p.m, p.n}),                  // (m, n)
            .bias = problem.bias
                        ? std::optional(p.bias.view(problem.bias_type, {p.m, p.n})) // (m, n)
                        : std::nullopt};
  }
};

/// The keys of a call one after another, and the window of each token.
class KeyRows {
public:
  KeyRows(const MqaLogitsProblem &problem, const MqaLogitsParams<OnDevice> &p)
      : n_(p.n), keys_(p.k.view(problem.x, {p.n, problem.head}, kPieceBytes)) { // (n, head)
    if (hasWindowArgs(problem)) {
      first_.emplace(p.first.view(i32, p.m)); // (m)
      last_.emplace(p.last.view(i32, p.m));   // (m)
    }
    if (problem.k_scale)
      scales_.emplace(p.kScale.view(f32, p.n)); // (n)
  }
  /// The first key past all.
  Int32 end() const { return n_; }
  Tensor row(const Int32 &key) const { return keys_(key, _); } // (head)
  Numeric scale(const Int32 &key) const { return (*scales_)(key); }
  Int32 first(const Int32 &token) const { return first_ ? Int32((*first_)(token)) : Int32(0); }
  Int32 last(const Int32 &token) const { return last_ ? Int32((*last_)(token)) : n_; }

private:
  Int32 n_;
  std::optional<Tensor> first_, last_; // (m)
  Tensor keys_;                        // (n, head)
  std::optional<Tensor> scales_;
};

/// The keys of a sequence in the pages of a cache, whose last ones are those of the call's tokens.
class PagedKeys {
public:
  PagedKeys(const MqaLogitsProblem &problem, const MqaLogitsParams<OnDevice> &p,
            const Int32 &sequence)
      : page_(problem.page), keys_(p.pages.view(problem.x, {kAnyPages, problem.page, problem.head},
                                                kPieceBytes)), // (pages, page, head)
        table_(p.blockTable.view(i32, {p.sequences, kAnyPages})(sequence, _)),   // (pages)
        context_(gpu::uniform_load(p.seqLens.view(i32, p.sequences), sequence)), // (n)
        begin_(start(p, sequence)), end_(start(p, Int32(sequence + 1))) {
    if (problem.k_scale)
      scales_.emplace(p.scalePages.view(f32, {kAnyPages, problem.page})); // (pages, page)
  }
  Int32 end() const { return context_; }
  Tensor row(const Int32 &key) const { return keys_(block(key), place(key), _); } // (head)
  Numeric scale(const Int32 &key) const { return (*scales_)(block(key), place(key)); }
  Int32 first(const Int32 &) const { return Int32(0); }
  Int32 last(const Int32 &token) const { return context_ - (end_ - token) + 1; }

  /// The rows of the sequence's tokens.
  const Int32 &firstRow() const { return begin_; }
  const Int32 &endRow() const { return end_; }

private:
  static Int32 start(const MqaLogitsParams<OnDevice> &p, const Int32 &sequence) {
    return Int32(
        gpu::uniform_load(p.starts.view(i32, Int32(p.sequences + 1)), sequence)); // (n + 1)
  }
  Int32 block(const Int32 &key) const {
    const Int32 number(table_(Int32((key.to(u32) / UInt32(page_)).to(i32))));
    assume(number >= 0); // as the host has checked, or the caller has promised
    return number;
  }
  Int32 place(const Int32 &key) const { return Int32((key.to(u32) % UInt32(page_)).to(i32)); }

  int page_;
  Tensor keys_;  // (pages, page, head)
  Tensor table_; // (pages)
  Int32 context_, begin_, end_;
  std::optional<Tensor> scales_; // (pages, page)
};

/// The keys of a wave, which are in its registers.
template <class Keys> class LogitsWave {
public:
  LogitsWave(const MqaLogitsProblem &problem, const MqaLogitsConfig &config, const MatrixForm &form,
             const MqaLogitsParams<OnDevice> &p, const Keys &keys)
      : problem_(problem), tiles_(tilesOfWave(config, target())),
        lane_(form, form.part() / form.across), product_(form),
        operands_(LogitsOperands::of(problem, p)), rows_(keys), n_(p.n),
        firstKey_(firstKey(config, form)) {
    for (int tile = 0; tile < tiles_; ++tile) {
      // Keys past the last one are the last one again; their logits are -infinity or not stored.
      const Int32 key = min(firstKey_ + tile * 16 + lane_.row(), keys.end() - 1);
      keys_.push_back(piecesOf(keys.row(key)));
      if (problem.k_scale)
        scales_.push_back(keys.scale(key));
    }
  }
  /// The first key of a wave.
  static Int32 firstKey(const MqaLogitsConfig &config, const MatrixForm &form) {
    return block_idx().x * config.keys + gpu::uniform(thread_idx().x / form.lanes).to<Int32>() *
                                             (16 * tilesOfWave(config, target()));
  }

  /// The logits of a token.
  void token(const Int32 &i) const {
    const Int32 first = rows_.first(i), last = rows_.last(i);
    std::vector<Var<Float32>> sums;
    for (int tile = 0; tile < tiles_; ++tile)
      sums.emplace_back(Float32(0.0f));
    const std::vector<Numeric> biases = biasesOf(i);
    const Boolean inside((first < firstKey_ + 16 * tiles_) & (last > firstKey_));
    // Nothing is computed where the token sees none of the wave's keys.
    if_(biases.empty() ? inside : Boolean(inside & anySeen(biases)), [&] { products(i, sums); });
    for (int at = 0; at < tiles_; at += lane_.groups())
      store(i, at, first, last, sums, biases);
  }

private:
  /// The lane's pieces of a row (head).
  std::vector<Vector> piecesOf(const Tensor &row) const {
    const Tensor own = lane_.partition(row); // (piece, pieces)
    std::vector<Vector> pieces;
    for (int i = 0; i < lane_.pieces(problem_.head); ++i)
      pieces.push_back(own(_, i).load()); // (piece)
    return pieces;
  }

  /// What the lane has of 16 query heads of a token.
  struct Heads {
    std::vector<Vector> pieces;   ///< of its head
    std::vector<Numeric> factors; ///< of the heads of its sums
  };
  void products(const Int32 &i, const std::vector<Var<Float32>> &sums) const {
    const Tensor q = operands_.q(i, _, _),
                 weights = operands_.weights(i, _); // (heads, head), (heads)
    const auto load = [&](int head) {
      Heads heads{piecesOf(q(lane_.row() + head, _)), {}}; // (head)
      for (int v = 0; v < lane_.sums(); ++v)
        heads.factors.push_back(weights(lane_.sumRow(v) + head));
      return heads;
    };
    const bool ahead = loadsAhead(problem_, lane_.form(), tiles_);
    Heads next;
    for (int head = 0; head < problem_.heads; head += 16) {
      if (!ahead)
        gpu::schedule_fence(); // registers have no room for what comes next
      const Heads own = ahead && head ? std::move(next) : load(head);
      if (ahead && head + 16 < problem_.heads) {
        next = load(head + 16);
        gpu::schedule_fence(); // they are on their way while the others are multiplied
      }
      for (std::size_t tile = 0; tile < keys_.size(); ++tile) {
        const Tensor scores = product_.zeros(); // (sums)
        for (std::size_t piece = 0; piece < own.pieces.size(); ++piece)
          product_.add(scores, own.pieces[piece], keys_[tile][piece]);
        for (int v = 0; v < lane_.sums(); ++v) {
          const Numeric score = scores(v);
          // A NaN is not below 0 and stays.
          sums[tile] = math::fma(select(score < 0.0f, 0.0f, score), own.factors[std::size_t(v)],
                                 sums[tile].get());
        }
      }
    }
  }

  /// The key whose logit the lane stores, of as many tiles as there are lanes for a key, from tile `at`
  /// on.
  Int32 storedKey(int at) const { return firstKey_ + at * 16 + lane_.group() * 16 + lane_.row(); }
  /// What is added to each logit that the lane stores (that of the last key where there is no such key);
  /// nothing if the problem has no bias.
  std::vector<Numeric> biasesOf(const Int32 &i) const {
    std::vector<Numeric> biases;
    if (problem_.bias)
      for (int at = 0; at < tiles_; at += lane_.groups())
        biases.push_back((*operands_.bias)(i, Int32(min(storedKey(at), n_ - 1))).to(f32));
    return biases;
  }
  /// Whether a lane has a bias that does not hide its key.
  static Boolean anySeen(const std::vector<Numeric> &biases) {
    std::vector<Boolean> any;
    for (const Numeric &bias : biases) {
      const Boolean seen(bias != -kInfinity); // of a NaN, too
      any.push_back(any.empty() ? seen : Boolean(any.back() | seen));
    }
    return gpu::any_of_wave(any.back());
  }
  static Numeric withBias(const Numeric &logit, const Numeric &bias) {
    return select(bias == -kInfinity, bias, Numeric(logit + bias));
  }
  /// Stores the logits of these tiles.
  void store(const Int32 &i, int at, const Int32 &first, const Int32 &last,
             const std::vector<Var<Float32>> &sums, const std::vector<Numeric> &biases) const {
    const int count = std::min(lane_.groups(), tiles_ - at);
    std::vector<Numeric> own;
    for (int tile = 0; tile < count; ++tile) {
      const Numeric all =
          lane_.overGroups(sums[std::size_t(at + tile)].get(),
                           [](const Numeric &a, const Numeric &b) { return Numeric(a + b); });
      const Numeric scaled =
          problem_.k_scale ? Numeric(all * scales_[std::size_t(at + tile)]) : all;
      own.push_back(tile == 0 ? scaled : select(lane_.group() == tile, scaled, own.back()));
    }
    const Numeric logit = biases.empty()
                              ? own.back()
                              : withBias(own.back(), biases[std::size_t(at / lane_.groups())]);
    const Int32 key = storedKey(at);
    const Boolean inside(key < n_);
    if_(count < lane_.groups() ? Boolean(inside & (lane_.group() < count)) : inside, [&] {
      operands_.logits(i, key) = select(Boolean((key >= first) & (key < last)), logit, -kInfinity);
    });
  }

  const MqaLogitsProblem &problem_;
  int tiles_;
  ProductLane lane_;
  WaveProduct product_;
  LogitsOperands operands_;
  const Keys &rows_;
  Int32 n_, firstKey_;
  std::vector<std::vector<Vector>> keys_; ///< of each tile, the lane's pieces of its key
  std::vector<Numeric> scales_;           ///< of each tile, that of the lane's key
};

/// A wave's part of the logits of a token that sees none of its keys.
void fill(const MqaLogitsConfig &config, const MatrixForm &form, const MqaLogitsParams<OnDevice> &p,
          const Int32 &firstKey, const Int32 &token) {
  const Tensor logits = p.logits.view(f32, {p.m, p.n}); // (m, n)
  const Int32 lane = thread_idx().x % form.lanes;
  const Int32 last = min(firstKey + 16 * tilesOfWave(config, target()), p.n);
  for (Int32 key : range(counted(firstKey + lane), counted(last), form.lanes))
    logits(token, key) = Float32(-kInfinity);
}

const FamilyKernel mqaLogits{
    kMqaLogits,
    [](const MqaLogitsParams<OnDevice> &p, const Constexpr<Spec<MqaLogitsProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const MatrixForm form = *logitsForm(problem, target());
      if (!problem.paged) {
        const KeyRows keys(problem, p);
        const LogitsWave<KeyRows> wave(problem, config, form, p, keys);
        const Int32 row = block_idx().y * config.rows;
        for (Int32 i : range(row, Int32(min(row + config.rows, p.m))))
          wave.token(i);
        return;
      }
      const PagedKeys keys(problem, p, Int32(block_idx().z));
      // A sequence with more tokens than it has pages for comes back to them.
      const Int32 row = keys.firstRow() + block_idx().y * config.rows, end = keys.endRow(),
                  step = p.rowBlocks * config.rows,
                  key = LogitsWave<PagedKeys>::firstKey(config, form);
      exit_if(row >= end);
      const auto each = [&](const auto &token) {
        for (Int32 first : range(counted(row), counted(end), step))
          for (Int32 i : range(first, Int32(min(first + config.rows, end))))
            token(i);
      };
      if_(
          key < keys.end(),
          [&] {
            const LogitsWave<PagedKeys> wave(problem, config, form, p, keys);
            each([&](const Int32 &i) { wave.token(i); });
          },
          [&] { each([&](const Int32 &i) { fill(config, form, p, key, i); }); });
    }};

} // namespace

void Family<MqaLogitsProblem>::compile(const Compiler<MqaLogitsProblem> &compiler) {
  compiler(mqaLogits, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MqaLogitsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
