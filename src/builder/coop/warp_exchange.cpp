// Items that change their lanes within a wave, and the sort that is made of such changes.
#include "builder/coop/lane_moves.h"

#include <flydsl/coop/warp.h>
#include <flydsl/error.h>

#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

namespace {

/// The exchange between blocked and striped items, in rounds. In round r each lane sends one item
/// and gets one. Element e = W * j + l is item i = e % n of lane s = e / n when blocked, and item j
/// of lane l when striped. It moves in round
///
///   r = (e + e / lcm(n, W)) mod n,
///
/// in which every lane s has one element and every lane l too: with g = gcd(n, W), the elements of
/// lane s have all different e mod n and one e / lcm; those of lane l repeat e mod n after n / g
/// steps of j, at which e / lcm goes up by one.
struct Rounds {
  int n, width, g;

  Rounds(int items, int lanes) : n(items), width(lanes), g(std::gcd(items, lanes)) {}

  /// The blocked item that lane `lane` has in a round.
  Expr blockedItem(const Expr &lane, int round) const {
    return (Expr(i32, round + n * width, lane.loc) - lane / (width / g)) % n;
  }
  /// The striped item that it has.
  Expr stripedItem(const Expr &lane, int round) const {
    const int period = n / g;
    const Expr ahead = Expr(i32, round + n * width, lane.loc) - lane; // r - l, modulo n
    const Expr wraps = ahead % g;
    // width / g * t = (r - l - wraps) / g modulo the period gives t.
    int inverse = 1 % period;
    while (period > 1 && inverse * (width / g) % period != 1)
      ++inverse;
    const Expr t = (ahead - wraps) / g * inverse % period;
    return wraps * period + t;
  }
  /// The lane that has the striped item `item` of lane `lane` when
  /// blocked, and the other way round.
  Expr blockedLane(const Expr &lane, const Expr &item) const { return (item * width + lane) / n; }
  Expr stripedLane(const Expr &lane, const Expr &item) const { return (lane * n + item) % width; }
};

/// items[index], by selections.
Fields pick(const Items &items, const Expr &index) {
  Fields chosen = items.front();
  for (std::size_t i = 1; i < items.size(); ++i)
    chosen = select(index == static_cast<int>(i), items[i], chosen);
  return chosen;
}

} // namespace

Items warpExchange(const Items &items, bool toStriped, int width, Loc loc) {
  typesOf("an exchange", items, loc);
  const Lanes lanes("an exchange", width, loc);
  const int n = static_cast<int>(items.size());
  if (n == 1 || lanes.width() == 1)
    return items;
  const Rounds rounds(n, lanes.width());
  Items arrived = items;
  for (int round = 0; round < n; ++round) {
    const Expr blocked = rounds.blockedItem(lanes.lane(), round);
    const Expr striped = rounds.stripedItem(lanes.lane(), round);
    const Expr source = toStriped ? rounds.blockedLane(lanes.lane(), striped)
                                  : rounds.stripedLane(lanes.lane(), blocked);
    const Fields got = lanes.from(pick(items, toStriped ? blocked : striped), source);
    const Expr &place = toStriped ? striped : blocked;
    for (int i = 0; i < n; ++i)
      arrived[static_cast<std::size_t>(i)] =
          select(place == i, got, arrived[static_cast<std::size_t>(i)]);
  }
  return arrived;
}

Items warpSort(const Items &keys, const Items *values, Items *sortedValues, const Relation &less,
               const IntTuple *valid, int width, Loc loc) {
  const std::size_t keyFields = typesOf("a sort", keys, loc).size();
  const Lanes lanes("a bitonic sort", width, loc);
  const int n = static_cast<int>(keys.size());
  if (n & (n - 1))
    throw TraceError("a bitonic sort of " + std::to_string(n) +
                         " items a lane: their number is a power of two",
                     loc);
  // Keys and their values move together.
  Items all = keys;
  if (values) {
    typesOf("a sort", *values, loc);
    if (values->size() != keys.size())
      throw TraceError("a sort of " + std::to_string(keys.size()) + " keys with " +
                           std::to_string(values->size()) + " values: each key has one",
                       loc);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].insert(all[i].end(), (*values)[i].begin(), (*values)[i].end());
  }
  auto keyOf = [&](const Fields &item) {
    return Fields(item.begin(), item.begin() + static_cast<std::ptrdiff_t>(keyFields));
  };
  // Whether an item is there moves with it, as its last field: what is not there goes last.
  if (valid) {
    expectCount("a bitonic sort", *valid, 0, std::int64_t(n) * lanes.width(), loc);
    for (int i = 0; i < n; ++i)
      all[static_cast<std::size_t>(i)].push_back(
          (lanes.lane() * n + i < numberOf(*valid, loc)).handle);
  }
  auto before = [&](const Fields &a, const Fields &b) {
    const Expr goesFirst(less(keyOf(a), keyOf(b)), loc);
    return valid ? Expr(a.back(), loc) & (!Expr(b.back(), loc) | goesFirst) : goesFirst;
  };
  // Batcher's bitonic sort of the elements lane * n + item: runs of `size` become sorted, every
  // second one downwards, except for the last, the whole.
  const int count = n * lanes.width();
  for (int size = 2; size <= count; size *= 2)
    for (int distance = size / 2; distance > 0; distance /= 2) {
      // Whether the run that an element is in goes down.
      auto down = [&](int item) -> std::optional<Expr> {
        if (size == count)
          return std::nullopt;
        if (size < n)
          return Expr(boolean, (item & size) != 0, loc);
        return (lanes.lane() & (size / n)) != 0;
      };
      if (distance < n) {
        for (int i = 0; i < n; ++i) {
          if (i & distance)
            continue;
          Fields &low = all[static_cast<std::size_t>(i)];
          Fields &high = all[static_cast<std::size_t>(i + distance)];
          Expr swap = before(high, low);
          if (const auto falling = down(i))
            swap = select(*falling, before(low, high), swap);
          const Fields newLow = select(swap, high, low);
          high = select(swap, low, high);
          low = newLow;
        }
        continue;
      }
      // The element with the lower number keeps what goes first in a rising run.
      const Expr isHigh = (lanes.lane() & (distance / n)) != 0;
      for (int i = 0; i < n; ++i) {
        Fields &own = all[static_cast<std::size_t>(i)];
        const Fields other = lanes.across(own, distance / n);
        Expr takesLater = isHigh;
        if (const auto falling = down(i))
          takesLater = isHigh != *falling;
        // Both lanes of a pair decide alike: of equal ones each keeps its own.
        own = select(select(takesLater, before(own, other), before(other, own)), other, own);
      }
    }
  Items sorted;
  for (Fields &item : all) {
    sorted.push_back(keyOf(item));
    if (values)
      sortedValues->emplace_back(item.begin() + static_cast<std::ptrdiff_t>(keyFields), item.end());
  }
  return sorted;
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
