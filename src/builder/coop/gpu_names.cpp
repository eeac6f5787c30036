// The collectives of one number by FlyDSL's older names, in flydsl::gpu.
#include <flydsl/coop/block_reduce.h>
#include <flydsl/coop/block_scan.h>
#include <flydsl/coop/warp.h>
#include <flydsl/kernel/reduce.h>

#include "builder/coop/block.h"

FLYDSL_NAMESPACE_BEGIN
namespace gpu {

using coop::impl::Operator;

static Operator operatorOf(Reduction op) { return {.reduction = op, .commutative = true}; }

Numeric warp_reduce(const Numeric &value, Reduction op, int width, Loc loc) {
  return Numeric(
      coop::impl::warpReduce({{value.handle()}}, operatorOf(op), width, nullptr, loc).front());
}

Numeric warp_inclusive_scan(const Numeric &value, Reduction op, int width, Loc loc) {
  return coop::warp_inclusive_scan(value, op, width, loc);
}
Numeric warp_exclusive_scan(const Numeric &value, Reduction op, int width, Loc loc) {
  return coop::warp_exclusive_scan(value, op, width, loc);
}

/// Runs a collective of the whole block in storage of its own, which is free again afterwards.
template <class Collective, class Call>
static Numeric inOwnStorage(const Numeric &value, SharedAllocator &shared, Loc loc, Call call) {
  const Collective collective(value.dtype(loc), coop::impl::blockThreads(loc), {}, loc);
  const coop::Storage storage(shared, collective.storage(), loc);
  const Numeric result = call(collective, storage);
  if (storage.bytes())
    barrier(loc);
  return result;
}

Numeric block_reduce(const Numeric &value, Reduction op, SharedAllocator &shared, Loc loc) {
  return inOwnStorage<coop::BlockReduce>(
      value, shared, loc, [&](const coop::BlockReduce &reduce, const coop::Storage &storage) {
        return reduce(value, op, storage, loc);
      });
}
Numeric block_inclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared, Loc loc) {
  return inOwnStorage<coop::BlockScan>(
      value, shared, loc, [&](const coop::BlockScan &scan, const coop::Storage &storage) {
        return scan.inclusive(value, op, storage, loc);
      });
}
Numeric block_exclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared, Loc loc) {
  return inOwnStorage<coop::BlockScan>(
      value, shared, loc, [&](const coop::BlockScan &scan, const coop::Storage &storage) {
        return scan.exclusive(value, op, storage, loc);
      });
}

} // namespace gpu
FLYDSL_NAMESPACE_END
