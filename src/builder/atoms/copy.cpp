// Tiled copies and the copy itself.
#include <flydsl/kernel/copy.h>

#include "builder/atoms/atom_operands.h"
#include "builder/atoms/specs.h"
#include "builder/atoms/tiling.h"
#include "builder/layout/whole_tiles.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "dialect/Fly/IR/ElementTypes.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/IR/TiledLayouts.h"
#include "dialect/Fly/Transforms/AtomCalls.h"
#include "layout/coord.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
using detail::hostHandle;
namespace fly = mlir::fly;

static fly::TiledCopyType tiledCopy(const TiledCopy &copy, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::TiledCopyType>(
          builder::atomType(detail::running(), copy.handle(), loc)))
    return type;
  throw TraceError("expected a tiled copy, got " + copy.str(), loc);
}

Tile TiledCopy::tile_mn(Loc loc) const {
  return Tile(hostHandle(tiledCopy(*this, loc).getTileMN().getValue()));
}
Layout TiledCopy::layout_tv_tiled(Loc loc) const {
  return Layout(hostHandle(tiledCopy(*this, loc).getLayoutThrVal().getValue()));
}

Layout TiledCopy::layout_src_tv_tiled(Loc loc) const {
  return Layout(builder::layoutErrorsAt(loc, [&] {
    return hostHandle(layout::tiledLayoutSrc(fly::toTiledCopy(tiledCopy(*this, loc))));
  }));
}
Layout TiledCopy::layout_dst_tv_tiled(Loc loc) const {
  return Layout(builder::layoutErrorsAt(loc, [&] {
    return hostHandle(layout::tiledLayoutDst(fly::toTiledCopy(tiledCopy(*this, loc))));
  }));
}

std::int64_t TiledCopy::threads(Loc loc) const {
  return layout::size(tiledCopy(*this, loc).getLayoutThrVal().getValue().at(0)).value();
}

ThrCopy TiledCopy::get_slice(const IntTuple &thread, Loc loc) const {
  builder::expectThread(detail::running(), "a tiled copy", thread.handle(), threads(loc), loc);
  return {*this, thread};
}
ThrCopy TiledCopy::thr_slice(const IntTuple &thread, Loc loc) const {
  return get_slice(thread, loc);
}

/// Whether an instruction brings data into shared memory past the registers.
static bool bypassesRegisters(fly::CopyOpTypeInterface instruction) {
  auto isMemory = [](mlir::Attribute space) {
    auto own = mlir::dyn_cast<fly::AddressSpaceAttr>(space);
    return !own || own.getValue() != fly::AddressSpace::Register;
  };
  auto isShared = [](mlir::Attribute space) {
    auto own = mlir::dyn_cast<fly::AddressSpaceAttr>(space);
    return own && own.getValue() == fly::AddressSpace::Shared;
  };
  const auto routes = instruction.getRoutes();
  return !routes.empty() && !instruction.isWholeTileCopy() &&
         llvm::all_of(routes, [&](const fly::CopyRoute &route) {
           return llvm::all_of(route.from, isMemory) && llvm::all_of(route.to, isShared);
         });
}

/// Loads that bypass the registers write a wave's data one lane after another, wherever each lane's
/// place is. A destination with the lanes in another order would be filled wrongly.
static void expectLanesInOrder(const Tracer &t, fly::TiledCopyType copy, const Tensor &tensor,
                               Loc loc) {
  const auto atom = copy.getCopyAtom();
  auto memory = mlir::dyn_cast<fly::MemRefType>(builder::tracedType(&t, tensor.handle(), loc));
  if (!t.kernel.target || !memory || !memory.isIn(fly::AddressSpace::Shared) ||
      !bypassesRegisters(mlir::cast<fly::CopyOpTypeInterface>(atom.getCopyOp())))
    return;
  builder::layoutErrorsAt(loc, [&] {
    const layout::AnyLayout whole = memory.getLayout();
    const layout::TiledCopy tiled = fly::toTiledCopy(copy);
    const layout::AnyLayout places =
        layout::withOutermost(whole, layout::thrValViewDst(tiled, layout::outermost(whole)));
    const std::int64_t elements = fly::elementsPerCall(atom, memory.getElemTy()),
                       threads = layout::size(copy.getLayoutThrVal().getValue().at(0)).value(),
                       lanes = std::min<std::int64_t>(threads, t.kernel.target->wave_size());
    auto placeOf = [&](std::int64_t lane) {
      return layout::crd2idx(layout::tup(lane, 0, 0), places).leaf();
    };
    const layout::Int first = placeOf(0);
    for (std::int64_t lane = 1; lane < lanes; ++lane) {
      const layout::Int place = placeOf(lane);
      if (!first.isStatic() || !place.isStatic())
        return;
      if (place.value() - first.value() != lane * elements)
        throw TraceError(
            "partition_D of " + tensor.str() + ": " + fly::typeText(atom.getCopyOp()) +
                " writes lane after lane, " + std::to_string(elements) +
                " elements each, but lane " + std::to_string(lane) + "'s place is " +
                std::to_string(place.value() - first.value()) + " elements after lane 0's, not " +
                std::to_string(lane * elements) +
                "; order the threads of the tiled copy as the tensor lies, and swizzle the source "
                "instead of the destination",
            loc);
    }
  });
}

