// The kernel of rotary position embedding. A group of lanes takes one or more heads of a token, one
// after another: heads of q, then of k, then of v. All loads are issued first; the token's cosines
// and sines are loaded once.
#include "blocks/quant/quant.h"
#include "frame/compile.h"
#include "rope/rope_family.h"
#include "rope/rotation.h"

#include <functional>
#include <map>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Params = RopeParams<OnDevice>;
using Vectors = Strided<OnDevice, 0>;

/// Whose head it is.
enum class HeadOf : std::uint8_t { q, k, v };

/// The heads of q, k or v among all heads of a token.
struct HeadKind {
  HeadOf of;
  int begin, end; ///< their numbers
};

/// Heads of a token of which each group of lanes has one.
struct Round {
  Int32 head;
  std::optional<Boolean> inside; ///< whether there is such a head; none: always
  std::vector<HeadKind> kinds;   ///< that these heads may be of
  HeadValues raw;                ///< as they are in memory
};

class RopeThread {
public:
  RopeThread(const RopeProblem &problem, const RopeConfig &config, const HeadShape &shape,
             const Params &params)
      : problem_(problem), groups_(groupsOf(problem, config)), p_(params),
        lane_(shape, thread_idx().x % config.lanes), group_(groupOf(config)),
        token_((group_ / UInt32(groups_)).to(i32)), first_((group_ % UInt32(groups_)).to(i32)) {}

  /// Groups of lanes behind the last token do nothing. They stay, because a group's lanes reduce.
  void run() {
    if_(token_ < p_.tokens.to<Int32>(), [&] { token(); });
  }

private:
  void token() {
    const bool rotates = rotaryOf(problem_), cached = problem_.cache != KvCache::none;
    const Numeric position = rotates ? index(p_.positions) : Numeric(Int64(0)),
                  slot = cached ? index(p_.slots) : Numeric(Int64(0));
    std::vector<Round> rounds;
    for (int i = 0; i * groups_ < headsOf(problem_); ++i)
      rounds.push_back(load(i));
    std::optional<Rotation> rotation;
    if (rotates) {
      const Boolean known((position >= 0) & (position < p_.rows));
      const Numeric row = select(known, position, 0);
      rotation.emplace(lane_, tableRow(p_.cos, row), tableRow(p_.sin, row), known, problem_.table);
    }
    for (const HeadKind &kind : kinds())
      if (normOf(kind) == HeadNorm::weighted)
        weights_[kind.of] = weight(kind.of == HeadOf::q ? p_.qWeight : p_.kWeight);
    loadScales();
    // All loads are issued before anything waits for the first.
    gpu::schedule_fence();
    const Boolean kept((slot >= 0) & (slot < p_.places));
    const Numeric place = select(kept, slot, 0).to(u32);
    for (const Round &round : rounds)
      for (const HeadKind &kind : round.kinds)
        where(ofKind(round, kind), [&] { head(round, kind, rotation, kept, place); });
  }

  static Numeric groupOf(const RopeConfig &config) {
    const int perBlock = config.block / config.lanes;
    return (block_idx().x * perBlock + thread_idx().x / config.lanes).to(u32);
  }
  std::vector<HeadKind> kinds() const {
    const int q = problem_.q_heads, k = q + problem_.kv_heads;
    std::vector<HeadKind> all;
    for (const HeadKind &kind :
         {HeadKind{HeadOf::q, 0, q}, {HeadOf::k, q, k}, {HeadOf::v, k, headsOf(problem_)}})
      if (kind.begin < kind.end)
        all.push_back(kind);
    return all;
  }
  /// An index of the token, in 64 bits.
  Numeric index(const Vectors &of) const {
    const DType type = problem_.index;
    return Pointer::from_address(of.address + token_.to(i64) * type.bytes(), type).load().to(i64);
  }
  Numeric tableRow(const Strided<OnDevice, 1> &table, const Numeric &row) const {
    return table.address + row * table.stride[0] * problem_.table.bytes();
  }
  /// The lane's address in the token's head of a tensor.
  Numeric headStart(const Strided<OnDevice, 2> &tensor, const Numeric &head, DType dtype) const {
    const Numeric elements = token_.to(i64) * tensor.stride[0] + head.to(i64) * tensor.stride[1];
    return lane_.start(tensor.address + elements * dtype.bytes(), dtype);
  }

  const Strided<OnDevice, 2> &tensorOf(const HeadKind &kind) const {
    return kind.of == HeadOf::q ? p_.q : kind.of == HeadOf::k ? p_.k : p_.v;
  }
  /// Whether a head of a round is of a kind; none: all are.
  std::optional<Boolean> ofKind(const Round &round, const HeadKind &kind) const {
    std::optional<Boolean> low, high;
    if (&kind != &round.kinds.front())
      low.emplace(round.head >= kind.begin);
    if (&kind != &round.kinds.back())
      high.emplace(round.head < kind.end);
    return both(both(low, high), round.inside);
  }

