#include "builder/layout/whole_tiles.h"

#include "builder/trace/tracer.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/algebra.h"

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

/// A tiler that is a layout, and its repetitions, reach no element behind the extent.
static void expectCovered(const Tracer *running, const std::string &op,
                          const detail::Handle &tensor, const std::string &tile,
                          const std::string &mode, const layout::Int &extent,
                          const layout::Layout &tiler, Loc loc) {
  if (!extent.isStatic() || !tiler.isStatic())
    return;
  const layout::Layout repeated = layout::concat({tiler, layout::complement(tiler, extent)});
  const layout::Int reach = layout::cosize(repeated);
  if (reach.isStatic() && reach.value() > extent.value())
    throw TraceError(op + " of " + describe(running, tensor) + " by tiles of " + tile + ": " +
                         mode + " has " + extent.str() + " elements, and the last tile of " +
                         tiler.str() + " reaches element " + std::to_string(reach.value() - 1) +
                         "; make the tensor as large as whole tiles are",
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
    return expectCovered(running, op, tensor, tile.str(), "it", layout::product(shape),
                         tile.asLayout(), loc);
  for (int i = 0; i < std::min(shape.rank(), tile.rank()); ++i) {
    const layout::Tile &part = tile.at(i);
    const std::string mode = "mode " + std::to_string(i);
    const layout::Int extent = layout::product(shape.at(i));
    if (part.isLayout())
      expectCovered(running, op, tensor, tile.str(), mode, extent, part.asLayout(), loc);
    else if (part.isInt() && !part.isWildcard())
      expectMultiple(running, op, tensor, tile.str(), mode, extent, part.asInt(), loc);
  }
}

} // namespace flydsl::builder
