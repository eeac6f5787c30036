#include "builder/coop/block.h"
#include "builder/coop/wave.h"
#include "builder/kernel/lanes.h"

#include <flydsl/coop/block_reduce.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// So many waves' results are combined as lanes, by moves, instead of one after another.
constexpr int kWavesAsLanes = 8;

/// The waves' results combined, in all threads.
Fields acrossWaves(const SharedValues &sums, const Thread &thread, const Operator &op, Loc loc) {
  const int waves = thread.waves();
  if (waves >= kWavesAsLanes && (waves & (waves - 1)) == 0)
    return reduceLanes(Lanes("a reduction", waves, loc), sums.load(thread.lane() & (waves - 1)), op,
                       loc);
  Fields all = sums.load(Expr(i32, 0, loc));
  for (int wave = 1; wave < waves; ++wave)
    all = combine(op, all, sums.load(Expr(i32, wave, loc)), loc);
  return all;
}

Plan planOf(const ValueType &type, int threads, BlockReduceAlgorithm algorithm, Loc loc) {
  const int lanes = std::min(gpu::num_warp_threads(loc), threads);
  Plan plan;
  if (threads == lanes)
    return plan;
  if (algorithm == BlockReduceAlgorithm::warp_reductions) {
    plan.add(type, threads / lanes);
  } else {
    plan.add(type, Raking(threads, lanes).places());
    plan.add(type, 1);
  }
  return plan;
}

} // namespace

BlockReduce::BlockReduce(ValueType type, int threads, BlockReduceAlgorithm algorithm, Loc loc)
    : BlockCollective("BlockReduce", std::move(type), threads, loc), algorithm_(algorithm) {
  storage_ = planOf(type_, threads, algorithm, loc).size();
}

Fields BlockReduce::acrossThreads(const Fields &own, const Operator &op, const Storage &storage,
                                  Loc loc) const {
  const Thread thread(loc);
  const Lanes lanes("BlockReduce", thread.lanes(), loc);
  if (thread.waves() == 1)
    return reduceLanes(lanes, own, op, loc);
  const Plan plan = planOf(type_, threads_, algorithm_, loc);
  const SharedValues shared = plan.in(storage, 0, loc);
  if (algorithm_ == BlockReduceAlgorithm::warp_reductions) {
    const Fields sum = reduceToLast(lanes, own, op, loc);
    where(thread.lane() == thread.lanes() - 1, [&] { shared.store(thread.wave(), sum); });
    gpu::barrier(loc);
    return acrossWaves(shared, thread, op, loc);
  }
  const Raking raking(threads_, thread.lanes());
  const SharedValues result = plan.in(storage, 1, loc);
  shared.store(raking.place(thread.number()), own);
  gpu::barrier(loc);
  where(thread.wave() == 0, [&] {
    const Expr first = raking.row(thread.lane());
    Fields sum = shared.load(first);
    for (int i = 1; i < raking.values(); ++i)
      sum = combine(op, sum, shared.load(first + i), loc);
    const Fields all = reduceToLast(lanes, sum, op, loc);
    where(thread.lane() == thread.lanes() - 1, [&] { result.store(Expr(i32, 0, loc), all); });
  });
  gpu::barrier(loc);
  return result.load(Expr(i32, 0, loc));
}

Fields BlockReduce::reduce(const Items &items, const Operator &op, const Storage &storage,
                           Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  return acrossThreads(combineAll(op, items, loc), op, storage, loc);
}

Fields BlockReduce::reducePartial(const Items &items, const Operator &op, const IntTuple &valid,
                                  const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const int n = static_cast<int>(items.size());
  expectValid(valid, 1, std::int64_t(threads_) * n, loc);
  const Thread thread(loc);
  const Expr count = numberOf(valid, loc), first = thread.number() * n;
  if (op.reduction) {
    Items kept;
    Fields neutral;
    for (DType type : type_.fields())
      neutral.push_back(gpu::impl::neutral(*op.reduction, type, loc));
    for (int i = 0; i < n; ++i)
      kept.push_back(select(first + i < count, items[static_cast<std::size_t>(i)], neutral));
    return acrossThreads(combineAll(op, kept, loc), op, storage, loc);
  }
  // A function has no value that changes nothing: the last lane of each wave that counts has the
  // wave's result in a scan, and the waves before the end are combined.
  Fields own = items.front();
  for (int i = 1; i < n; ++i)
    own = select(first + i < count, combine(op, own, items[static_cast<std::size_t>(i)], loc), own);
  const Expr lastThread = (count - 1) / n;
  const Lanes lanes("BlockReduce", thread.lanes(), loc);
  const Fields through = scanLanes(lanes, own, op, nullptr, loc);
  if (thread.waves() == 1)
    return lanes.fromUniform(through, lastThread);
  const SharedValues shared = planOf(type_, threads_, algorithm_, loc).in(storage, 0, loc);
  const Expr lastLane =
      min(lastThread - thread.wave() * thread.lanes(), Expr(i32, thread.lanes() - 1, loc));
  where(thread.lane() == lastLane, [&] { shared.store(thread.wave(), through); });
  gpu::barrier(loc);
  Fields all = shared.load(Expr(i32, 0, loc));
  for (int wave = 1; wave < thread.waves(); ++wave) {
    // A wave past the end has written nothing; the first wave's result stands in for it.
    const Expr counts = Expr(i32, wave * thread.lanes(), loc) <= lastThread;
    const Fields sum = shared.load(select(counts, Expr(i32, wave, loc), Expr(i32, 0, loc)));
    all = select(counts, combine(op, all, sum, loc), all);
  }
  return all;
}

static Plan batchedPlan(const ValueType &type, int threads, int values, Loc loc) {
  const int lanes = std::min(gpu::num_warp_threads(loc), threads);
  Plan plan;
  if (threads > lanes)
    plan.add(type, std::int64_t(values) * (threads / lanes));
  return plan;
}

BlockReduceBatched::BlockReduceBatched(ValueType type, int threads, int values, Loc loc)
    : BlockCollective("BlockReduceBatched", std::move(type), threads, values, loc) {
  storage_ = batchedPlan(type_, threads, values, loc).size();
}

Items BlockReduceBatched::reduce(const Items &values, const Operator &op, const Storage &storage,
                                 Loc loc) const {
  expectItems(values, loc);
  expectStorage(storage, loc);
  const Thread thread(loc);
  const Lanes lanes("BlockReduceBatched", thread.lanes(), loc);
  Items results;
  if (thread.waves() == 1) {
    for (const Fields &value : values)
      results.push_back(reduceLanes(lanes, value, op, loc));
    return results;
  }
  for (const Fields &value : values)
    results.push_back(reduceToLast(lanes, value, op, loc));
  const SharedValues shared = batchedPlan(type_, threads_, items_, loc).in(storage, 0, loc);
  const int waves = thread.waves();
  where(thread.lane() == thread.lanes() - 1, [&] {
    for (int i = 0; i < items_; ++i)
      shared.store(thread.wave() + i * waves, results[static_cast<std::size_t>(i)]);
  });
  gpu::barrier(loc);
  for (int i = 0; i < items_; ++i) {
    Fields all = shared.load(Expr(i32, i * waves, loc));
    for (int wave = 1; wave < waves; ++wave)
      all = combine(op, all, shared.load(Expr(i32, i * waves + wave, loc)), loc);
    results[static_cast<std::size_t>(i)] = all;
  }
  return results;
}

} // namespace coop
FLYDSL_NAMESPACE_END
