#include "builder/layout/whole_tiles.h"

#include "builder/trace/tracer.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/coord.h"

#include <algorithm>

namespace flydsl::builder {

namespace fly = mlir::fly;

/// The type of a tensor in shared memory or registers: what lies behind it is another's.
static fly::MemRefType boundedMemory(const Tracer *running, const detail::Handle &tensor, Loc loc) {
  if (!detail::isTraced(tensor))
    return {};
  auto type = mlir::dyn_cast<fly::MemRefType>(tracedType(running, tensor, loc));
  const bool bounded =
      type && (type.isIn(fly::AddressSpace::Shared) || type.isIn(fly::AddressSpace::Register));
  return bounded ? type : fly::MemRefType();
}

static void expectMultiple(const Tracer *running, const std::string &op,
                           const detail::Handle &tensor, const std::string &tile,
                           const std::string &mode, const layout::Int &extent,
                           const layout::Int &step, Loc loc) {
  if (extent.isStatic() && step.isStatic() && step.value() > 0 &&
      extent.value() % step.value() != 0)
    throw TraceError(op + " of " + describe(running, tensor) + " by tiles of " + tile + ": " +
                         mode + " has " + extent.str() + " elements, no whole number of " +
                         step.str() +
                         ", so the last tile reaches past it; make the tensor as large as the "
                         "tile, or the tile smaller",
                     loc);
}

void expectTilesFit(const Tracer *running, const std::string &op, const detail::Handle &tensor,
                    const layout::IntTuple &tile, Loc loc) {
  fly::MemRefType type = boundedMemory(running, tensor, loc);
  if (!type)
    return;
  const layout::IntTuple shape = layout::productEach(layout::shapeOf(type.getLayout()));
  const layout::IntTuple sizes = layout::productEach(tile);
  for (int i = 0; i < std::min(shape.rank(), sizes.rank()); ++i)
    expectMultiple(running, op, tensor, sizes.str(), "mode " + std::to_string(i),
                   shape.at(i).leaf(), sizes.at(i).leaf(), loc);
}

void expectDivides(const Tracer *running, const std::string &op, const detail::Handle &tensor,
                   const layout::Tile &tile, Loc loc) {
  fly::MemRefType type = boundedMemory(running, tensor, loc);
  if (!type)
    return;
  const layout::IntTuple &shape = layout::shapeOf(type.getLayout());
  if (tile.isInt()) { // of the tensor as a whole
    if (!tile.isWildcard())
      expectMultiple(running, op, tensor, tile.str(), "it", layout::product(shape), tile.asInt(),
                     loc);
    return;
  }
  if (tile.isLayout())
    return;
  for (int i = 0; i < std::min(shape.rank(), tile.rank()); ++i)
    if (tile.at(i).isInt() && !tile.at(i).isWildcard())
      expectMultiple(running, op, tensor, tile.str(), "mode " + std::to_string(i),
                     layout::product(shape.at(i)), tile.at(i).asInt(), loc);
}

} // namespace flydsl::builder
