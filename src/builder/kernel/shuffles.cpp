// Values of other lanes, and what all collectives ask of their lanes and operators.
#include <flydsl/kernel/reduce.h>

#include "builder/kernel/lanes.h"
#include "builder/trace/tracer.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;

namespace gpu {

int num_warp_threads(Loc loc) {
  return Tracer::require("num_warp_threads", loc)
      .kernel.targetFor("the size of a wave", loc)
      .wave_size();
}

std::array<int, 3> known_block_size(Loc loc) {
  Tracer &t = Tracer::require("known_block_size", loc);
  if (!t.kernel.knowsBlock())
    throw TraceError("kernel " + t.kernel.name +
                         " is traced without a block size; compile it with one, or give the hint",
                     loc);
  std::array<int, 3> block;
  for (unsigned i = 0; i < 3; ++i)
    block[i] = static_cast<int>(t.kernel.blockSize(i));
  return block;
}

int impl::groupWidth(int width, Loc loc) {
  const int wave = num_warp_threads(loc);
  if (width < 0 || width > wave || (width & (width - 1)))
    throw TraceError("a group of " + std::to_string(width) + " lanes in a wave of " +
                         std::to_string(wave) + ": a power of two up to the wave is needed",
                     loc);
  return width ? width : wave;
}

static Numeric shuffle(mlir::gpu::ShuffleMode mode, const Numeric &value, const IntTuple &offset,
                       int width, Loc loc) {
  Tracer &t = Tracer::require("a shuffle", loc);
  auto scalar = [&](const Handle &h, DType type) {
    return t.use(detail::hostAs<detail::HostNumber>(h) ? detail::expectScalar(h, type, loc) : h,
                 loc);
  };
  DType type = value.dtype(loc);
  mlir::Value v = scalar(value.handle(), type);
  mlir::Value by =
      t.use(detail::convert(detail::scalarOfTuple(offset.handle(), loc), i32, loc), loc);
  mlir::Value lanes = t.ir.constant(impl::groupWidth(width, loc), i32, loc);
  auto op =
      t.create<mlir::gpu::ShuffleOp>(loc, v.getType(), t.builder().getI1Type(), v, by, lanes, mode);
  return Numeric(t.wrap(op.getShuffleResult(), type, loc));
}

Numeric shuffle_xor(const Numeric &value, const IntTuple &offset, int width, Loc loc) {
  return shuffle(mlir::gpu::ShuffleMode::XOR, value, offset, width, loc);
}
Numeric shuffle_up(const Numeric &value, const IntTuple &offset, int width, Loc loc) {
  return shuffle(mlir::gpu::ShuffleMode::UP, value, offset, width, loc);
}
Numeric shuffle_down(const Numeric &value, const IntTuple &offset, int width, Loc loc) {
  return shuffle(mlir::gpu::ShuffleMode::DOWN, value, offset, width, loc);
}
Numeric shuffle_idx(const Numeric &value, const IntTuple &lane, int width, Loc loc) {
  return shuffle(mlir::gpu::ShuffleMode::IDX, value, lane, width, loc);
}

Handle impl::combine(Reduction op, const Handle &a, const Handle &b, Loc loc) {
  auto operatorOf = [](Reduction reduction) {
    switch (reduction) {
    case Reduction::add:
      return detail::BinaryOp::add;
    case Reduction::mul:
      return detail::BinaryOp::mul;
    case Reduction::min:
      return detail::BinaryOp::min;
    case Reduction::max:
      return detail::BinaryOp::max;
    }
    llvm_unreachable("a reduction");
  };
  return detail::binary(operatorOf(op), a, b, loc);
}

Handle impl::neutral(Reduction op, DType type, Loc loc) {
  auto value = [&](auto n) { return detail::constant(detail::hostNumber(n), type, loc); };
  switch (op) {
  case Reduction::add:
    return value(0);
  case Reduction::mul:
    return value(1);
  case Reduction::min:
  case Reduction::max:
    break;
  }
  const bool least = op == Reduction::max;
  if (type.is_float())
    return value(least ? -std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::infinity());
  const int bits = type.bits() - (type.is_signed() ? 1 : 0);
  const std::uint64_t most = ~std::uint64_t(0) >> (64 - bits);
  if (!least)
    return value(most);
  return type.is_signed() ? value(-static_cast<std::int64_t>(most) - 1) : value(0);
}

void impl::expectFullGroups(const char *what, int lanes, Loc loc) {
  Tracer &t = Tracer::require(what, loc);
  t.arrivals.expectGroups(what, static_cast<unsigned>(lanes), loc);
  const std::array<unsigned, 3> &block = t.kernel.block;
  const unsigned threads = block[0] * std::max(block[1], 1u) * std::max(block[2], 1u);
  if (threads % static_cast<unsigned>(lanes))
    throw TraceError(std::string(what) + ": a block of " + std::to_string(threads) +
                         " threads is no whole number of groups of " + std::to_string(lanes) +
                         " lanes, and the last group would read lanes that no thread runs; give a "
                         "width that divides the block",
                     loc);
}

Handle impl::threadNumber(const std::array<int, 3> &block, Loc loc) {
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
  return number;
}

} // namespace gpu
FLYDSL_NAMESPACE_END
