// Scans of a wave, and the reductions that are read off them.
#include "builder/coop/lane_moves.h"
#include "builder/coop/wave.h"
#include "builder/kernel/lanes.h"

#include <flydsl/coop/warp.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

Fields neutralOf(const Operator &op, const Items &items, Loc loc) {
  if (!op.reduction)
    throw TraceError("an exclusive scan by a function needs an initial value, which the first item "
                     "gets: an fx::Reduction alone has a value that changes no other; give the "
                     "value before the function",
                     loc);
  Fields neutral;
  for (DType type : typesOf("a scan", items, loc))
    neutral.push_back(gpu::impl::neutral(*op.reduction, type, loc));
  return neutral;
}

/// Whether zeros change no value: then what DPP gives lanes without a source needs no selection.
static bool zeroIsNeutral(const Operator &op) { return op.reduction == Reduction::add; }

/// What scans do with numbers, of which booleans are none.
static void expectReducible(const Operator &op, const Fields &value, Loc loc) {
  if (!op.reduction)
    return;
  for (const Handle &field : value)
    if (detail::dtypeOf(field, loc) == boolean)
      throw TraceError("an fx::Reduction combines numbers, not booleans; .to(fx::i32) counts them, "
                       "and a function of two combines them by && or ||",
                       loc);
}

Fields scanLanes(const Lanes &lanes, const Fields &value, const Operator &op,
                 const Expr *segmentStart, Loc loc) {
  expectReducible(op, value, loc);
  Fields sum = value;
  auto take = [&](const Fields &below, std::optional<Expr> inside) {
    const Fields combined = combine(op, below, sum, loc);
    sum = inside ? select(*inside, combined, sum) : combined;
  };
  const bool free = zeroIsNeutral(op) && !segmentStart;
  for (int distance = 1; distance < std::min(lanes.width(), 16); distance *= 2) {
    std::optional<Expr> inside;
    if (segmentStart) // never before the group's first lane, but maybe before the row's
      inside = (lanes.width() > 16 ? (lanes.lane() & 15) >= distance : lanes.lane() >= distance) &
               (lanes.lane() - distance >= *segmentStart);
    else if (!free || lanes.width() < 16)
      inside = (lanes.width() > 16 ? lanes.lane() & 15 : lanes.lane()) >= distance;
    take(lanes.upInRow(sum, distance), inside);
  }
  for (int step = 0; step < lanes.rowSteps(); ++step) {
    Expr inside = lanes.takesRow(step);
    if (segmentStart)
      inside = inside & (*segmentStart < lanes.rowStart(step));
    take(lanes.rowBefore(sum, step), inside);
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

Fields warpReduceSegments(const Items &items, const Operator &op, const Handle &flag, bool heads,
                          int width, Loc loc) {
  typesOf("a reduction", items, loc);
  const Lanes lanes("a segmented reduction", width, loc);
  const Expr flags = lanes.ballot(Expr(flag, loc));
  const DType mask = flags.type();
  const Expr lane = lanes.lane().to(mask);
  // A bit for each lane at which a segment begins.
  const Expr starts = (heads ? flags : flags << 1) | 1;
  const Expr upToLane = starts & (Expr(mask, ~std::uint64_t(0) >> (64 - mask.bits()), loc) >>
                                  (Expr(mask, mask.bits() - 1, loc) - lane));
  const Expr start = (Expr(mask, mask.bits() - 1, loc) - leadingZeros(upToLane)).to(i32);
  const Fields sum = scanLanes(lanes, combineAll(op, items, loc), op, &start, loc);
  // The lane before the next segment's first one has the whole segment.
  const Expr after = trailingZeros(starts >> lane >> 1).to(i32) + lanes.lane();
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

Scanned warpScan(const Items &items, const Operator &op, int width, const Fields *init,
                 bool withAggregate, Loc loc) {
  const std::vector<DType> types = typesOf("a scan", items, loc);
  const Lanes lanes("a scan", width, loc);
  // Each item with those before it in its thread; the last is the thread's sum.
  Items within{items.front()};
  for (std::size_t i = 1; i < items.size(); ++i)
    within.push_back(combine(op, within.back(), items[i], loc));
  const Fields through = scanLanes(lanes, within.back(), op, nullptr, loc);
  Scanned scanned;
  if (withAggregate)
    scanned.aggregate = lanes.broadcast(through, lanes.width() - 1);
  const Expr isFirst = lanes.lane() == 0;
  if (!init && items.size() == 1) {
    scanned.inclusive = {through};
    return scanned;
  }
  Fields before = lanes.upByOne(through);
  if (init) {
    const Fields first = expectTypes("the initial value", *init, types, loc);
    before = select(isFirst, first, combine(op, first, before, loc));
  }
  scanned.exclusive.push_back(before);
  for (const Fields &item : within) {
    const Fields with = combine(op, before, item, loc);
    scanned.inclusive.push_back(init ? with : select(isFirst, item, with));
    if (init && scanned.exclusive.size() < within.size())
      scanned.exclusive.push_back(with);
  }
  if (!init)
    scanned.exclusive.clear();
  return scanned;
}

Expr peers(const Lanes &lanes, const Expr &digit, int bits) {
  const DType mask = lanes.wave() == 64 ? u64 : u32;
  Expr same(mask, ~std::uint64_t(0) >> (64 - lanes.width()), digit.loc);
  for (int bit = 0; bit < bits; ++bit) {
    const Expr isSet = (digit >> bit & 1) != 0;
    const Expr set = lanes.ballot(isSet);
    same = same & select(isSet, set, ~set);
  }
  return same;
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
