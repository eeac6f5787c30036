// The kernel of rotary position embedding. The threads of a block are groups of lanes. A group has a
// token and one or more of its heads, which are numbered through: those of q, then of k, then of v. It
// loads its heads, a row (head) each, and the token's cosines and sines (rotary / 2); norms and rotates
// the heads in registers; and writes them to the outputs, to their token's place in the cache, or to
// both. All loads are issued first.
#include "blocks/quant/quant.h"
#include "frame/compile.h"
#include "rope/rope_operands.h"
#include "rope/rotation.h"

#include <flydsl/kernel/select.h>

#include <functional>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The heads of q, k or v, and the lane's numbers that all of them share.
struct HeadKind {
  Heads heads;
  HeadValues weight = {};                 ///< HeadNorm::weighted
  std::optional<Numeric> fixedScale = {}; ///< if it is given
  std::optional<Numeric> cacheScale = {}; ///< KvScales::tensor
};

/// Heads of a token, one for each group of lanes.
struct Round {
  Int32 head;                          ///< its number among all heads of the token
  std::optional<Boolean> inside;       ///< whether there is such a head; none: always
  std::vector<const HeadKind *> kinds; ///< that these heads may be of
  HeadValues raw;                      ///< as they are in memory
  /// KvScales::head: what a cache's numbers of each kind are multiplied by.
  std::vector<std::optional<Numeric>> cacheScales = {};
};

class RopeThread {
public:
  RopeThread(const RopeProblem &problem, const RopeConfig &config, const HeadShape &shape,
             const RopeOperands &operands)
      : problem_(problem), groups_(groupsOf(problem, config)), operands_(operands),
        lane_(shape, thread_idx().x % config.lanes), group_(groupOf(config)),
        token_((group_ / UInt32(groups_)).to(i32)), first_((group_ % UInt32(groups_)).to(i32)) {
    for (const Heads &heads : operands.heads())
      kinds_.push_back({.heads = heads});
  }

  /// Groups of lanes after the last token do nothing. They stay, because a group's lanes reduce.
  void run(const Int32 &tokens, const Int64 &rows, const Int32 &places) {
    if_(token_ < tokens, [&] { token(rows, places); });
  }

private:
  void token(const Int64 &rows, const Int32 &places) {
    const bool rotates = rotaryOf(problem_) > 0, cached = problem_.cache != KvCache::none;
    const Numeric position = rotates ? Numeric(operands_.positions()(token_)) : Int32(0),
                  slot = cached ? Numeric(operands_.slots()(token_)) : Int32(0);
    std::vector<Round> rounds;
    for (int i = 0; i * groups_ < headsOf(problem_); ++i)
      rounds.push_back(load(i));
    for (HeadKind &kind : kinds_)
      loadShared(kind);
    for (Round &round : rounds)
      loadScales(round);
    // Weights, which only the lanes of their heads take, come before what waits for the position:
    // after it, those lanes' stores would be waited for with them.
    if (std::any_of(kinds_.begin(), kinds_.end(),
                    [](const HeadKind &kind) { return !kind.weight.empty(); }))
      gpu::schedule_fence();
    std::optional<Rotation> rotation;
    if (rotates) {
      const Boolean known((position >= 0) & (position < rows));
      const Numeric row = select(known, position, 0);
      const Tensor cos = operands_.cos()(row, _), sin = operands_.sin()(row, _); // (rotary / 2)
      rotation.emplace(lane_, cos, sin, known);
    }
    // All loads are issued before anything waits for the first.
    gpu::schedule_fence();
    const Boolean kept((slot >= 0) & (slot < places));
    const Numeric place = select(kept, slot, 0);
    for (const Round &round : rounds)
      for (std::size_t kind = 0; kind < round.kinds.size(); ++kind)
        where(ofKind(round, *round.kinds[kind]), [&] { head(round, kind, rotation, kept, place); });
  }

  static Numeric groupOf(const RopeConfig &config) {
    const int perBlock = config.block / config.lanes;
    return (block_idx().x * perBlock + thread_idx().x / config.lanes).to(u32);
  }
  /// Whether a head of a round is of a kind; none: all are.
  std::optional<Boolean> ofKind(const Round &round, const HeadKind &kind) const {
    std::optional<Boolean> low, high;
    if (&kind != round.kinds.front())
      low.emplace(round.head >= kind.heads.begin);
    if (&kind != round.kinds.back())
      high.emplace(round.head < kind.heads.end);
    return both(both(low, high), round.inside);
  }

  Round load(int i) const {
    const int lowest = i * groups_, all = headsOf(problem_),
              highest = std::min(lowest + groups_, all);
    Round round{.head = first_ + lowest, .inside = {}, .kinds = {}, .raw = {}};
    if (lowest + groups_ > all)
      round.inside.emplace(round.head < all);
    for (const HeadKind &kind : kinds_)
      if (kind.heads.begin < highest && kind.heads.end > lowest)
        round.kinds.push_back(&kind);
    const Tensor row = given(round, 0); // (head)
    for (const HeadSlot &slot : lane_.shape().slots)
      round.raw.push_back(
          loadWhere(both(lane_.inside(slot), round.inside), lane_.access(row, slot)));
    return round;
  }
  /// A round's head, which is of the kind `at` of the round or of one after it.
  Tensor given(const Round &round, std::size_t at) const {
    const Heads &heads = round.kinds[at]->heads;
    const Tensor own = heads.x(token_, round.head - heads.begin, _); // (head)
    if (at + 1 == round.kinds.size())
      return own;
    return select(round.head < heads.end, own, given(round, at + 1)); // (head)
  }

