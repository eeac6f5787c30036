// Scans of a wave, and the reductions that are read off them.
#include "builder/coop/lane_moves.h"
#include "builder/coop/wave.h"
#include "builder/kernel/lanes.h"

#include <flydsl/coop/warp.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// A Reduction combines numbers. Booleans are none.
static void expectReducible(const Operator &op, const std::vector<DType> &types, Loc loc) {
  if (op.reduction && std::find(types.begin(), types.end(), boolean) != types.end())
    throw TraceError("an fx::Reduction combines numbers, not booleans; .to(fx::i32) counts them, "
                     "and a function of two combines them by && or ||",
                     loc);
}
static void expectReducible(const Operator &op, const Fields &value, Loc loc) {
  expectReducible(op, typesOf("a reduction", value, loc), loc);
}

std::optional<Fields> neutralIfKnown(const Operator &op, const std::vector<DType> &types, Loc loc) {
  if (!op.reduction)
    return std::nullopt;
  expectReducible(op, types, loc);
  Fields neutral;
  for (DType type : types)
    neutral.push_back(gpu::impl::neutral(*op.reduction, type, loc));
  return neutral;
}

void expectNeutral(const Operator &op, Loc loc) {
  if (!op.reduction)
    throw TraceError("an exclusive scan by a function needs an initial value, which the first item "
                     "gets: an fx::Reduction alone has a value that changes no other; give the "
                     "value before the function",
                     loc);
}

/// Whether zeros change no value: then what DPP gives lanes without a source needs no selection.
static bool zeroIsNeutral(const Operator &op) { return op.reduction == Reduction::add; }

Fields scanLanes(const Lanes &lanes, const Fields &value, const Operator &op, const Expr *reach,
                 Loc loc) {
  expectReducible(op, value, loc);
  Fields sum = value;
  auto take = [&](const Fields &below) { sum = combine(op, below, sum, loc); };
  auto takeWhere = [&](const Expr &inside, const Fields &below) {
    sum = select(inside, combine(op, below, sum, loc), sum);
  };
  // Of a Reduction, lanes that take nothing can take what changes no value, which needs no
  // selection; DPP's zeros are free.
  const std::optional<Fields> neutral =
      reach ? std::nullopt : neutralIfKnown(op, typesOf("a scan", value, loc), loc);
  const int rows = std::min(lanes.width(), 16);
  const Expr inRow = lanes.width() > 16 ? lanes.lane() & 15 : lanes.lane();
  const Expr within = reach ? min(*reach, inRow) : inRow;
  for (int distance = 1; distance < rows; distance *= 2) {
    if (neutral && rows == 16)
      take(lanes.upInRow(sum, distance, zeroIsNeutral(op) ? nullptr : &*neutral));
    else
      takeWhere(within >= distance, lanes.upInRow(sum, distance));
  }
  for (int step = 0; step < lanes.rowSteps(); ++step) {
    if (neutral) {
      take(lanes.rowBefore(sum, step, &*neutral));
      continue;
    }
    // A segment that goes on past the beginning of this row, or of the lower half.
    Expr inside = lanes.takesRow(step);
    if (reach)
      inside = inside & (*reach > (lanes.lane() & ((16 << step) - 1)));
    takeWhere(inside, lanes.rowBefore(sum, step));
  }
  return sum;
}

Fields reduceToLast(const Lanes &lanes, const Fields &value, const Operator &op, Loc loc) {
  expectReducible(op, value, loc);
  Fields sum = value;
  // The last lane takes from lanes that have taken from all lanes between: it alone is right.
  for (int distance = 1; distance < std::min(lanes.width(), 16); distance *= 2)
    sum = combine(op, lanes.upInRow(sum, distance), sum, loc);
  for (int step = 0; step < lanes.rowSteps(); ++step)
    sum = combine(op, lanes.rowBefore(sum, step), sum, loc);
  return sum;
}

