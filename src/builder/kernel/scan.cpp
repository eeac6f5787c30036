// Prefix sums of a wave and of a block.
#include <flydsl/control_flow.h>
#include <flydsl/reduce.h>

#include "builder/kernel/lanes.h"
#include "builder/trace/node.h"

FLYDSL_NAMESPACE_BEGIN

using detail::BinaryOp;
using detail::Handle;

namespace gpu {

Numeric warp_inclusive_scan(const Numeric &value, Reduction op, int width, Loc loc) {
  const int lanes = impl::groupWidth(width, loc);
  Handle lane =
      detail::binary(BinaryOp::bitAnd, lane_id(loc).handle(), impl::number(lanes - 1, loc), loc);
  Handle sum = value.handle();
  for (int distance = 1; distance < lanes; distance *= 2) {
    Handle below = shuffle_up(Numeric(sum), distance, lanes, loc).handle();
    Handle inside = detail::binary(BinaryOp::ge, lane, impl::number(distance, loc), loc);
    sum = detail::select(inside, impl::combine(op, sum, below, loc), sum, loc);
  }
  return Numeric(sum);
}

Numeric warp_exclusive_scan(const Numeric &value, Reduction op, int width, Loc loc) {
  const int lanes = impl::groupWidth(width, loc);
  Numeric through = warp_inclusive_scan(value, op, width, loc);
  Handle lane =
      detail::binary(BinaryOp::bitAnd, lane_id(loc).handle(), impl::number(lanes - 1, loc), loc);
  Handle isFirst = detail::binary(BinaryOp::eq, lane, impl::number(0, loc), loc);
  return Numeric(detail::select(isFirst, impl::neutral(op, value.dtype(loc), loc),
                                shuffle_up(through, 1, lanes, loc).handle(), loc));
}

/// What the waves before a thread's combine to; `total` is its own wave's.
static Handle wavesBefore(const Numeric &total, int waves, Reduction op, SharedAllocator &shared,
                          Loc loc) {
  const DType type = total.dtype(loc);
  Tensor sums = impl::perWave(type, waves, shared, loc);
  Numeric wave(impl::waveOfThread(loc));
  Boolean last(detail::binary(BinaryOp::eq, impl::laneOfThread(loc),
                              impl::number(num_warp_threads(loc) - 1, loc), loc));
  if_(last, [&] { sums.point(IntTuple(wave, loc), loc) = Numeric::Arg(total, loc); }, loc);
  barrier(loc);
  Handle before = impl::neutral(op, type, loc);
  for (int w = 0; w < waves - 1; ++w) {
    Handle isBefore = detail::binary(BinaryOp::gt, wave.handle(), impl::number(w, loc), loc);
    Handle with = impl::combine(op, before, sums.point(w, loc).handle(), loc);
    before = detail::select(isBefore, with, before, loc);
  }
  barrier(loc); // before the memory is written again
  return before;
}

Numeric block_inclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared, Loc loc) {
  const int waves = impl::wholeWaves("block_inclusive_scan", loc);
  Numeric inWave = warp_inclusive_scan(value, op, 0, loc);
  if (waves == 1)
    return inWave;
  Handle before = wavesBefore(inWave, waves, op, shared, loc);
  return Numeric(impl::combine(op, before, inWave.handle(), loc));
}

Numeric block_exclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared, Loc loc) {
  const int waves = impl::wholeWaves("block_exclusive_scan", loc);
  Numeric inWave = warp_exclusive_scan(value, op, 0, loc);
  if (waves == 1)
    return inWave;
  Numeric total(impl::combine(op, inWave.handle(), value.handle(), loc));
  Handle before = wavesBefore(total, waves, op, shared, loc);
  return Numeric(impl::combine(op, before, inWave.handle(), loc));
}

} // namespace gpu
FLYDSL_NAMESPACE_END