template <class Op>
static Tensor partition(const TiledCopy &copy, const Tensor &tensor, const IntTuple &thread,
                        Loc loc) {
  Tracer &t = Tracer::requireFor<Op>(loc);
  builder::expectTilesFit(&t, builder::userName(Op::getOperationName()), tensor.handle(),
                          layout::sizesOf(tiledCopy(copy, loc).getTileMN().getValue()), loc);
  if constexpr (std::is_same_v<Op, fly::TiledCopyPartitionDstOp>)
    expectLanesInOrder(t, tiledCopy(copy, loc), tensor, loc);
  mlir::Value tiled = t.use(copy.handle(), loc), whole = t.use(tensor.handle(), loc);
  mlir::Value v = t.emit<Op>(loc, {tiled, whole, t.use(thread.handle(), loc)});
  return Tensor(t.wrap(v, tensor.handle().node()->dtype, loc));
}

Tensor ThrCopy::partition_S(const Tensor &source, Loc loc) const {
  return partition<fly::TiledCopyPartitionSrcOp>(*this, source, thread_, loc);
}
Tensor ThrCopy::partition_D(const Tensor &destination, Loc loc) const {
  return partition<fly::TiledCopyPartitionDstOp>(*this, destination, thread_, loc);
}
Tensor ThrCopy::retile(const Tensor &fragment, Loc loc) const {
  Tracer &t = Tracer::require("retile", loc);
  mlir::Value tiled = t.use(handle(), loc);
  mlir::Value v = t.emit<fly::TiledCopyRetileOp>(loc, {tiled, t.use(fragment.handle(), loc)});
  return Tensor(t.wrap(v, fragment.handle().node()->dtype, loc));
}

TiledCopy make_tiled_copy(const CopyAtom &atom, const Layout &layoutTv, const Tile &tileMn,
                          Loc loc) {
  builder::expectTiling(detail::running(), atom, layoutTv, tileMn, loc);
  auto *spec = builder::specOf<detail::CopyAtomSpec>(atom.handle());
  const detail::HostValue threads = detail::hostView(layoutTv.handle(), loc),
                          tile = detail::hostView(tileMn.handle(), loc);
  auto *threadsAndValues = std::get_if<layout::Layout>(&threads);
  auto *sizes = std::get_if<layout::Tile>(&tile);
  if (spec && threadsAndValues && sizes)
    return TiledCopy(builder::staticOf(detail::running(),
                                       detail::TiledCopySpec{*spec, *threadsAndValues, *sizes}, loc,
                                       atom.handle().node()->dtype));
  Tracer &t = Tracer::require("make_tiled_copy", loc);
  mlir::Value one = t.use(atom.handle(), loc), layout = t.use(layoutTv.handle(), loc);
  mlir::Value v = t.emit<fly::MakeTiledCopyOp>(loc, {one, layout, t.use(tileMn.handle(), loc)});
  return TiledCopy(t.wrap(v, atom.handle().node()->dtype, loc));
}

static layout::Layout staticLayout(const Layout &layout, Loc loc) {
  detail::HostValue view = detail::hostView(layout.handle(), loc);
  if (auto *plain = std::get_if<layout::Layout>(&view))
    return *plain;
  throw TraceError("a tiled copy's threads and values are static layouts, not " + layout.str(),
                   loc);
}