Fields reduceLanes(const Lanes &lanes, const Fields &value, const Operator &op, Loc loc) {
  if (!op.commutative || lanes.width() > 16)
    return lanes.broadcast(reduceToLast(lanes, value, op, loc), lanes.width() - 1);
  expectReducible(op, value, loc);
  Fields sum = value;
  for (int distance = 1; distance < lanes.width(); distance *= 2)
    sum = combine(op, sum, lanes.acrossInRow(sum, distance), loc);
  return sum;
}

Fields warpReduce(const Items &items, const Operator &op, int width, const IntTuple *valid,
                  Loc loc) {
  typesOf("a reduction", items, loc);
  const Lanes lanes("warp_reduce", width, loc);
  const Fields own = combineAll(op, items, loc);
  if (!valid)
    return reduceLanes(lanes, own, op, loc);
  // The last lane that counts has all of them in a scan.
  if (!valid->is_static(loc))
    return lanes.from(scanLanes(lanes, own, op, nullptr, loc), numberOf(*valid, loc) - 1);
  const std::int64_t count = valid->value(loc);
  if (count < 1 || count > lanes.width())
    throw TraceError("a reduction of " + std::to_string(count) + " lanes of a group of " +
                         std::to_string(lanes.width()) + ": 1 to all of them",
                     loc);
  return lanes.broadcast(scanLanes(lanes, own, op, nullptr, loc), static_cast<int>(count) - 1);
}

Items warpReduceBatched(const Items &items, const Operator &op, int width, Loc loc) {
  typesOf("a reduction", items, loc);
  const Lanes lanes("warp_reduce_batched", width, loc);
  Items reduced;
  for (const Fields &item : items)
    reduced.push_back(reduceLanes(lanes, item, op, loc));
  return reduced;
}

/// Values that become one result in each lane: lane l gets all lanes' value number l combined. In
/// each round two neighbouring groups of lanes share what is left: the lower keeps the values of
/// even number, the upper those of odd number, and each gets the other's part of what it keeps. So
/// a lane's values always cover neighbouring lanes, and are combined in their order. Values that
/// are not there cost no move.
static Fields spreadOverLanes(const Lanes &lanes, std::vector<std::optional<Fields>> values,
                              const Operator &op, Loc loc) {
  for (int distance = 1; distance < lanes.width(); distance *= 2) {
    const Expr isUpper = (lanes.lane() & distance) != 0;
    std::vector<std::optional<Fields>> halved;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      const std::optional<Fields> &even = values[i], &odd = values[i + 1];
      if (!even) {
        halved.push_back(std::nullopt);
        continue;
      }
      const Fields kept = odd ? select(isUpper, *odd, *even) : *even;
      const Fields sent = odd ? select(isUpper, *even, *odd) : *even;
      const Fields got = lanes.across(sent, distance);
      halved.push_back(op.commutative ? combine(op, kept, got, loc)
                                      : combine(op, select(isUpper, got, kept),
                                                select(isUpper, kept, got), loc));
    }
    values = std::move(halved);
  }
  return *values.front();
}

Items warpReduceSpread(const Items &items, const Operator &op, Spread spread, int width, Loc loc) {
  expectReducible(op, items.empty() ? Fields() : items.front(), loc);
  typesOf("a reduction", items, loc);
  const Lanes lanes("a batched reduction", width, loc);
  const int count = static_cast<int>(items.size());
  const int each = (count + lanes.width() - 1) / lanes.width();
  Items results;
  for (int slot = 0; slot < each; ++slot) {
    std::vector<std::optional<Fields>> values;
    for (int lane = 0; lane < lanes.width(); ++lane) {
      const int number =
          spread == Spread::blocked ? lane * each + slot : slot * lanes.width() + lane;
      values.push_back(number < count ? std::optional(items[static_cast<std::size_t>(number)])
                                      : std::nullopt);
    }
    results.push_back(spreadOverLanes(lanes, std::move(values), op, loc));
  }
  return results;
}

