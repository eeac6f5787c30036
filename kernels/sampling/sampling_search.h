// The search in a row for the token that has a place.
#pragma once

#include "sampling/sampling_probabilities.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl::sampling {

/// Finds the token at a place among the weights of all, in the order of tokens: waves add up parts of
/// the row, then rounds of the part that has the place; the lanes of a wave then know.
class PlaceSearch {
public:
  PlaceSearch(SamplingRow &row, SamplingRow::Weight weight,
              SamplingRow::Reads reads = SamplingRow::Reads::values)
      : row_(row), weight_(std::move(weight)), reads_(reads), lane_(row.thread() % row.lanes()),
        wave_(gpu::uniform(row.thread() / row.lanes())),
        rounds_(wholeUnits((row.accesses() + row.block() - 1) / row.block(), row.ahead())),
        sums_(row.shared().tensor(i64, make_layout(std::max(row.waves(), rounds_), 1))) {}

  Int32 operator()(const Numeric &drawn) {
    const Var<Int64> place(Int64{drawn}), ofPart(Int64(0));
    for (Int32 i : range(Int32(0), Int32(rounds_), row_.ahead())) {
      std::vector<Int32> rounds;
      for (int j = 0; j < row_.ahead(); ++j)
        rounds.push_back(wave_ * rounds_ + i + j);
      weigh(rounds, [&](const Numbers &own) { ofPart += sumOf(own); });
    }
    put(wave_, ofPart.get());
    gpu::barrier();
    const Int32 part = find(place, row_.waves());
    gpu::barrier();
    for (Int32 round : range(wave_, Int32(rounds_), row_.waves()))
      weigh({Int32(part * rounds_ + round)}, [&](const Numbers &own) { put(round, sumOf(own)); });
    gpu::barrier();
    return tokenOf(Int32(part * rounds_ + find(place, rounds_)), place.get());
  }

private:
  using Numbers = SamplingRow::Numbers;

  static constexpr int wholeUnits(int count, int unit) { return (count + unit - 1) / unit * unit; }
  static Numeric sumOf(const Numbers &numbers) {
    return numbers.size() == 1
               ? numbers.front()
               : Numeric(numbers.front() + sumOf(Numbers(numbers.begin() + 1, numbers.end())));
  }
  Int32 accessOf(const Int32 &round) const { return round * row_.lanes() + lane_; }
  /// Calls `take` with the weights of the lane's tokens in rounds, which have an access of each lane; 0
  /// past the row, where the last access is read instead.
  void weigh(const std::vector<Int32> &rounds,
             const std::function<void(const Numbers &)> &take) const {
    std::vector<Int32> accesses;
    for (const Int32 &round : rounds)
      accesses.push_back(Int32(min(accessOf(round), row_.accesses() - 1)));
    std::size_t next = 0;
    row_.visitAhead(
        accesses,
        [&](const SamplingRow::Tokens &tokens) {
          const Boolean isInside(accessOf(rounds[next++]) < row_.accesses());
          Numbers own;
          for (std::size_t i = 0; i < tokens.values.size(); ++i)
            own.push_back(select(isInside, weight_(tokens, i), Int64(0)));
          take(own);
        },
        reads_);
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
    weigh({round}, [&](const Numbers &own) {
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
  SamplingRow::Weight weight_;
  SamplingRow::Reads reads_;
  Int32 lane_, wave_;
  int rounds_;  ///< of a wave's part
  Tensor sums_; // (waves or rounds)
};

} // namespace kernels::impl::sampling
FLYDSL_NAMESPACE_END
