// Atoms of gfx1250's tensor data mover that are made of a tensor, a tile and its layout in LDS, and the boxes
// of a wave.
#include <flydsl/rocdl/tensor_mover.h>

#include "builder/atoms/specs.h"
#include "builder/atoms/tiling.h"
#include "builder/rocdl/mover_operands.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "dialect/FlyROCDL/IR/TensorMovePlan.h"
#include "layout/algebra.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

using builder::Tracer;
using detail::Handle;
namespace fly = mlir::fly;
namespace fly_rocdl = mlir::fly_rocdl;

namespace {

template <class Op>
TiledTdm makeTiled(const Tensor &tensor, const Layout &lds, const Tile &tile, int cache,
                   const TiledTdmOptions &options, Loc loc) {
  constexpr const char *kName = "make_tiled_tdm_atom";
  Tracer &t = Tracer::require(kName, loc);
  t.kernel.targetWith(Feature::tensor_mover, kName, loc);
  if (options.workgroups)
    t.kernel.targetWith(Feature::clusters, kName, loc);
  mlir::Builder attributes(t.context());
  typename Op::Properties properties;
  properties.numWarps = attributes.getI32IntegerAttr(options.num_warps);
  properties.initBoundaryCheck = attributes.getBoolAttr(options.init_boundary_check);
  properties.cacheModifier = attributes.getI32IntegerAttr(cache);
  properties.atomicBarrier = attributes.getBoolAttr(false);
  mlir::Value from = t.use(tensor.handle(), loc), to = t.use(lds.handle(), loc);
  auto made = t.emit<Op>(loc, {from, to, t.use(tile.handle(), loc)}, properties);
  Handle atom = t.wrap(made.getAtom(), tensor.dtype(loc), loc);
  if (options.workgroups)
    atom = detail::atomSet(atom, "workgroup_mask", options.workgroups->handle(), loc);
  return {CopyAtom(atom), Tensor(t.wrap(made.getCoordTensor(), DType(), loc))};
}

/// What one instruction of an atom moves.
struct Box {
  std::int64_t elements = 1;
  bool isLoad = false;
};
Box boxOf(const CopyAtom &atom, Loc loc) {
  const mlir::Type type = builder::atomType(detail::running(), atom.handle(), loc);
  llvm::ArrayRef<std::int32_t> shape;
  Box box;
  if (auto copy = mlir::dyn_cast<fly::CopyAtomType>(type)) {
    if (auto load = mlir::dyn_cast<fly_rocdl::CopyOpCDNA5TensorLoadType>(copy.getCopyOp())) {
      shape = load.getShape();
      box.isLoad = true;
    }
    if (auto store = mlir::dyn_cast<fly_rocdl::CopyOpCDNA5TensorStoreType>(copy.getCopyOp()))
      shape = store.getShape();
  }
  if (shape.empty())
    throw TraceError("tdm_partition: the atom is one of make_tiled_tdm_atom, not " + atom.str(),
                     loc);
  for (std::int32_t extent : shape)
    box.elements *= extent;
  return box;
}

/// The waves of a layout that numbers them.
int wavesOf(const Layout &layout, Loc loc) {
  const detail::HostValue view = detail::hostView(layout.handle(), loc);
  const auto *plain = std::get_if<layout::Layout>(&view);
  if (!plain || !plain->isStatic())
    throw TraceError("tdm_partition: the layout of the waves is known while tracing, unlike " +
                         layout.str(),
                     loc);
  builder::expectCounting("the waves of a tile", *plain, loc);
  return static_cast<int>(layout::size(*plain).value());
}

/// The boxes of one wave of a tile.
class Partition {
public:
  Partition(const CopyAtom &atom, const IntTuple &wave, const Layout &waves, Loc loc)
      : box_(boxOf(atom, loc)), waves_(wavesOf(waves, loc)), wave_(crd2idx(wave, waves, loc)),
        loc_(loc), tracer_(Tracer::require("tdm_partition", loc)) {
    if (const std::optional<int> all = tracer_.kernel.waves(); all && waves_ > *all)
      refuse("the tile is for " + std::to_string(waves_) + " waves, and the block has " +
             std::to_string(*all));
  }

