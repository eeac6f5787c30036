// The kernel that draws tokens. A block has a row, and goes over it several times: for its largest
// value; for each cut, by the digits of what is sought; for the sum of what is left; and to find the
// token at the place that is drawn. Nothing is sorted.
//
// Values are compared as integers that have their order (keys). Probabilities are integers, too, so
// that the sums of many threads do not depend on who adds first.
#include "frame/compile.h"
#include "sampling/sampling_row.h"

#include <flydsl/kernel/random.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Numbers = SamplingRow::Numbers;

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;
constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();
/// vLLM's: a row with a lower temperature is greedy.
constexpr float kLeastTemperature = 1e-5f;
/// The largest probability of a row is 2 to this power; half of the bits are made at a time, because
/// a float has 24: a sum with one of these numbers, whose last bit is worth 2^-20 and 2^-40, is rounded
/// to it, and its bits count how often. Conversions would take four times as long.
constexpr int kProbabilityBits = 40, kHalfBits = kProbabilityBits / 2;
constexpr float kRoundsHigh = 0x1p3f, kRoundsLow = 0x1.8p-17f; // with a rest of either sign
constexpr int kDigitBits = 8, kDigits = 32 / kDigitBits, kDigitValues = 1 << kDigitBits;
/// Counters of a digit: neighbouring lanes have different ones, because most values of a row have the
/// same first digit.
constexpr int kCounters = 8;
constexpr std::int32_t kLeastOrder = std::numeric_limits<std::int32_t>::min(),
                       kLastToken = std::numeric_limits<std::int32_t>::max();
/// A draw is a number of so many bits, of two words of 32.
constexpr int kDrawnBits = 53;

/// An integer that has the order of the floats. -0 becomes 0, and every NaN the one that is larger
/// than all numbers.
Numeric orderOf(const Numeric &value) {
  const Numeric bits =
      select(math::isnan(value), Float32(kNaN), Numeric(value + 0.0f)).bitcast(i32);
  return bits ^ ((bits >> 31) & kLastToken);
}
Numeric valueOf(const Numeric &order) {
  return Numeric(order ^ ((order >> 31) & kLastToken)).bitcast(f32);
}
/// The order of what is no NaN as a number without a sign, whose digits are compared.
Numeric keyOf(const Numeric &value) {
  const Numeric bits = Numeric(value + 0.0f).bitcast(i32);
  return Numeric(bits ^ ((bits >> 31) | Int32(kLeastOrder))).bitcast(u32);
}
Numeric wide(const Numeric &number) { return number.to(i64); }
Numeric sumOf(const Numbers &numbers) {
  return numbers.size() == 1
             ? numbers.front()
             : Numeric(numbers.front() + sumOf(Numbers(numbers.begin() + 1, numbers.end())));
}

/// The largest value of a row, and the first token that has it.
struct Largest {
  Numeric value;
  Int32 token;

  /// Nothing is allowed where the largest value is -infinity.
  Int32 greedy() const { return Int32(select(value == -kInfinity, Int32(-1), token)); }
};
Largest largestOf(SamplingRow &row) {
  const Var<Int32> order(Int32{kLeastOrder}), token(Int32(0));
  row.each([&](const Int32 &first, const Numbers &values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      // A thread comes by its tokens in their order.
      const Numeric own = orderOf(values[i]);
      const Boolean isLarger(own > order);
      token = select(isLarger, first + static_cast<int>(i), token.get());
      order = select(isLarger, own, order.get());
    }
  });
  const Numeric candidate = (wide(order.get()) << 32) | wide(kLastToken - token.get());
  const Numeric best = gpu::block_reduce(candidate, Reduction::max, row.shared());
  return {valueOf(Numeric(best >> 32).to(i32)), Int32(kLastToken - best.to(i32))};
}

/// The probabilities of values.
struct Shares {
  Numeric largest, scale; ///< the largest value; log2(e) over the temperature