  /// What is done with a head of a kind. `place`: of its token in the cache.
  void head(const Round &round, std::size_t number, const std::optional<Rotation> &rotation,
            const Boolean &kept, const Numeric &place) const {
    const HeadKind &kind = *round.kinds[number];
    const Int32 head = round.head - kind.heads.begin;
    const auto store = [&](const HeadValues &values) {
      if (!kind.heads.cache)
        return;
      if_(kept, [&] {
        const Tensor row = (*kind.heads.cache)(place, head, _); // (head)
        if (quantisesCache(problem_) && problem_.cache_scales == KvScales::token)
          cacheWithScale(row, inF32(values), (*kind.heads.cacheScale)(place, _), head); // (heads)
        else
          cache(row, values, kind.cacheScale ? kind.cacheScale : round.cacheScales[number]);
      });
    };
    if (kind.heads.of == HeadOf::v)
      return store(round.raw);
    const HeadValues input = inF32(round.raw);
    const HeadValues normed =
        kind.heads.norm == HeadNorm::none ? input : normalised(kind.weight, input);
    const HeadValues values = rotation ? (*rotation)(normed) : normed;
    if (kind.heads.y)
      output(kind, head, values);
    store(values);
  }

  /// Loads what the heads of a kind share.
  void loadShared(HeadKind &kind) const {
    const Heads &heads = kind.heads;
    if (heads.weight)
      for (const HeadSlot &slot : lane_.shape().slots)
        kind.weight.push_back(
            normedLanes(slot)
                ? loadWhere(lane_.lanes(0, normedLanes(slot)), lane_.access(*heads.weight, slot))
                : Vector::splat(0, lane_.shape().vector, heads.weight->dtype()));
    if (heads.fixedScale)
      kind.fixedScale.emplace((*heads.fixedScale)(0));
    if (heads.cacheScale && problem_.cache_scales == KvScales::tensor)
      kind.cacheScale.emplace((*heads.cacheScale)(0));
  }
  /// Loads what a cache's numbers of a round's heads are multiplied by. A head that is of another kind
  /// loads that of the kind's nearest head.
  void loadScales(Round &round) const {
    for (const HeadKind *kind : round.kinds) {
      const Heads &heads = kind->heads;
      round.cacheScales.emplace_back();
      if (heads.cacheScale && problem_.cache_scales == KvScales::head)
        round.cacheScales.back().emplace((*heads.cacheScale)(
            min(max(round.head - heads.begin, 0), heads.end - heads.begin - 1)));
    }
  }
  static HeadValues inF32(const HeadValues &raw) {
    HeadValues values;
    for (const Vector &v : raw)
      values.push_back(v.to(f32));
    return values;
  }
  /// The lanes of a slot, from the first on, whose elements are normed.
  int normedLanes(const HeadSlot &slot) const {
    return std::clamp((normedOf(problem_) - slot.first) / lane_.shape().vector, 0, slot.accesses);
  }
  /// `normed` where a slot's elements are, and elsewhere `other`.
  Vector whereNormed(std::size_t i, const Vector &normed, const Vector &other) const {
    const HeadSlot &slot = lane_.shape().slots[i];
    const int lanes = normedLanes(slot);
    if (lanes == slot.accesses)
      return normed;
    return lanes
               ? select(Vector::splat(Boolean(lane_.number() < lanes), other.size()), normed, other)
               : other;
  }
  /// x / sqrt(mean(x^2) + eps), times the weight if there is one, of what is normed. Where a lane has
  /// no access, x is 0.
  HeadValues normalised(const HeadValues &weight, const HeadValues &x) const {
    HeadValues squares;
    for (std::size_t i = 0; i < x.size(); ++i)
      squares.push_back(whereNormed(i, x[i] * x[i], Vector::splat(0.0f, x[i].size(), f32)));
    const Numeric sum =
        gpu::warp_reduce(combine(squares, Reduction::add), Reduction::add, lane_.shape().lanes);
    const Numeric rstd = math::rsqrt(sum * (1.0f / static_cast<float>(normedOf(problem_))) +
                                     static_cast<float>(problem_.eps));
    HeadValues results;
    for (std::size_t i = 0; i < x.size(); ++i)
      results.push_back(
          whereNormed(i, weight.empty() ? x[i] * rstd : x[i] * rstd * weight[i].to(f32), x[i]));
    return results;
  }