  TdmPartition of(const Tensor &shared, const Tensor &global) const {
    const layout::Layout to = layoutOf(shared, false), from = layoutOf(global, true);
    builder::expectWaves("tdm_partition", tracer_, waves_, box_.isLoad,
                         box_.isLoad ? shared : global, "make it for all of them", loc_);
    // A tensor is the tile whole if its modes are those of the tile.
    const std::int64_t elements = sizeOf(modeZero(to));
    const bool isWhole =
        sizeOf(modeZero(from)) != elements || elements % (box_.elements * waves_) != 0;
    if (isWhole && sizeOf(to) != sizeOf(from))
      refuse("mode 0 of the tensors is one tile; that of " + shared.str() + " and that of " +
             global.str() + " differ in elements");
    const layout::Layout tile = isWhole ? to : modeZero(to);
    const layout::Layout boxes = builder::layoutErrorsAt(
        loc_, [&] { return fly_rocdl::boxesOfWaves(tile, box_.elements, waves_); });
    return {part(shared, boxes, isWhole), part(global, boxes, isWhole)};
  }

private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw TraceError("tdm_partition: " + why, loc_);
  }
  std::int64_t sizeOf(const layout::Layout &mode) const {
    const layout::Int size = layout::size(mode);
    if (!size.isStatic())
      refuse("a tile has a shape that is known while tracing, not " + mode.str() +
             "; fx::zipped_divide takes tiles from a tensor");
    return size.value();
  }
  static layout::Layout modeZero(const layout::Layout &layout) {
    return layout.isLeaf() ? layout : layout.at(0);
  }

  layout::Layout layoutOf(const Tensor &tensor, bool isGlobal) const {
    const mlir::Type type = builder::tracedType(detail::running(), tensor.handle(), loc_);
    const std::optional<layout::AnyLayout> any = fly::getLayoutOf(type);
    const auto memory = mlir::dyn_cast<fly::MemRefType>(type);
    const bool fits = isGlobal ? mlir::isa<fly::CoordTensorType>(type)
                               : memory && memory.isIn(fly::AddressSpace::Shared);
    if (!fits)
      refuse(isGlobal
                 ? "the tensor's side is its coordinates, as make_tiled_tdm_atom gives them, not " +
                       tensor.str()
                 : "the tile is in shared memory, not " + tensor.str());
    const auto *plain = any ? std::get_if<layout::Layout>(&*any) : nullptr;
    if (!plain)
      refuse("the mover knows no swizzle, and moves no " + tensor.str());
    return *plain;
  }

  /// (box, boxes of the wave, rest...).
  Tensor part(const Tensor &tensor, const layout::Layout &boxes, bool isWhole) const {
    const int rest = isWhole ? 0 : tensor.rank(loc_) - 1;
    std::vector<layout::Tile> modes{layout::Tile(boxes)};
    std::vector<IntTuple> coordinate{
        IntTuple(detail::tupleOf(std::vector<IntTuple>{IntTuple(_), wave_, IntTuple(_)}, loc_))};
    for (int i = 0; i < rest; ++i) {
      modes.push_back(layout::Tile(layout::Int::wildcard()));
      coordinate.emplace_back(_);
    }
    const Tile tiler(detail::hostHandle(rest ? layout::Tile::list(modes) : modes[0]));
    const Tensor tiled = composition(tensor, Tiler(tiler), loc_);
    return slice(tiled, rest ? IntTuple(detail::tupleOf(coordinate, loc_)) : coordinate[0], loc_);
  }

  Box box_;
  int waves_;
  IntTuple wave_;
  Loc loc_;
  Tracer &tracer_;
};

} // namespace

TiledTdm make_tiled_tdm_atom(const TensorLoad &op, const Tensor &tensor, const Layout &smem_layout,
                             const Tile &tdm_tile, const TiledTdmOptions &options, Loc loc) {
  return makeTiled<fly_rocdl::MakeTiledTdmLoadAtomOp>(tensor, smem_layout, tdm_tile,
                                                      op.cache_modifier, options, loc);
}
TiledTdm make_tiled_tdm_atom(const TensorStore &op, const Tensor &tensor, const Layout &smem_layout,
                             const Tile &tdm_tile, const TiledTdmOptions &options, Loc loc) {
  if (options.workgroups)
    throw TraceError("make_tiled_tdm_atom: a store is for no other workgroups; leave out "
                     ".workgroups",
                     loc);
  return makeTiled<fly_rocdl::MakeTiledTdmStoreAtomOp>(tensor, smem_layout, tdm_tile,
                                                       op.cache_modifier, options, loc);
}

TdmPartition tdm_partition(const CopyAtom &atom, const IntTuple &warp_coord,
                           const Layout &warp_layout, const Tensor &stensor, const Tensor &gtensor,
                           Loc loc) {
  return Partition(atom, warp_coord, warp_layout, loc).of(stensor, gtensor);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
