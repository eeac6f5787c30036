// The kernel of logits of many query heads and one key head. A wave has its keys in registers and
// goes over the block's tokens. For each it multiplies 16 heads by 16 keys at a time, so that the
// heads of a key are in the values of a lane and in every 16th lane, where they are
// added up.
#include "blocks/products/wave_product.h"
#include "frame/compile.h"
#include "mqa_logits/mqa_logits_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The operands of a call.
struct LogitsOperands {
  Tensor q, k;                  // (m, heads, head), (n, head)
  Tensor weights;               // (m, heads)
  Tensor logits;                // (m, n)
  Tensor first, last;           // (m)
  std::optional<Tensor> kScale; // (n)

  static LogitsOperands of(const MqaLogitsProblem &problem, const MqaLogitsParams<OnDevice> &p) {
    const int heads = problem.heads, head = problem.head;
    return {.q = p.q.view(problem.x, {p.m, heads, head}, kPieceBytes),         // (m, heads, head)
            .k = p.k.view(problem.x, {p.n, head}, kPieceBytes),                // (n, head)
            .weights = p.weights.view(f32, {p.m, heads}),                      // (m, heads)
            .logits = p.logits.view(f32, {p.m, p.n}),                          // (m, n)
            .first = p.first.view(i32, p.m),                                   // (m)
            .last = p.last.view(i32, p.m),                                     // (m)
            .kScale = problem.k_scale ? std::optional(p.kScale.view(f32, p.n)) // (n)
                                      : std::nullopt};
  }
};

class LogitsWave {
public:
  LogitsWave(const MqaLogitsProblem &problem, const MqaLogitsConfig &config, const MatrixForm &form,
             const MqaLogitsParams<OnDevice> &p)
      : problem_(problem), tiles_(tilesOfWave(config, target())),
        lane_(form, form.part() / form.across), product_(form),
        operands_(LogitsOperands::of(problem, p)), n_(p.n),
        firstKey_(block_idx().x * config.keys +
                  gpu::uniform(thread_idx().x / form.lanes).to<Int32>() * (16 * tiles_)) {
    for (int tile = 0; tile < tiles_; ++tile) {
      // Keys past the last one are the last one again, and their logits are not stored.
      const Int32 key = min(firstKey_ + tile * 16 + lane_.row(), n_ - 1);
      keys_.push_back(piecesOf(operands_.k(key, _)));
      if (operands_.kScale)
        scales_.push_back((*operands_.kScale)(key));
    }
  }

  /// The logits of a token.
  void token(const Int32 &i) const {
    const Int32 first(operands_.first(i)), last(operands_.last(i));
    std::vector<Var<Float32>> sums;
    for (int tile = 0; tile < tiles_; ++tile)
      sums.emplace_back(Float32(0.0f));
    // Nothing is computed where the token sees none of the wave's keys.
    if_(Boolean((first < firstKey_ + 16 * tiles_) & (last > firstKey_)),
        [&] { products(i, sums); });
    for (int at = 0; at < tiles_; at += lane_.groups())
      store(i, at, first, last, sums);
  }

private:
  /// The lane's pieces of a row (head).
  std::vector<Vector> piecesOf(const Tensor &row) const {
    const Tensor own = lane_.partition(row); // (piece, pieces)
    std::vector<Vector> pieces;
    for (int i = 0; i < lane_.pieces(problem_.head); ++i)
      pieces.push_back(own(_, i).load());
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
      Heads heads{piecesOf(q(lane_.row() + head, _)), {}};
      for (int v = 0; v < lane_.sums(); ++v)
        heads.factors.push_back(weights(lane_.sumRow(v) + head));
      return heads;
    };
    const bool ahead = loadsAhead(problem_, lane_.form(), tiles_);
    Heads next;
    for (int head = 0; head < problem_.heads; head += 16) {
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

  /// Stores the logits of as many tiles as there are lanes for a key, from tile `at` on.
  void store(const Int32 &i, int at, const Int32 &first, const Int32 &last,
             const std::vector<Var<Float32>> &sums) const {
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
    const Int32 key = firstKey_ + at * 16 + lane_.group() * 16 + lane_.row();
    const Boolean inside(key < n_);
    if_(count < lane_.groups() ? Boolean(inside & (lane_.group() < count)) : inside, [&] {
      operands_.logits(i, key) =
          select(Boolean((key >= first) & (key < last)), own.back(), -kInfinity);
    });
  }

  const MqaLogitsProblem &problem_;
  int tiles_;
  ProductLane lane_;
  WaveProduct product_;
  LogitsOperands operands_;
  Int32 n_, firstKey_;
  std::vector<std::vector<Vector>> keys_; ///< of each tile, the lane's pieces of its key
  std::vector<Numeric> scales_;           ///< of each tile, that of the lane's key
};

const FamilyKernel mqaLogits{
    kMqaLogits,
    [](const MqaLogitsParams<OnDevice> &p, const Constexpr<Spec<MqaLogitsProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const LogitsWave wave(problem, config, *logitsForm(problem, target()), p);
      const Int32 row = block_idx().y * config.rows;
      for (Int32 i : range(row, Int32(min(row + config.rows, p.m))))
        wave.token(i);
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
