#include "builder/coop/block.h"
#include "builder/coop/wave.h"

#include <flydsl/coop/block_scan.h>
#include <flydsl/coop/warp.h>
#include <flydsl/error.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// More waves' sums than these are scanned as lanes, by moves, instead of one after another.
constexpr int kWavesOneByOne = 4;

Plan planOf(const ValueType &type, int threads, BlockScanAlgorithm algorithm, Loc loc) {
  const int lanes = std::min(gpu::num_warp_threads(loc), threads);
  Plan plan;
  if (threads == lanes)
    return plan;
  if (algorithm == BlockScanAlgorithm::warp_scans) {
    plan.add(type, threads / lanes);
  } else {
    plan.add(type, Raking(threads, lanes).places());
    plan.add(type, 1);
  }
  return plan;
}

/// Room for the aggregate of a tile that is not full, behind what the scan works in.
std::size_t addPartial(Plan &plan, const ValueType &type) { return plan.add(type, 1); }

/// What a thread's own items are combined with: all before them, which the block's first thread has
/// no meaningful value of, and all of the block.
struct Before {
  Fields before, aggregate;
};

/// What the lanes before each one of its wave give, and the wave's sum in its last lane.
struct InWave {
  Fields before, through;
};

Before ofWaves(const InWave &wave, const SharedValues &sums, const Thread &thread,
               const Lanes &lanes, const Operator &op, const Fields *neutral, Loc loc) {
  where(thread.lane() == thread.lanes() - 1, [&] { sums.store(thread.wave(), wave.through); });
  gpu::barrier(loc);
  const int waves = thread.waves();
  Fields beforeWave, aggregate;
  if (waves > kWavesOneByOne) {
    const int width = static_cast<int>(std::bit_ceil(static_cast<unsigned>(waves)));
    const Expr own = width == waves ? thread.lane() & (width - 1)
                                    : min(thread.lane() & (width - 1), Expr(i32, waves - 1, loc));
    const Fields scanned =
        scanLanes(Lanes("BlockScan", width, loc), sums.load(own), op, nullptr, loc);
    beforeWave = lanes.fromUniform(
        scanned, select(thread.wave() == 0, Expr(i32, 0, loc), thread.wave() - 1));
    if (neutral)
      beforeWave = select(thread.wave() == 0, *neutral, beforeWave);
    aggregate = lanes.fromUniform(scanned, Expr(i32, waves - 1, loc));
  } else {
    aggregate = sums.load(Expr(i32, 0, loc));
    beforeWave = neutral ? select(thread.wave() > 0, aggregate, *neutral) : aggregate;
    for (int w = 1; w < waves; ++w) {
      aggregate = combine(op, aggregate, sums.load(Expr(i32, w, loc)), loc);
      if (w < waves - 1)
        beforeWave = select(thread.wave() > w, aggregate, beforeWave);
    }
  }
  const Fields both = combine(op, beforeWave, wave.before, loc);
  if (neutral)
    return {both, aggregate};
  const Fields later = select(thread.lane() == 0, beforeWave, both);
  return {select(thread.wave() == 0, wave.before, later), aggregate};
}

Before raked(const Fields &own, const Plan &plan, const Storage &storage, const Thread &thread,
             const Lanes &lanes, const Operator &op, const Fields *neutral, Loc loc) {
  const Raking raking(blockThreads(loc), thread.lanes());
  const SharedValues sums = plan.in(storage, 0, loc), whole = plan.in(storage, 1, loc);
  sums.store(raking.place(thread.number()), own);
  gpu::barrier(loc);
  where(thread.wave() == 0, [&] {
    const Expr first = raking.row(thread.lane());
    // In each lane's row, the sums with all before them in the row.
    Items row{sums.load(first)};
    for (int i = 1; i < raking.values(); ++i)
      row.push_back(combine(op, row.back(), sums.load(first + i), loc));
    const Fields through = scanLanes(lanes, row.back(), op, nullptr, loc);
    const Fields before = lanes.upByOne(through, neutral);
    // Each place gets what is before its thread; without a neutral value, the place of the block's
    // first thread gets any value.
    sums.store(first, before);
    for (int i = 1; i < raking.values(); ++i) {
      const Fields &inRow = row[static_cast<std::size_t>(i - 1)];
      const Fields both = combine(op, before, inRow, loc);
      sums.store(first + i, neutral ? both : select(thread.lane() == 0, inRow, both));
    }
    where(thread.lane() == thread.lanes() - 1, [&] { whole.store(Expr(i32, 0, loc), through); });
  });
  gpu::barrier(loc);
  return {sums.load(raking.place(thread.number())), whole.load(Expr(i32, 0, loc))};
}

} // namespace