  Round load(int i) const {
    const int lowest = i * groups_, all = headsOf(problem_),
              highest = std::min(lowest + groups_, all);
    Round round{.head = first_ + lowest, .inside = {}, .kinds = {}, .raw = {}};
    if (lowest + groups_ > all)
      round.inside.emplace(round.head < all);
    for (const HeadKind &kind : kinds())
      if (kind.begin < highest && kind.end > lowest)
        round.kinds.push_back(kind);
    const Numeric start = startOf(round, 0);
    for (const HeadSlot &slot : lane_.shape().slots)
      round.raw.push_back(HeadLane::load(start, slot.first, lane_.shape().vector, problem_.x,
                                         both(lane_.inside(slot), round.inside), 0));
    return round;
  }
  /// The lane's address in a round's head, which is of the kind `at` or one after it.
  Numeric startOf(const Round &round, std::size_t at) const {
    const HeadKind &kind = round.kinds[at];
    const Numeric start = headStart(tensorOf(kind), round.head - kind.begin, problem_.x);
    if (at + 1 == round.kinds.size())
      return start;
    return select(round.head < kind.end, start, startOf(round, at + 1));
  }

  /// What is done with a head of a kind.
  void head(const Round &round, const HeadKind &kind, const std::optional<Rotation> &rotation,
            const Boolean &kept, const Numeric &place) const {
    const Int32 head = round.head - kind.begin;
    if (kind.of == HeadOf::v) {
      if_(kept, [&] { store(cache(kind, head, place), round.raw, p_.vCacheScale); });
      return;
    }
    const HeadValues input = inF32(round.raw);
    const HeadValues normed = normOf(kind) == HeadNorm::none ? input : normalised(kind, input);
    const HeadValues values = rotation ? (*rotation)(normed) : normed;
    if (kind.of == HeadOf::q || problem_.k_out)
      output(kind, head, values);
    if (kind.of == HeadOf::k && problem_.cache != KvCache::none)
      if_(kept, [&] { store(cache(kind, head, place), values, p_.kCacheScale); });
  }

  /// The scales that are given.
  void loadScales() {
    const bool cache = quantisesCache(problem_), fixed = problem_.quantise == Quantisation::fixed;
    const auto load = [&](bool needed, const Vectors &scale) {
      if (needed)
        scales_.emplace(&scale, Pointer::from_address(scale.address, f32).load());
    };
    load(cache, p_.kCacheScale);
    load(cache && problem_.v_cached, p_.vCacheScale);
    load(fixed && problem_.q_heads > 0, p_.qScale);
    load(fixed && problem_.kv_heads > 0 && problem_.k_out, p_.kScale);
  }
  HeadNorm normOf(const HeadKind &kind) const {
    return kind.of == HeadOf::q   ? problem_.q_norm
           : kind.of == HeadOf::k ? problem_.k_norm
                                  : HeadNorm::none;
  }
  static HeadValues inF32(const HeadValues &raw) {
    HeadValues values;
    for (const Vector &v : raw)
      values.push_back(converted(v, f32));
    return values;
  }
  /// The lane's part of a weight.
  HeadValues weight(const Vectors &of) const {
    HeadValues values;
    const Numeric start = lane_.start(of.address, problem_.weight);
    for (const HeadSlot &slot : lane_.shape().slots)
      values.push_back(HeadLane::load(start, slot.first, lane_.shape().vector, problem_.weight,
                                      lane_.inside(slot), 0));
    return values;
  }
  /// x / sqrt(mean(x^2) + eps), times the weight if there is one. Where a lane has no access, x is
  /// 0.
  HeadValues normalised(const HeadKind &kind, const HeadValues &x) const {
    HeadValues squares;
    for (const Vector &v : x)
      squares.push_back(v * v);
    const Numeric sum =
        gpu::warp_reduce(combine(squares, Reduction::add), Reduction::add, lane_.shape().lanes);
    const Numeric rstd = math::rsqrt(sum * (1.0f / static_cast<float>(problem_.head)) +
                                     static_cast<float>(problem_.eps));
    const HeadValues weight = weights_.count(kind.of) ? weights_.at(kind.of) : HeadValues();
    HeadValues results;
    for (std::size_t i = 0; i < x.size(); ++i)
      results.push_back(weight.empty() ? x[i] * rstd : x[i] * rstd * converted(weight[i], f32));
    return results;
  }