TiledCopy make_tiled_copy_tv(const CopyAtom &atom, const Layout &threads, const Layout &values,
                             Loc loc) {
  const layout::Layout thr = staticLayout(threads, loc), val = staticLayout(values, loc);
  builder::expectCounting("the threads of a tiled copy", thr, loc);
  builder::expectCounting("the values of a tiled copy", val, loc);
  layout::LayoutTV made =
      builder::layoutErrorsAt(loc, [&] { return layout::makeLayoutTV(thr, val); });
  return make_tiled_copy(atom, Layout(hostHandle(made.layout)), Tile(hostHandle(made.tile)), loc);
}

/// The instruction of an atom, if a wave moves a whole tile by it, whatever lanes are on.
static fly::CopyOpTypeInterface tileMove(mlir::Type type) {
  auto atom = mlir::dyn_cast<fly::CopyAtomType>(type);
  auto instruction = atom ? mlir::dyn_cast<fly::CopyOpTypeInterface>(atom.getCopyOp())
                          : fly::CopyOpTypeInterface();
  return instruction && instruction.isWholeTileCopy() ? instruction : fly::CopyOpTypeInterface();
}

template <class Op>
static void emitCopy(const Value &atom, const Tensor &source, const Tensor &destination,
                     const CopyOptions &options, Loc loc) {
  Tracer &t = Tracer::requireFor<Op>(loc);
  if (options.other) {
    if (!options.pred)
      throw TraceError(
          "CopyOptions::other is what a predicate leaves out becomes; this copy has no "
          ".pred, and does all its calls",
          loc);
    if (destination.address_space(loc) != AddressSpace::register_)
      throw TraceError("CopyOptions::other fills registers; what a predicate leaves out of " +
                           destination.str() + " stays as it is, so write it before the copy",
                       loc);
    // An optional makes its value in the standard library, so the value does not know the line.
    Numeric::Arg other = *options.other;
    other.loc = loc;
    destination.fill(other);
  }
  Handle stated = atom.handle();
  options.each_operand([&](const char *name, const Numeric &number) {
    stated = detail::atomSet(stated, name, number.handle(), loc);
  });
  llvm::SmallVector<mlir::Value, 4> operands{t.use(stated, loc), t.use(source.handle(), loc),
                                             t.use(destination.handle(), loc)};
  const mlir::Type type = operands[0].getType();
  builder::expectOnTarget(&t, type, loc);
  const fly::CopyOpTypeInterface whole = tileMove(type);
  if (whole && t.kernel.target)
    t.arrivals.expectGroups("a tensor move", static_cast<unsigned>(t.kernel.target->wave_size()),
                            loc);
  if (whole && whole.takesCoordinates()) {
    // What fits is told by the coordinates, which the verifier and the expansion look at.
    if (options.pred)
      throw TraceError(
          "a move of a whole tile takes no predicate; the tensor's extents say what is "
          "not moved",
          loc);
    t.create<Op>(loc, mlir::TypeRange(), operands);
    return;
  }
  constexpr auto calls = std::is_same_v<Op, fly::CopyOp> ? builder::CopyCheck::Calls::all
                                                         : builder::CopyCheck::Calls::one;
  builder::CopyCheck{t,
                     calls,
                     type,
                     atom.handle().node()->dtype,
                     source,
                     destination,
                     options.pred ? &*options.pred : nullptr,
                     loc}
      .expectFits();
  if (options.pred)
    operands.push_back(t.use(options.pred->handle(), loc));
  t.create<Op>(loc, mlir::TypeRange(), operands);
}

void copy(const CopyAtom &atom, const Tensor &source, const Tensor &destination, Loc loc) {
  emitCopy<fly::CopyOp>(atom, source, destination, {}, loc);
}
void copy(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
          const CopyOptions &options, Loc loc) {
  emitCopy<fly::CopyOp>(atom, source, destination, options, loc);
}
void copy(const TiledCopy &atom, const Tensor &source, const Tensor &destination, Loc loc) {
  emitCopy<fly::CopyOp>(atom, source, destination, {}, loc);
}
void copy(const TiledCopy &atom, const Tensor &source, const Tensor &destination,
          const CopyOptions &options, Loc loc) {
  emitCopy<fly::CopyOp>(atom, source, destination, options, loc);
}
void copy_atom_call(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
                    Loc loc) {
  emitCopy<fly::CopyAtomCallOp>(atom, source, destination, {}, loc);
}
void copy_atom_call(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
                    const CopyOptions &options, Loc loc) {
  emitCopy<fly::CopyAtomCallOp>(atom, source, destination, options, loc);
}

FLYDSL_NAMESPACE_END
