#include "builder/coop/block.h"

#include <flydsl/coop/block_run_length.h>
#include <flydsl/coop/block_scan.h>
#include <flydsl/error.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {
struct Room {
  Plan plan;
  std::size_t values, ends, scan;
  BlockScan sums;

  Room(const ValueType &type, int threads, int runs, Loc loc)
      : sums(i32, threads, BlockScanAlgorithm::warp_scans, loc) {
    values = plan.add(type, std::int64_t(threads) * runs);
    ends = plan.add(i32, std::int64_t(threads) * runs);
    scan = plan.add(sums.storage());
  }
};
} // namespace

BlockRunLengthDecode::BlockRunLengthDecode(ValueType type, int threads, int runs_per_thread,
                                           Loc loc)
    : BlockCollective("BlockRunLengthDecode", std::move(type), threads, runs_per_thread, loc) {
  storage_ = Room(type_, threads, runs_per_thread, loc).plan.size();
}

Numeric BlockRunLengthDecode::begin(const Items &values, const Items &lengths,
                                    const Storage &storage, Loc loc) const {
  expectItems(values, loc);
  if (lengths.size() != values.size())
    throw TraceError("BlockRunLengthDecode of " + std::to_string(values.size()) +
                         " runs per thread is given " + std::to_string(lengths.size()) +
                         " lengths: each run has one",
                     loc);
  expectStorage(storage, loc);
  const Room room(type_, threads_, items_, loc);
  std::vector<Int32> own;
  for (const Fields &length : lengths)
    own.push_back(Int32(Numeric(length.front()), loc));
  const auto ends = room.sums.inclusive_with_aggregate(
      own, Reduction::add, room.plan.storageIn(storage, room.scan, loc), loc);
  const Thread thread(loc);
  const SharedValues allValues = room.plan.in(storage, room.values, loc);
  const SharedValues allEnds = room.plan.in(storage, room.ends, loc);
  for (int i = 0; i < items_; ++i) {
    const Expr run = thread.number() * items_ + i;
    allValues.store(run, values[static_cast<std::size_t>(i)]);
    allEnds.store(run, {ends.items[static_cast<std::size_t>(i)].handle()});
  }
  gpu::barrier(loc);
  return ends.aggregate;
}

BlockRunLengthDecode::Window BlockRunLengthDecode::read(const IntTuple &first, int count,
                                                        const Fields &fill, const Int32 &total,
                                                        const Storage &storage, Loc loc) const {
  if (count < 1)
    throw TraceError("a window of " + std::to_string(count) +
                         " items per thread: each thread gets at least one",
                     loc);
  const Fields other = expectTypes("the fill", fill, type_.fields(), loc);
  const Room room(type_, threads_, items_, loc);
  const SharedValues values = room.plan.in(storage, room.values, loc);
  const SharedValues ends = room.plan.in(storage, room.ends, loc);
  const Thread thread(loc);
  const int runs = threads_ * items_;
  const Expr end(total, loc), zero(i32, 0, loc);
  Window window;
  for (int i = 0; i < count; ++i) {
    const Expr item = numberOf(first, loc) + thread.number() * count + i;
    // The first run that ends behind the item: the number of runs that don't, by halves.
    Expr run = zero;
    for (int step = static_cast<int>(std::bit_floor(static_cast<unsigned>(runs))); step > 0;
         step /= 2) {
      const Expr next = run + step;
      const Expr before = Expr(ends.load(min(next, Expr(i32, runs, loc)) - 1).front(), loc);
      run = select((next <= runs) & (before <= item), next, run);
    }
    const Expr inside = (item >= 0) & (item < end);
    const Expr found = min(run, Expr(i32, runs - 1, loc));
    const Expr start = select(found > 0, Expr(ends.load(max(found - 1, zero)).front(), loc), zero);
    window.items.push_back(select(inside, values.load(found), other));
    window.places.push_back({select(inside, item - start, Expr(i32, -1, loc)).handle});
  }
  return window;
}

} // namespace coop
FLYDSL_NAMESPACE_END