  /// Writes a head of q or k to its output.
  void output(const HeadKind &kind, const Int32 &head, const HeadValues &values) const {
    const DType dtype = problem_.y;
    const Tensor row = (*kind.heads.y)(token_, head, _); // (head)
    switch (problem_.quantise) {
    case Quantisation::none:
      return each([&](const HeadSlot &slot, std::size_t i) {
        lane_.access(row, slot).store(values[i].to(dtype));
      });
    case Quantisation::fixed: {
      const Numeric inverse = 1.0f / *kind.fixedScale;
      return each([&](const HeadSlot &slot, std::size_t i) {
        lane_.access(row, slot).store(quantised(values[i], inverse, dtype, true));
      });
    }
    case Quantisation::row: {
      const Tensor scales = (*kind.heads.groupScales)(token_, head, _); // (groups)
      const std::vector<Numeric> inverses = scaled(values, scales);
      return each([&](const HeadSlot &slot, std::size_t i) {
        lane_.access(row, slot).store(quantised(values[i], inverses[i], dtype, false));
      });
    }
    }
  }
  /// The scales of a head's groups, which are written to `scales` (groups); for each slot 1 / scale.
  std::vector<Numeric> scaled(const HeadValues &values, const Tensor &scales) const {
    const HeadShape &shape = lane_.shape();
    const std::vector<SlotGroups> groups = *slotGroups(shape, groupSize(problem_));
    std::vector<Numeric> inverses;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int lanes = groups[i].lanes ? groups[i].lanes : shape.lanes;
      // Slots of one group follow one another.
      if (i && !groups[i].lanes && groups[i].first == groups[i - 1].first) {
        inverses.push_back(inverses.back());
        continue;
      }
      HeadValues largest;
      for (std::size_t k = i; k < values.size(); ++k)
        if (k == i || (!groups[i].lanes && groups[k].first == groups[i].first))
          largest.push_back(magnitudes(values[k]));
      const Numeric bits =
          gpu::warp_reduce(combine(largest, Reduction::max), Reduction::max, lanes);
      const auto [stored, inverse] = scaleAndInverse(bits);
      inverses.push_back(inverse);
      const Boolean first(lane_.number() % lanes == 0);
      const std::optional<Boolean> inside = lane_.inside(shape.slots[i]);
      if_(inside ? Boolean(first & *inside) : first,
          [&, stored = stored] { scales(lane_.number() / lanes + groups[i].first) = stored; });
    }
    return inverses;
  }
  std::pair<Numeric, Numeric> scaleAndInverse(const Numeric &bits) const {
    if (problem_.scale == f8E8M0FNU) {
      const BlockExponent exponent = blockExponent(bits, problem_.y, BlockScale::ceil);
      return {exponent.byte, exponent.inverse};
    }
    const Numeric scale = scaleOf(bits, problem_.y);
    return {scale, 1.0f / scale};
  }

  /// Calls `body` with the slots in which the lane has an access.
  void each(const std::function<void(const HeadSlot &, std::size_t)> &body) const {
    const std::vector<HeadSlot> &slots = lane_.shape().slots;
    for (std::size_t i = 0; i < slots.size(); ++i)
      where(lane_.inside(slots[i]), [&] { body(slots[i], i); });
  }

  /// Writes a head to its row of a cache (head).
  void cache(const Tensor &row, const HeadValues &values,
             const std::optional<Numeric> &scale) const {
    const DType dtype = problem_.cached;
    const std::optional<Numeric> inverse = scale ? std::optional(1.0f / *scale) : std::nullopt;
    each([&](const HeadSlot &slot, std::size_t i) {
      const Vector &v = values[i];
      lane_.access(row, slot).store(inverse ? quantised(v.to(f32), *inverse, dtype, true)
                                            : v.to(dtype));
    });
  }

  /// The same with a scale of its own, which is written to that of the head among `scales` (heads).
  void cacheWithScale(const Tensor &row, const HeadValues &values, const Tensor &scales,
                      const Int32 &head) const {
    HeadValues largest;
    for (const Vector &v : values)
      largest.push_back(magnitudes(v));
    const Numeric scale = scaleOf(
        gpu::warp_reduce(combine(largest, Reduction::max), Reduction::max, lane_.shape().lanes),
        problem_.cached);
    if_(lane_.number() == 0, [&] { scales(head) = scale; });
    const Numeric inverse = 1.0f / scale;
    each([&](const HeadSlot &slot, std::size_t i) {
      lane_.access(row, slot).store(quantised(values[i], inverse, problem_.cached, false));
    });
  }

  const RopeProblem &problem_;
  int groups_; ///< of lanes that share the heads of a token
  const RopeOperands &operands_;
  HeadLane lane_;
  Numeric group_;
  Int32 token_, first_;
  std::vector<HeadKind> kinds_;
};

const FamilyKernel rope{
    kRope, [](const RopeParams<OnDevice> &p, const Constexpr<Spec<RopeProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const HeadShape shape(problem, config.lanes);
      const RopeOperands operands(problem, p);
      RopeThread(problem, config, shape, operands).run(p.tokens, p.rows, p.places.to<Int32>());
    }};

} // namespace

void Family<RopeProblem>::compile(const Compiler<RopeProblem> &compiler) {
  compiler(rope, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(RopeProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