  /// As a share of the largest, by the hardware's exp2. -infinity has none, at any temperature.
  Numeric of(const Numeric &value) const {
    const FastMathScope approximate(FastMath::afn);
    const Numeric share = math::exp2((value - largest) * scale);
    return select(value == -kInfinity, Float32(0.0f), share);
  }
  /// As an integer, an i64.
  static Numeric number(const Numeric &share) {
    const auto count = [](const Numeric &sum, float rounds) {
      return sum.bitcast(i32) - std::bit_cast<std::int32_t>(rounds);
    };
    const Numeric high = share + kRoundsHigh, rest = share - (high - kRoundsHigh);
    return (wide(count(high, kRoundsHigh)) << kHalfBits) +
           wide(count(rest + kRoundsLow, kRoundsLow));
  }
  /// log2 of the sum of all shares of a row.
  Numeric logOfAll(SamplingRow &row) const {
    const Numeric all = row.sum([&](const Numeric &value) { return number(of(value)); });
    return math::log2(all.to(f32) * 0x1p-40f);
  }
};

/// What remains of a row's tokens.
struct Cuts {
  std::optional<Numeric> leastShare, leastKey;

  /// The probability of a value as an integer; 0 if it is cut off.
  Numeric probability(const Shares &shares, const Numeric &value) const {
    const Numeric share = shares.of(value), number = Shares::number(share);
    const Numeric large = leastShare ? select(share >= *leastShare, number, Int64(0)) : number;
    return leastKey ? select(keyOf(value) >= *leastKey, large, Int64(0)) : large;
  }
};

/// Finds where a row is cut.
class KeySearch {
public:
  explicit KeySearch(SamplingRow &row)
      : row_(row),
        counters_(row.shared().tensor(i64, make_layout({kCounters, kDigitValues}, {1, kCounters}))),
        found_(row.shared().tensor(i64, make_layout(2, 1))) {}

  /// The largest key such that the values from it on have `target` together, by what `of` says a value
  /// has; all of them have it. The digits of the key are found one after another, the highest first:
  /// what values have whose higher digits are those that were found is added up by the next digit.
  template <class F> Numeric operator()(const Numeric &target, F of) {
    const Var<UInt32> prefix(UInt32(0));
    const Var<Int64> above(Int64(0)); // of values with larger digits
    for (Int32 step : range(kDigits)) {
      clear();
      gpu::barrier();
      const Numeric shift = Numeric(((kDigits - 1) - step) * kDigitBits).bitcast(u32);
      row_.each([&](const Int32 &, const Numbers &values) {
        for (const Numeric &value : values) {
          const Numeric digits = keyOf(value) >> shift;
          if_(Boolean((digits >> kDigitBits) == prefix), [&] { add(digits, of(value)); });
        }
      });
      gpu::barrier();
      const Int32 digit = (kDigitValues - 1) - row_.thread();
      const Numeric own = if_(
          digit >= 0, [&] { return Numeric(counters_(_, digit).load().reduce(Reduction::add)); },
          [] { return Numeric(Int64(0)); });
      const Numeric through = above + gpu::block_inclusive_scan(own, Reduction::add, row_.shared());
      if_(Boolean((digit >= 0) & (through >= target) & (through - own < target)), [&] {
        found_(0) = wide(digit);
        found_(1) = through - own;
      });
      gpu::barrier();
      prefix = (prefix << kDigitBits) | Numeric(found_(0)).to(u32);
      above = found_(1);
    }
    return prefix.get();
  }

private:
  void clear() const {
    const int all = kCounters * kDigitValues;
    const Tensor flat = make_view(counters_.iter(), make_layout(all, 1));
    for (Int32 i : range(row_.thread(), Int32(all), row_.block()))
      flat(i) = Int64(0);
  }
  void add(const Numeric &digits, const Numeric &amount) const {
    const Int32 digit(Numeric(digits & (kDigitValues - 1)).bitcast(i32));
    atomic(AtomicOp::add, counters_(_, digit).iter() + row_.thread() % kCounters, amount,
           MemoryScope::block);
  }

  SamplingRow &row_;
  Tensor counters_; // (counters, digits)
  Tensor found_;    // (2): a digit, and what values with larger ones have
};

/// Finds the token at a place of the probabilities that remain, in the order of tokens: waves add up
/// parts of the row, then rounds of the part that has the place; the lanes of a wave then know.
class PlaceSearch {
public:
  PlaceSearch(SamplingRow &row, const Shares &shares, const Cuts &cuts)
      : row_(row), shares_(shares), cuts_(cuts), lane_(row.thread() % row.lanes()),
        wave_(gpu::uniform(row.thread() / row.lanes())),
        rounds_(wholeUnits((row.accesses() + row.block() - 1) / row.block(), row.ahead())),
        sums_(row.shared().tensor(i64, make_layout(std::max(row.waves(), rounds_), 1))) {}

