// Tensors over memory whose address and strides are arguments.
#include <flydsl/kernel/strided_view.h>

#include "builder/trace/facade.h"
#include "builder/trace/node.h"

#include <algorithm>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

/// A run-time stride that is promised to be a multiple of `divisor`.
IntTuple strideLeaf(const Int64 &stride, std::int64_t divisor) {
  return IntTuple(
      tupleHandle(layout::IntTuple(layout::Int::dynamic(64, divisor)), {{stride.handle(), -1}}));
}

/// The modes of a flat shape. A number is one mode.
std::vector<IntTuple> modesOf(const IntTuple &shape, std::size_t strides, Loc loc) {
  const auto rank = static_cast<std::size_t>(shape.rank(loc));
  const std::string what = "view of the shape " + describe(shape.handle());
  if (shape.depth(loc) > 1)
    throw TraceError(what +
                         ": it has nested modes, and a Strided has one stride for each; make the "
                         "view of a flat shape, and divide it",
                     loc);
  if (rank < strides)
    throw TraceError(what + ": it has fewer modes than the Strided has strides, " +
                         std::to_string(strides),
                     loc);
  if (shape.is_leaf(loc))
    return {shape};
  std::vector<IntTuple> modes;
  for (std::size_t mode = 0; mode < rank; ++mode)
    modes.push_back(shape.at(static_cast<int>(mode), loc));
  return modes;
}

/// The product of packed extents. Run-time ones are widened: memory may have more elements than 32
/// bits count.
IntTuple times(const IntTuple &product, const IntTuple &extent, Loc loc) {
  const IntTuple wide =
      extent.is_static(loc)
          ? extent
          : IntTuple(Numeric(scalarOfTuple(extent.handle(), loc)).to(i64, loc), loc);
  return IntTuple(tupleBinary(TupleOp::mul, product.handle(), wide.handle(), loc));
}

} // namespace

Tensor stridedView(const Int64 &address, std::span<const Int64> strides, DType type,
                   const IntTuple &shape, int alignment, Loc loc) {
  const Pointer start = Pointer::from_address(address, type, AddressSpace::global, alignment, loc);
  const std::vector<IntTuple> modes = modesOf(shape, strides.size(), loc);
  const std::int64_t divisor = std::max(alignment / (type.memory_bits() / 8), 1);
  std::vector<IntTuple> packed; // from the last mode on
  for (std::size_t mode = modes.size(); mode-- > strides.size();)
    packed.push_back(packed.empty() ? IntTuple(1) : times(packed.back(), modes[mode + 1], loc));
  std::vector<IntTuple> steps;
  for (const Int64 &stride : strides)
    steps.push_back(strideLeaf(stride, divisor));
  for (auto step = packed.rbegin(); step != packed.rend(); ++step)
    steps.push_back(*step);
  const IntTuple stride = shape.is_leaf(loc) ? steps.front() : IntTuple(tupleOf(steps, loc));
  return make_view(start, make_layout(shape, stride, loc), loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
