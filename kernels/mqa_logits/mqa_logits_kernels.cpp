// The kernel of logits of many query heads and one key head. A wave has its keys in registers and
// goes over the block's tokens. For each it multiplies 16 heads by 16 keys at a time, so that the
// heads of a key are in the values of a lane and in the lanes that are 16 apart, where they are
// added up.
#include "blocks/products/wave_product.h"
#include "frame/compile.h"
#include "mqa_logits/mqa_logits_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class LogitsWave {
public:
  LogitsWave(const MqaLogitsProblem &problem, const MqaLogitsConfig &config, const MatrixForm &form,
             const MqaLogitsParams<OnDevice> &params)
      : problem_(problem), tiles_(tilesOfWave(config, target())),
        lane_(form, form.part() / form.across), product_(form), p_(params),
        firstKey_(block_idx().x * config.keys +
                  gpu::uniform(thread_idx().x / form.lanes).to<Int32>() * (16 * tiles_)) {
    for (int tile = 0; tile < tiles_; ++tile) {
      // Keys past the last one are the last one again, and their logits are not stored.
      const Int32 key = min(firstKey_ + tile * 16 + lane_.row(), p_.n - 1);
      keys_.push_back(rowOf(p_.k.address + key.to(i64) * p_.k.stride[0] * bytes()));
      if (problem.k_scale)
        scales_.push_back(Pointer::from_address(p_.kScale.address + key.to(i64) * 4, f32).load());
    }
  }

  /// The logits of a token.
  void token(const Int32 &i) const {
    const auto bound = [&](const Strided<OnDevice, 0> &vector) {
      return Int32(Pointer::from_address(vector.address + i.to(i64) * 4, i32).load());
    };
    const Int32 first = bound(p_.first), last = bound(p_.last);
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
  int bytes() const { return problem_.x.bytes(); }
  /// The lane's pieces of a row of `head` elements.
  std::vector<Vector> rowOf(const Numeric &start) const {
    std::vector<Vector> row;
    for (int i = 0; i < lane_.pieces(problem_.head); ++i) {
      const Numeric at = start + (lane_.element(i) * bytes()).to(i64);
      row.push_back(Pointer::from_address(at, problem_.x, AddressSpace::global, kPieceBytes)
                        .load(lane_.piece()));
    }
    return row;
  }

  void products(const Int32 &i, const std::vector<Var<Float32>> &sums) const {
    const Numeric token = p_.q.address + i.to(i64) * p_.q.stride[0] * bytes(),
                  weights = p_.weights.address + i.to(i64) * p_.weights.stride[0] * 4;
    for (int head = 0; head < problem_.heads; head += 16) {
      const std::vector<Vector> q =
          rowOf(token + (lane_.row() + head).to(i64) * p_.q.stride[1] * bytes());
      std::vector<Numeric> factors;
      for (int v = 0; v < lane_.sums(); ++v)
        factors.push_back(
            Pointer::from_address(weights + (lane_.sumRow(v) + head).to(i64) * 4, f32).load());
      for (std::size_t tile = 0; tile < keys_.size(); ++tile) {
        const Tensor scores = product_.zeros();
        for (std::size_t piece = 0; piece < q.size(); ++piece)
          product_.add(scores, q[piece], keys_[tile][piece]);
        for (int v = 0; v < lane_.sums(); ++v) {
          const Numeric score = scores(v);
          // A NaN is not below 0 and stays.
          sums[tile] = math::fma(select(score < 0.0f, 0.0f, score), factors[std::size_t(v)],
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
    const Boolean inside(key < p_.n);
    if_(count < lane_.groups() ? Boolean(inside & (lane_.group() < count)) : inside, [&] {
      const Numeric value = select(Boolean((key >= first) & (key < last)), own.back(), -kInfinity);
      const Numeric at = i.to(i64) * p_.logits.stride[0] + key.to(i64);
      Pointer::from_address(p_.logits.address + at * 4, f32).store(value);
    });
  }

  const MqaLogitsProblem &problem_;
  int tiles_;
  ProductLane lane_;
  WaveProduct product_;
  const MqaLogitsParams<OnDevice> &p_;
  Int32 firstKey_;
  std::vector<std::vector<Vector>> keys_; ///< of each tile, the lane's pieces of its key
  std::vector<Numeric> scales_;
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