Fields warpReduceSegments(const Items &items, const Operator &op, const Handle &flag, bool heads,
                          int width, Loc loc) {
  typesOf("a reduction", items, loc);
  const Lanes lanes("a segmented reduction", width, loc);
  const Expr flags = lanes.ballot(Expr(flag, loc));
  const DType mask = flags.type();
  const Expr lane = lanes.lane().to(mask);
  // A bit for each lane at which a segment begins. With the lane's own bit at the top, the zeros
  // above the highest bit are the lanes of its segment before it.
  const Expr starts = (heads ? flags : flags << 1) | 1;
  const Expr reach = leadingZeros(starts << (Expr(mask, mask.bits() - 1, loc) - lane)).to(i32);
  const Fields sum = scanLanes(lanes, combineAll(op, items, loc), op, &reach, loc);
  // The lane before the next segment's first one has the whole segment.
  const Expr after = trailingZeros(starts >> 1 >> lane).to(i32) + lanes.lane();
  return lanes.from(sum, min(after, Expr(i32, lanes.width() - 1, loc)));
}

Fields warpBroadcast(const Fields &value, const IntTuple &lane, int width, Loc loc) {
  typesOf("a broadcast", value, loc);
  const Lanes lanes("warp_broadcast", width, loc);
  if (!lane.is_static(loc))
    return lanes.from(value, numberOf(lane, loc));
  const std::int64_t source = lane.value(loc);
  if (source < 0 || source >= lanes.width())
    throw TraceError("lane " + std::to_string(source) + " is broadcast in a group of " +
                         std::to_string(lanes.width()) + " lanes, 0 to " +
                         std::to_string(lanes.width() - 1),
                     loc);
  return lanes.broadcast(value, static_cast<int>(source));
}

Scanned warpScan(const Items &items, const Operator &op, int width, const ScanWish &wish, Loc loc) {
  const std::vector<DType> types = typesOf("a scan", items, loc);
  const Lanes lanes("a scan", width, loc);
  if (wish.exclusive && !wish.init)
    expectNeutral(op, loc);
  // Each item with those before it in its thread; the last is the thread's sum.
  Items within{items.front()};
  for (std::size_t i = 1; i < items.size(); ++i)
    within.push_back(combine(op, within.back(), items[i], loc));
  const Fields through = scanLanes(lanes, within.back(), op, nullptr, loc);
  Scanned scanned;
  if (wish.aggregate && !wish.valid)
    scanned.aggregate = lanes.broadcast(through, lanes.width() - 1);
  if (!wish.init && !wish.exclusive && items.size() == 1) {
    scanned.inclusive = {through};
    return scanned;
  }
  const Expr isFirst = lanes.lane() == 0;
  const std::optional<Fields> neutral = wish.init ? std::nullopt : neutralIfKnown(op, types, loc);
  Fields before = lanes.upByOne(through, neutral ? &*neutral : nullptr);
  if (wish.valid) {
    const int n = static_cast<int>(items.size());
    expectCount("a scan", *wish.valid, 1, std::int64_t(n) * lanes.width(), loc);
    // The lane of the last item that counts combines what is before it with its own up to that one.
    const Expr last = numberOf(*wish.valid, loc) - 1;
    Fields own = within.front();
    for (int i = 1; i < n; ++i)
      own = select(last % n == i, within[static_cast<std::size_t>(i)], own);
    scanned.aggregate = lanes.from(select(isFirst, own, combine(op, before, own, loc)), last / n);
  }
  if (wish.init) {
    const Fields first = expectTypes("the initial value", *wish.init, types, loc);
    before = select(isFirst, first, combine(op, first, before, loc));
  }
  const bool startKnown = wish.init || neutral;
  if (startKnown)
    scanned.exclusive.push_back(before);
  for (const Fields &item : within) {
    const Fields with = combine(op, before, item, loc);
    scanned.inclusive.push_back(startKnown ? with : select(isFirst, item, with));
    if (startKnown && scanned.exclusive.size() < within.size())
      scanned.exclusive.push_back(with);
  }
  return scanned;
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