  Int32 operator()(const Numeric &drawn) {
    const Var<Int64> place(Int64{drawn}), ofPart(Int64(0));
    for (Int32 i : range(Int32(0), Int32(rounds_), row_.ahead())) {
      std::vector<Int32> rounds;
      for (int j = 0; j < row_.ahead(); ++j)
        rounds.push_back(wave_ * rounds_ + i + j);
      probabilities(rounds, [&](const Numbers &own) { ofPart += sumOf(own); });
    }
    put(wave_, ofPart.get());
    gpu::barrier();
    const Int32 part = find(place, row_.waves());
    gpu::barrier();
    for (Int32 round : range(wave_, Int32(rounds_), row_.waves()))
      probabilities({Int32(part * rounds_ + round)},
                    [&](const Numbers &own) { put(round, sumOf(own)); });
    gpu::barrier();
    return tokenOf(Int32(part * rounds_ + find(place, rounds_)), place.get());
  }

private:
  static constexpr int wholeUnits(int count, int unit) { return (count + unit - 1) / unit * unit; }
  Int32 accessOf(const Int32 &round) const { return round * row_.lanes() + lane_; }
  /// Calls `take` with the probabilities of the lane's tokens in rounds, which have an access of each
  /// lane; 0 past the row, where the last access is read instead.
  void probabilities(const std::vector<Int32> &rounds,
                     const std::function<void(const Numbers &)> &take) const {
    std::vector<Int32> accesses;
    for (const Int32 &round : rounds)
      accesses.push_back(Int32(min(accessOf(round), row_.accesses() - 1)));
    std::size_t next = 0;
    row_.visitAhead(accesses, [&](const Int32 &, const Numbers &values) {
      const Boolean isInside(accessOf(rounds[next++]) < row_.accesses());
      Numbers own;
      for (const Numeric &value : values)
        own.push_back(select(isInside, cuts_.probability(shares_, value), Int64(0)));
      take(own);
    });
  }
  /// Writes the sum of the wave's lanes.
  void put(const Int32 &at, const Numeric &ofLane) const {
    const Numeric all = gpu::warp_reduce(ofLane, Reduction::add);
    if_(lane_ == 0, [&] { sums_(at) = all; });
  }
  /// The sum, of `count`, in which a place lies; the place becomes that inside of it.
  Int32 find(const Var<Int64> &place, int count) const {
    const Var<Int32> found(Int32(0));
    const Var<Int64> end(Int64(0)), start(Int64(0));
    for (Int32 first : range(Int32(0), Int32(count), row_.lanes())) {
      const Int32 at = first + lane_;
      const Numeric own = if_(
          at < count, [&] { return Numeric(sums_(at)); }, [] { return Numeric(Int64(0)); });
      const Numeric through = end + gpu::warp_inclusive_scan(own, Reduction::add);
      // One lane has the place.
      const Boolean isHere((place >= through - own) & (place < through));
      found += gpu::warp_reduce(select(isHere, at, Int32(0)), Reduction::add);
      start += gpu::warp_reduce(select(isHere, through - own, Int64(0)), Reduction::add);
      end = gpu::shuffle_idx(through, row_.lanes() - 1);
    }
    place -= start;
    return found.get();
  }
  Int32 tokenOf(const Int32 &round, const Numeric &place) const {
    const Var<Int32> token(Int32(-1));
    probabilities({round}, [&](const Numbers &own) {
      const Var<Int64> end(Int64{gpu::warp_exclusive_scan(sumOf(own), Reduction::add)});
      for (int i = 0; i < row_.vector(); ++i) {
        const Int64 begin = end.get();
        end += own[static_cast<std::size_t>(i)];
        token = select(Boolean((place >= begin) & (place < end)),
                       accessOf(round) * row_.vector() + i, token.get());
      }
    });
    return Int32(gpu::warp_reduce(token.get(), Reduction::max));
  }

  SamplingRow &row_;
  const Shares &shares_;
  const Cuts &cuts_;
  Int32 lane_, wave_;
  int rounds_;  ///< of a wave's part
  Tensor sums_; // (waves or rounds)
};