  /// Writes a head of q or k to its output.
  void output(const HeadKind &kind, const Int32 &head, const HeadValues &values) const {
    const bool ofQ = kind.of == HeadOf::q;
    const DType dtype = problem_.y;
    const Numeric start = headStart(ofQ ? p_.qOut : p_.kOut, head, dtype);
    const Vectors &scale = ofQ ? p_.qScale : p_.kScale;
    switch (problem_.quantise) {
    case Quantisation::none:
      return each([&](const HeadSlot &slot, std::size_t i) {
        HeadLane::store(start, slot.first, converted(values[i], dtype));
      });
    case Quantisation::fixed: {
      const Numeric inverse = 1.0f / scales_.at(&scale);
      return each([&](const HeadSlot &slot, std::size_t i) {
        HeadLane::store(start, slot.first, quantised(values[i], inverse, dtype, true));
      });
    }
    case Quantisation::row: {
      const std::int64_t groups = problem_.head / groupSize(problem_);
      const Numeric row = token_.to(i64) * (kind.end - kind.begin) + head.to(i64);
      const std::vector<Numeric> inverses =
          scaled(values, scale.address + row * (groups * problem_.scale.bytes()));
      return each([&](const HeadSlot &slot, std::size_t i) {
        HeadLane::store(start, slot.first, quantised(values[i], inverses[i], dtype, false));
      });
    }
    }
  }
  /// The scales of a head's groups, which are written to `scales`; for each slot 1 / scale.
  std::vector<Numeric> scaled(const HeadValues &values, const Numeric &scales) const {
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
      const Numeric place =
          scales + (lane_.number() / lanes + groups[i].first).to(i64) * problem_.scale.bytes();
      const Boolean first(lane_.number() % lanes == 0);
      const std::optional<Boolean> inside = lane_.inside(shape.slots[i]);
      if_(inside ? Boolean(first & *inside) : first,
          [&, stored = stored] { Pointer::from_address(place, stored.dtype()).store(stored); });
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

  /// A head's place in a cache: its start, and how its elements follow one another.
  struct CacheHead {
    Numeric start;
    /// Runs of `run` elements lie together, `apart` elements after the run before; 0: all lie
    /// together.
    int run = 0;
    std::int64_t apart = 0;
  };
  CacheHead cache(const HeadKind &kind, const Int32 &head, const Numeric &place) const {
    const Strided<OnDevice, 3> &tensor = kind.of == HeadOf::k ? p_.kCache : p_.vCache;
    const DType dtype = problem_.cached;
    const Numeric block = (place / UInt32(problem_.page)).to(u64).to(i64),
                  inside = (place % UInt32(problem_.page)).to(u64).to(i64);
    const Numeric ofHead =
        block * tensor.stride[0] + inside * tensor.stride[1] + head.to(i64) * tensor.stride[2];
    const auto address = [&](const Numeric &elements) {
      return tensor.address + elements * dtype.bytes();
    };
    if (problem_.cache == KvCache::pages)
      return {address(ofHead)};
    if (kind.of == HeadOf::k) {
      const int x = problem_.pack;
      return {address(ofHead + inside * x), x, std::int64_t(problem_.page) * x};
    }
    const std::int64_t y = vPackOf(problem_);
    return {address(ofHead + inside / y * (y * problem_.head) + inside % y), 1, y};
  }
  /// Writes a head into a cache.
  void store(const CacheHead &to, const HeadValues &values, const Vectors &scale) const {
    const DType dtype = problem_.cached;
    const int vector = lane_.shape().vector;
    const bool quantise = quantisesCache(problem_);
    const Numeric inverse = quantise ? 1.0f / scales_.at(&scale) : Numeric(Float32(1.0f));
    const auto rounded = [&](const Vector &v) {
      return quantise ? quantised(converted(v, f32), inverse, dtype, true) : converted(v, dtype);
    };
    const Numeric start = lane_.start(to.start, dtype);
    each([&](const HeadSlot &slot, std::size_t i) {
      const Vector v = rounded(values[i]);
      if (to.run == 0)
        return HeadLane::store(start, slot.first, v);
      const Numeric element = lane_.element(slot);
      if (to.run > 1) {
        const Numeric elements =
            element / UInt32(to.run) * UInt32(to.apart) + element % UInt32(to.run);
        return HeadLane::store(to.start + elements.to(u64).to(i64) * dtype.bytes(), 0, v);
      }
      const Numeric lowest =
          to.start + (element * UInt32(to.apart * dtype.bytes())).to(u64).to(i64);
      for (int k = 0; k < vector; ++k)
        Pointer::from_address(lowest + k * to.apart * dtype.bytes(), dtype).store(v.at(k));
    });
  }

  const RopeProblem &problem_;
  int groups_;
  const Params &p_;
  HeadLane lane_;
  Numeric group_;
  Int32 token_, first_;
  std::map<HeadOf, HeadValues> weights_;
  std::map<const Vectors *, Numeric> scales_; // of the fields of p_
};

const FamilyKernel rope{kRope, [](const Params &params, const Constexpr<Spec<RopeProblem>> &spec) {
                          const auto &[problem, config] = spec.value();
                          const HeadShape shape(problem, config.lanes);
                          RopeThread(problem, config, shape, params).run();
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
