#include "builder/rocdl/mover_operands.h"

#include "builder/trace/facade.h"
#include "builder/trace/thread_dependence.h"
#include "builder/trace/types.h"
#include "layout/coord.h"

#include <limits>

namespace flydsl::builder {

Tracer &withMover(const char *function, Loc loc) {
  Tracer &tracer = Tracer::require(function, loc);
  tracer.kernel.targetWith(Feature::tensor_mover, function, loc);
  return tracer;
}

void expectWaves(const char *function, Tracer &tracer, int waves, bool isLoad, const Tensor &place,
                 const std::string &instead, Loc loc) {
  ThreadDependence dependence(tracer.kernel);
  const mlir::Value start = tracer.use(place.handle(), loc);
  const auto lanes = static_cast<unsigned>(tracer.kernel.target->wave_size());
  // A descriptor is in scalar registers, which would get what one lane has.
  if (dependence.of(start, lanes) == Agreement::different)
    throw TraceError(std::string(function) +
                         ": a move has one place for all lanes of a wave, and " +
                         (isLoad ? "that of the tile in shared memory" : "that in the tensor") +
                         " comes from the lane's number; fx::rocdl::wave_id() is the same for a "
                         "wave, and fx::rocdl::readfirstlane takes one lane's value",
                     loc);
  const std::optional<int> all = tracer.kernel.waves();
  if (!all || waves == *all || !tracer.arrivals.isForWholeBlock())
    return;
  if (waves == 1 && dependence.of(start, 0) == Agreement::different)
    return;
  const char *own = waves > 1 ? ""
                    : isLoad  ? ", or give each wave a tile of its own in shared memory, sliced by "
                                "fx::rocdl::wave_id()"
                              : ", or store a tile of its own from each wave, numbered by "
                                "fx::rocdl::wave_id()";
  throw TraceError(std::string(function) + ": the tile is for " + std::to_string(waves) +
                       " of the block's " + std::to_string(*all) +
                       " waves, but all waves get here; " + instead +
                       ", or call it inside fx::if_(fx::rocdl::wave_id() < " +
                       std::to_string(waves) + ", ...)" + own,
                   loc);
}

namespace fly = mlir::fly;
using detail::BinaryOp;
using detail::Handle;

MoverOperands::MoverOperands(const char *function, Tracer &tracer, const Tensor &tensor,
                             const Tensor &lds, Loc loc)
    : function_(function), loc_(loc),
      from_(layoutOf(tracer, tensor, "tensor", fly::AddressSpace::Global, "global")),
      to_(layoutOf(tracer, lds, "tile", fly::AddressSpace::Shared, "shared")),
      bits_(tensor.dtype(loc).bits()) {
  if (lds.dtype(loc).ir_name() != tensor.dtype(loc).ir_name())
    refuse("a move does not convert: the tensor has elements of " +
           std::string(tensor.dtype(loc).name()) + ", its tile of " +
           std::string(lds.dtype(loc).name()));
  if (bits_ != 8 && bits_ != 16 && bits_ != 32 && bits_ != 64)
    refuse("the mover moves elements of 8, 16, 32 or 64 bits, not of " +
           std::string(tensor.dtype(loc).name()) + "; .recast(fx::u8) makes a tensor of its bytes");
  if (!to_.isStatic())
    refuse("the tile in shared memory has a shape that is known while tracing, not " + lds.str());
  const layout::Layout row = at(from_, rank(from_) - 1);
  if (!row.stride().isLeaf(1))
    refuse("the tensor's last mode, " + row.str() +
           ", is not known to have the stride 1; mark_layout_dynamic(leading_dim) on the argument "
           "names the mode whose stride is 1");
}

void MoverOperands::refuse(const std::string &why) const {
  throw TraceError(std::string(function_) + ": " + why, loc_);
}

void MoverOperands::expectCache(int bits) const {
  if (bits < 0 || bits > 31)
    refuse(
        "the cache bits of a move are 0 to 31, th in bits 0 to 2 and scope in bits 3 and 4, not " +
        std::to_string(bits));
}

layout::Layout MoverOperands::layoutOf(Tracer &tracer, const Tensor &operand, const char *what,
                                       fly::AddressSpace space, const char *memory) const {
  auto type = mlir::dyn_cast<fly::MemRefType>(tracedType(&tracer, operand.handle(), loc_));
  if (!type || !type.isIn(space))
    refuse("the " + std::string(what) + " is in " + memory + " memory, not " + operand.str());
  const auto *plain = std::get_if<layout::Layout>(&type.getLayout());
  if (!plain || !type.getSwizzle().isTrivial())
    refuse("the mover knows no swizzle, and moves no " + operand.str());
  const layout::Layout known = plain->isLeaf() ? *plain : layout::flatten(*plain);
  if (!plain->isLeaf() && known.rank() != plain->rank())
    refuse("the mover takes tensors whose modes are numbers, not " + operand.str() +
           "; fx::make_view over its .iter() with a flat layout makes one");
  return known;
}

MoverGap MoverOperands::gap() const {
  MoverGap gap;
  std::int64_t passed = 1; ///< elements of the modes so far
  for (int i = tileRank() - 1; i >= 0; --i) {
    const std::int64_t count = extent(i), stride = at(to_, i).stride().leaf().value();
    if (count == 1)
      continue;
    if (!gap.interval && passed > 1 && stride > passed)
      gap = {passed, stride - passed};
    const std::int64_t expected =
        gap.interval ? passed / gap.interval * (gap.interval + gap.amount) : passed;
    if (stride != expected)
      refuse("the mover fills LDS mode by mode, the last one first, with one gap at most after "
             "every so many elements; of " +
             to_.str() + ", mode " + std::to_string(i) + " would have the stride " +
             std::to_string(expected));
    passed *= count;
  }
  if (gap.interval == passed) // nothing comes after it
    gap = {};
  return gap;
}

Handle MoverOperands::reach(const IntTuple &extent, Loc loc) {
  const auto number = [&](std::int64_t n) {
    return detail::constant(detail::hostNumber(n), i64, loc);
  };
  const Handle elements = detail::convert(detail::scalarOfTuple(extent.handle(), loc), i64, loc);
  return detail::convert(
      detail::binary(BinaryOp::max,
                     detail::binary(BinaryOp::min, elements,
                                    number(std::numeric_limits<std::int32_t>::max()), loc),
                     number(0), loc),
      i32, loc);
}

} // namespace flydsl::builder