/// The share that a token has at least. The largest stays, whatever is asked for.
std::optional<Numeric> leastShareOf(const SamplingRow &row) {
  if (!row.problem().min_p)
    return std::nullopt;
  const Numeric least = row.own(row.operands().minP, f32);
  return select(math::isnan(least), Float32(0.0f), min(least, 1.0f));
}
std::optional<Numeric> keyOfTopK(const SamplingRow &row, KeySearch &search) {
  if (!row.problem().top_k)
    return std::nullopt;
  const Numeric k = row.own(row.operands().topK, i32);
  const Int32 all(static_cast<int>(row.problem().vocabulary));
  return search(wide(select(Boolean((k < 1) | (k > all)), all, k)),
                [](const Numeric &) { return Numeric(Int64(1)); });
}
Numeric keyOfTopP(const SamplingRow &row, KeySearch &search, const Shares &shares, const Cuts &cuts,
                  const Numeric &total) {
  const Numeric p = row.own(row.operands().topP, f32);
  const Numeric asked = select(Boolean(p < 1.0f), max(p, 0.0f), Float32(1.0f));
  const Numeric target = Numeric(asked.to(f64) * total.to(f64)).to(i64);
  return search(max(min(target, total), Int64(1)),
                [&](const Numeric &value) { return cuts.probability(shares, value); });
}
/// A number from 0 to below the total, each as likely.
Numeric placeIn(const SamplingRow &row, const Numeric &total) {
  const auto words = random::randint4x(Int64(row.own(row.operands().seeds, i64)),
                                       Int64(row.own(row.operands().offsets, i64)));
  const Numeric drawn = (wide(words[0]) << (kDrawnBits - 32)) | wide(words[1] >> (64 - kDrawnBits));
  const Numeric place = Numeric(drawn.to(f64) * 0x1p-53 * total.to(f64)).to(i64);
  return min(place, total - 1);
}

/// Draws among the tokens that the cuts leave.
Int32 drawn(SamplingRow &row, const Shares &shares) {
  KeySearch search(row);
  const auto sum = [&](const Cuts &cuts) {
    return row.sum([&](const Numeric &value) { return cuts.probability(shares, value); });
  };
  const Cuts first{leastShareOf(row), keyOfTopK(row, search)};
  const Numeric ofFirst = sum(first);
  if (!row.problem().top_p)
    return PlaceSearch(row, shares, first)(placeIn(row, ofFirst));
  const Cuts second{first.leastShare, keyOfTopP(row, search, shares, first, ofFirst)};
  return PlaceSearch(row, shares, second)(placeIn(row, sum(second)));
}

const FamilyKernel sampling{
    kSampling, [](const SamplingParams<OnDevice> &p, const Constexpr<Spec<SamplingProblem>> &spec) {
      const SamplingProblem &problem = spec.value().problem;
      SamplingRow row(p, spec.value());
      const Largest largest = largestOf(row);
      const Boolean isNumber(math::abs(largest.value) < kInfinity); // no NaN, either
      const auto temperature = [&] { return row.own(p.temperature, f32); };
      const Boolean isDrawn = problem.temperature
                                  ? Boolean(isNumber & (temperature() >= kLeastTemperature))
                                  : Boolean(false);
      const Shares shares{largest.value,
                          problem.temperature
                              ? select(isDrawn, kLog2E / temperature(), Float32(kLog2E))
                              : Numeric(Float32(kLog2E))};
      const Int32 token = problem.temperature ? if_(
                                                    isDrawn, [&] { return drawn(row, shares); },
                                                    [&] { return largest.greedy(); })
                                              : largest.greedy();
      std::optional<Numeric> logProbability;
      if (problem.log_probabilities) {
        const Numeric all = shares.logOfAll(row);
        const Numbers near = row.values(Int32(max(token, 0) / row.vector()));
        const Var<Float32> value(Float32{near.front()});
        for (int i = 1; i < row.vector(); ++i)
          value = select(token % row.vector() == i, near[static_cast<std::size_t>(i)], value.get());
        logProbability.emplace(
            select(isNumber, ((value - largest.value) * shares.scale - all) * kLn2, Float32(kNaN)));
      }
      if_(row.thread() == 0, [&] {
        p.tokens.view(i32, p.m)(row.number()) = token;
        if (logProbability)
          p.logProbabilities.view(f32, p.m)(row.number()) = *logProbability;
        if (problem.advance) {
          const Tensor offsets = p.offsets.view(i64, p.m); // (m)
          offsets(row.number()) = offsets(row.number()) + 1;
        }
      });
    }};

} // namespace

void Family<SamplingProblem>::compile(const Compiler<SamplingProblem> &compiler) {
  compiler(sampling, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(SamplingProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