BlockScan::BlockScan(ValueType type, int threads, BlockScanAlgorithm algorithm, Loc loc)
    : BlockCollective("BlockScan", std::move(type), threads, loc), algorithm_(algorithm) {
  Plan plan = planOf(type_, threads, algorithm, loc);
  if (plan.size().bytes)
    addPartial(plan, type_);
  storage_ = plan.size();
}

BlockScan::Scanned BlockScan::scan(const Items &given, const Operator &op, const Fields *init,
                                   bool inclusive, const Storage &storage, Loc loc,
                                   const IntTuple *valid) const {
  expectItems(given, loc);
  expectStorage(storage, loc);
  const int n = static_cast<int>(given.size());
  if (valid)
    expectValid(*valid, 1, std::int64_t(threads_) * n, loc);
  std::optional<Fields> start;
  if (init)
    start = expectTypes("the initial value", *init, type_.fields(), loc);
  else if (!inclusive)
    expectNeutral(op, loc);
  const std::optional<Fields> neutral = neutralIfKnown(op, type_.fields(), loc);
  const Fields *none = neutral ? &*neutral : nullptr;
  const Thread thread(loc);
  // Behind the end an fx::Reduction combines with what changes no value.
  Items items = given;
  if (valid && neutral) {
    for (int i = 0; i < n; ++i)
      items[static_cast<std::size_t>(i)] = select(thread.number() * n + i < numberOf(*valid, loc),
                                                  given[static_cast<std::size_t>(i)], *neutral);
  }
  const Lanes lanes("BlockScan", thread.lanes(), loc);

  Items within{items.front()};
  for (std::size_t i = 1; i < items.size(); ++i)
    within.push_back(combine(op, within.back(), items[i], loc));

  Before around;
  const Plan plan = planOf(type_, threads_, algorithm_, loc);
  if (thread.waves() > 1 && algorithm_ == BlockScanAlgorithm::raking) {
    around = raked(within.back(), plan, storage, thread, lanes, op, none, loc);
  } else {
    const Fields through = scanLanes(lanes, within.back(), op, nullptr, loc);
    const Fields before = lanes.upByOne(through, none);
    around = thread.waves() == 1 ? Before{before, lanes.broadcast(through, thread.lanes() - 1)}
                                 : ofWaves({before, through}, plan.in(storage, 0, loc), thread,
                                           lanes, op, none, loc);
  }

  const Expr isFirst = thread.number() == 0;
  Fields before = around.before;
  if (start && neutral)
    before = combine(op, *start, before, loc);
  else if (start)
    before = select(isFirst, *start, combine(op, *start, before, loc));
  Items results;
  if (!inclusive)
    results.push_back(before);
  for (const Fields &item : within) {
    if (results.size() == within.size())
      break;
    const Fields with = combine(op, before, item, loc);
    results.push_back(start || neutral ? with : select(isFirst, item, with));
  }
  if (!valid || neutral)
    return {std::move(results), std::move(around.aggregate)};

  // The thread of the last item that counts has the aggregate: what is before it, and its own items
  // up to that one.
  const Expr last = numberOf(*valid, loc) - 1, lastThread = last / n;
  Fields own = within.front();
  for (int i = 1; i < n; ++i)
    own = select(last % n == i, within[static_cast<std::size_t>(i)], own);
  const Fields all = select(isFirst, own, combine(op, around.before, own, loc));
  if (thread.waves() == 1)
    return {std::move(results), lanes.fromUniform(all, lastThread)};
  Plan withPartial = plan;
  const SharedValues slot = withPartial.in(storage, addPartial(withPartial, type_), loc);
  const Expr zero(i32, 0, loc);
  where(thread.number() == lastThread, [&] { slot.store(zero, all); });
  gpu::barrier(loc);
  return {std::move(results), slot.load(zero)};
}

} // namespace coop
FLYDSL_NAMESPACE_END
