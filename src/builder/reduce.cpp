#include <flydsl/control_flow.h>
#include <flydsl/reduce.h>

#include "builder/tracer.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;

namespace gpu {

int num_warp_threads(Loc loc) {
  return Tracer::require("num_warp_threads", loc).waveSize("the size of a wave", loc);
}

std::array<int, 3> known_block_size(Loc loc) {
  Tracer &t = Tracer::require("known_block_size", loc);
  if (!t.block()[0])
    throw TraceError("kernel " + t.kernel() +
                         " is traced without a block size; compile it with one, or give the hint",
                     loc);
  std::array<int, 3> block;
  for (std::size_t i = 0; i < 3; ++i)
    block[i] = static_cast<int>(std::max(t.block()[i], 1u));
  return block;
}

static int groupWidth(int width, Loc loc) {
  const int wave = num_warp_threads(loc);
  if (width < 0 || width > wave || (width & (width - 1)))
    throw TraceError("a group of " + std::to_string(width) + " lanes in a wave of " +
                         std::to_string(wave) + ": a power of two up to the wave is needed",
                     loc);
  return width ? width : wave;
}

static Numeric shuffle(const char *mode, const Numeric &value, const IntTuple &offset, int width,
                       Loc loc) {
  Tracer &t = Tracer::require("a shuffle", loc);
  auto scalar = [&](const Handle &h, DType type) {
    return t.use(detail::hostAs<detail::HostNumber>(h) ? detail::expectScalar(h, type, loc) : h,
                 loc);
  };
  DType type = value.dtype();
  mlir::Value v = scalar(value.handle(), type);
  mlir::Value by =
      t.use(detail::convert(detail::scalarOfTuple(offset.handle(), loc), i32, loc), loc);
  mlir::Value lanes = t.constant(groupWidth(width, loc), i32, loc);
  mlir::Operation *op =
      t.create("gpu.shuffle", {v, by, lanes}, loc,
               {t.named("mode", t.attribute("#gpu<shuffle_mode " + std::string(mode) + ">"))},
               mlir::TypeRange({v.getType(), mlir::Type(t.builder().getI1Type())}));
  return Numeric(t.wrap(op->getResult(0), type, loc));
}

Numeric shuffle_xor(const Numeric &value, const IntTuple &offset, int width, Loc loc) {
  return shuffle("xor", value, offset, width, loc);
}
Numeric shuffle_up(const Numeric &value, const IntTuple &offset, int width, Loc loc) {
  return shuffle("up", value, offset, width, loc);
}
Numeric shuffle_down(const Numeric &value, const IntTuple &offset, int width, Loc loc) {
  return shuffle("down", value, offset, width, loc);
}
Numeric shuffle_idx(const Numeric &value, const IntTuple &lane, int width, Loc loc) {
  return shuffle("idx", value, lane, width, loc);
}

static Handle combine(Reduction op, const Handle &a, const Handle &b, Loc loc) {
  static constexpr detail::BinaryOp ops[] = {detail::BinaryOp::add, detail::BinaryOp::mul,
                                             detail::BinaryOp::min, detail::BinaryOp::max};
  return detail::binary(ops[static_cast<int>(op)], a, b, loc);
}

Numeric warp_reduce(const Numeric &value, Reduction op, int width, Loc loc) {
  const int lanes = groupWidth(width, loc);
  Handle sum = value.handle();
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum = combine(op, sum, shuffle_xor(Numeric(sum), distance, lanes, loc).handle(), loc);
  return Numeric(sum);
}

Numeric warp_inclusive_scan(const Numeric &value, Reduction op, int width, Loc loc) {
  const int lanes = groupWidth(width, loc);
  auto constant = [&](int n) { return detail::constant(detail::hostNumber(n), i32, loc); };
  Handle lane =
      detail::binary(detail::BinaryOp::bitAnd, lane_id(loc).handle(), constant(lanes - 1), loc);
  Handle sum = value.handle();
  for (int distance = 1; distance < lanes; distance *= 2) {
    Handle below = shuffle_up(Numeric(sum), distance, lanes, loc).handle();
    Handle inside = detail::binary(detail::BinaryOp::ge, lane, constant(distance), loc);
    sum = detail::select(inside, combine(op, sum, below, loc), sum, loc);
  }
  return Numeric(sum);
}

/// x + X * (y + Y * z): a thread's number in its block.
static Numeric threadNumber(const std::array<int, 3> &block, Loc loc) {
  Index3 at = thread_idx(loc);
  auto times = [&](const Handle &a, int n) {
    return detail::binary(detail::BinaryOp::mul, a,
                          detail::constant(detail::hostNumber(n), i32, loc), loc);
  };
  Handle number = at.x.handle();
  if (block[1] > 1 || block[2] > 1) {
    Handle row = at.y.handle();
    if (block[2] > 1)
      row = detail::binary(detail::BinaryOp::add, row, times(at.z.handle(), block[1]), loc);
    number = detail::binary(detail::BinaryOp::add, number, times(row, block[0]), loc);
  }
  return Numeric(number);
}

Numeric block_reduce(const Numeric &value, Reduction op, SharedAllocator &shared, Loc loc) {
  const std::array<int, 3> block = known_block_size(loc);
  const int threads = block[0] * block[1] * block[2], wave = num_warp_threads(loc);
  if (threads % wave)
    throw TraceError("block_reduce: a block of " + std::to_string(threads) +
                         " threads is no whole number of waves of " + std::to_string(wave),
                     loc);
  Numeric partial = warp_reduce(value, op, 0, loc);
  const int waves = threads / wave;
  if (waves == 1)
    return partial;
  const DType type = value.dtype();
  Tensor sums =
      make_view(shared.allocate(detail::bytesOf(type, waves), std::max(type.bytes(), 4), loc)
                    .recast(type, loc),
                make_layout(waves, 1, loc), loc);
  auto part = [&](detail::BinaryOp o) {
    return detail::binary(o, threadNumber(block, loc).handle(),
                          detail::constant(detail::hostNumber(wave), i32, loc), loc);
  };
  Boolean first(detail::binary(detail::BinaryOp::eq, part(detail::BinaryOp::rem),
                               detail::constant(detail::hostNumber(0), i32, loc), loc));
  Numeric waveNumber(part(detail::BinaryOp::div));
  if_(first, [&] { sums.point(IntTuple(waveNumber, loc), loc) = Numeric::Arg(partial, loc); }, loc);
  barrier(loc);
  Handle all = sums.point(0, loc).handle();
  for (int w = 1; w < waves; ++w)
    all = combine(op, all, sums.point(w, loc).handle(), loc);
  barrier(loc); // before the memory is written again
  return Numeric(all);
}

} // namespace gpu
FLYDSL_NAMESPACE_END
