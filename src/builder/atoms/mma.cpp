// Tiled multiplications, their fragments and the gemm.
#include <flydsl/mma.h>

#include "builder/atoms/atom_operands.h"
#include "builder/trace/guard.h"
#include "builder/atoms/static_types.h"
#include "builder/layout/tiling.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "dialect/Fly/IR/TiledLayouts.h"
#include "layout/coord.h"
#include "layout/make.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
using detail::hostHandle;
namespace fly = mlir::fly;

static fly::TiledMmaType tiledMma(const TiledMma &mma, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::TiledMmaType>(builder::atomType(mma.handle(), loc)))
    return type;
  throw TraceError("expected a tiled mma, got " + mma.str(), loc);
}

template <class Fn> static Handle queried(const TiledMma &mma, Loc loc, Fn fn) {
  return builder::guarded(loc, [&] { return hostHandle(fn(fly::toTiledMma(tiledMma(mma, loc)))); });
}

MmaAtom TiledMma::mma_atom(Loc loc) const {
  return MmaAtom(builder::staticOf(tiledMma(*this, loc).getMmaAtom(), loc));
}
Layout TiledMma::atom_layout(Loc loc) const {
  return Layout(queried(*this, loc, [](const auto &m) { return m.atomLayoutMNK; }));
}
Tile TiledMma::permutation_mnk(Loc loc) const {
  return Tile(queried(*this, loc, [](const auto &m) { return m.permutationMNK; }));
}
IntTuple TiledMma::tile_size_mnk(Loc loc) const {
  return IntTuple(queried(*this, loc, [](const auto &m) { return layout::tileSizeMNK(m); }));
}
Layout TiledMma::thr_layout_vmnk(Loc loc) const {
  return Layout(queried(*this, loc, [](const auto &m) { return layout::thrLayoutVMNK(m); }));
}
Layout TiledMma::tv_layout_A_tiled(Loc loc) const {
  return Layout(queried(
      *this, loc, [](const auto &m) { return layout::tiledLayout(m, layout::MmaOperand::A); }));
}
Layout TiledMma::tv_layout_B_tiled(Loc loc) const {
  return Layout(queried(
      *this, loc, [](const auto &m) { return layout::tiledLayout(m, layout::MmaOperand::B); }));
}
Layout TiledMma::tv_layout_C_tiled(Loc loc) const {
  return Layout(queried(
      *this, loc, [](const auto &m) { return layout::tiledLayout(m, layout::MmaOperand::C); }));
}

std::int64_t TiledMma::threads(Loc loc) const {
  return builder::guarded(loc, [&] {
    return layout::cosize(layout::thrLayoutVMNK(fly::toTiledMma(tiledMma(*this, loc)))).value();
  });
}

ThrMma TiledMma::get_slice(const IntTuple &thread, Loc loc) const {
  builder::expectThread("a tiled mma", thread.handle(), threads(loc), loc);
  return {*this, thread};
}
ThrMma TiledMma::thr_slice(const IntTuple &thread, Loc loc) const { return get_slice(thread, loc); }

static mlir::NamedAttribute operandAttribute(Tracer &t, MmaOperand operand) {
  return t.named("operand_id",
                 fly::MmaOperandAttr::get(t.context(), static_cast<fly::MmaOperand>(operand)));
}

/// The layout of a tile that is no memory: a layout's own; of coordinates and of a shape, that of
/// the extents.
static layout::Layout tileLayout(Tracer &t, const FragmentTile &tile, Loc loc) {
  mlir::Type type = t.typeOf(tile.handle(), loc);
  if (auto shape = mlir::dyn_cast<fly::IntTupleType>(type))
    return layout::makeLayout(shape.getValue());
  std::optional<layout::AnyLayout> any = fly::getLayoutOf(type);
  if (!any)
    throw TraceError("a fragment is made for a tensor, a layout or a shape, not for " +
                         builder::describe(tile.handle()),
                     loc);
  return mlir::isa<fly::CoordTensorType>(type) ? layout::makeLayout(layout::shapeOf(*any))
                                               : layout::outermost(*any);
}

static Tensor fragment(const TiledMma &mma, MmaOperand operand, const FragmentTile &input,
                       FragmentOptions options, Loc loc) {
  Tracer &t = Tracer::require("make_fragment", loc);
  if (options.stages < 0)
    throw TraceError("a fragment has no " + std::to_string(options.stages) + " stages", loc);
  // The element type is the atom's: an accumulator is wider than what it is stored to.
  const mlir::Type element =
      tiledMma(mma, loc).getMmaAtom().getValType(static_cast<fly::MmaOperand>(operand));
  DType dtype = input.handle().node()->dtype;
  if (!dtype || element != builder::elementType(dtype, t.context()))
    dtype = builder::dtypeOfElement(element);
  if (!mlir::isa<fly::MemRefType>(t.typeOf(input.handle(), loc))) {
    Handle registers = builder::guarded(loc, [&] {
      return hostHandle(layout::fragmentLayout(fly::toTiledMma(tiledMma(mma, loc)),
                                               static_cast<layout::MmaOperand>(operand),
                                               tileLayout(t, input, loc), options.stages));
    });
    return make_rmem_tensor(Layout(registers), dtype, loc);
  }
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes{operandAttribute(t, operand)};
  if (options.stages)
    attributes.push_back(t.named("stages", t.builder().getI32IntegerAttr(options.stages)));
  mlir::Value v =
      t.emit("fly.mma.make_fragment",
             {t.use(mma.handle(), loc), t.use(input.handle(), loc)}, loc, attributes);
  return Tensor(t.wrap(v, dtype, loc));
}

Tensor TiledMma::make_fragment_A(const FragmentTile &a, FragmentOptions options, Loc loc) const {
  return fragment(*this, MmaOperand::A, a, options, loc);
}
Tensor TiledMma::make_fragment_B(const FragmentTile &b, FragmentOptions options, Loc loc) const {
  return fragment(*this, MmaOperand::B, b, options, loc);
}
Tensor TiledMma::make_fragment_C(const FragmentTile &c, FragmentOptions options, Loc loc) const {
  return fragment(*this, MmaOperand::C, c, options, loc);
}

static Tensor partition(const TiledMma &mma, MmaOperand operand, const Tensor &tensor,
                        const IntTuple &thread, Loc loc) {
  Tracer &t = Tracer::require("a partition", loc);
  builder::guarded(loc, [&] {
    const layout::IntTuple sizes = layout::tileSizeMNK(fly::toTiledMma(tiledMma(mma, loc)));
    const int first = operand == MmaOperand::B ? 1 : 0,
              second = operand == MmaOperand::A || operand == MmaOperand::B ? 2 : 1;
    builder::expectTilesFit("fly.tiled_mma.partition", tensor.handle(),
                            layout::tup(sizes.at(first), sizes.at(second)), loc);
  });
  mlir::Value v =
      t.emit("fly.tiled_mma.partition",
             {t.use(mma.handle(), loc), t.use(tensor.handle(), loc), t.use(thread.handle(), loc)},
             loc, {operandAttribute(t, operand)});
  return Tensor(t.wrap(v, tensor.handle().node()->dtype, loc));
}

Tensor ThrMma::partition_A(const Tensor &a, Loc loc) const {
  return partition(*this, MmaOperand::A, a, thread_, loc);
}
Tensor ThrMma::partition_B(const Tensor &b, Loc loc) const {
  return partition(*this, MmaOperand::B, b, thread_, loc);
}
Tensor ThrMma::partition_C(const Tensor &c, Loc loc) const {
  return partition(*this, MmaOperand::C, c, thread_, loc);
}

TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atom_layout, const Tile &permutation,
                        Loc loc) {
  builder::expectTiling(atom, atom_layout, permutation, loc);
  std::string text = builder::staticText(atom.handle());
  if (!text.empty() && atom_layout.is_static())
    return TiledMma(builder::staticOf("!fly.tiled_mma<" + text + ", !fly.layout<" +
                                          atom_layout.str() + ">, !fly.tile<" + permutation.str() +
                                          ">>",
                                      loc));
  Tracer &t = Tracer::require("make_tiled_mma", loc);
  mlir::Value v = t.emit("fly.make_tiled_mma",
                         {t.use(atom.handle(), loc), t.use(atom_layout.handle(), loc),
                          t.use(permutation.handle(), loc)},
                         loc);
  return TiledMma(t.wrap(v, {}, loc));
}

TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atom_layout, Loc loc) {
  return make_tiled_mma(atom, atom_layout, Tile({_, _, _}, loc), loc);
}

static TiledCopy copyOf(const CopyAtom &atom, const TiledMma &mma, layout::MmaOperand operand,
                        Loc loc) {
  auto atomType = mlir::dyn_cast<fly::CopyAtomType>(builder::atomType(atom.handle(), loc));
  if (!atomType)
    throw TraceError("expected a copy atom, got " + atom.str(), loc);
  layout::TiledCopy tiled = builder::guarded(loc, [&] {
    return layout::makeTiledCopy(fly::toCopyAtom(atomType), fly::toTiledMma(tiledMma(mma, loc)),
                                 operand);
  });
  return make_tiled_copy(atom, Layout(hostHandle(tiled.layoutTV)), Tile(hostHandle(tiled.tileMN)),
                         loc);
}

TiledCopy make_tiled_copy_A(const CopyAtom &atom, const TiledMma &mma, Loc loc) {
  return copyOf(atom, mma, layout::MmaOperand::A, loc);
}
TiledCopy make_tiled_copy_B(const CopyAtom &atom, const TiledMma &mma, Loc loc) {
  return copyOf(atom, mma, layout::MmaOperand::B, loc);
}
TiledCopy make_tiled_copy_C(const CopyAtom &atom, const TiledMma &mma, Loc loc) {
  return copyOf(atom, mma, layout::MmaOperand::C, loc);
}

/// Scales that nobody gives are 0, which in a scale's type stands for 2^-127.
static void expectScales(const Value &mma, mlir::Type type, const GemmOptions &options, Loc loc) {
  auto tiled = mlir::dyn_cast<fly::TiledMmaType>(type);
  auto atom = tiled ? tiled.getMmaAtom() : mlir::dyn_cast<fly::MmaAtomType>(type);
  if (!atom || !atom.isStateful() || builder::staticText(mma.handle()).empty())
    return; // nothing to set, or set by the kernel
  if (!options.scale_a || !options.scale_b)
    throw TraceError("the atom " + builder::typeText(atom.getMmaOp()) +
                         " scales A and B: give .scale_a and .scale_b, four bytes of f8E8M0FNU "
                         "each (0x7f7f7f7f scales by 1), or set them by atom.set_value",
                     loc);
}

static void emitGemm(const Value &mma, const Tensor &d, const Tensor &a, const Tensor &b,
                     const Tensor &c, const GemmOptions &options, Loc loc) {
  Tracer &t = Tracer::require("gemm", loc);
  Handle atom = mma.handle();
  if (options.scale_a)
    atom = detail::atomSet(atom, "scale_a", options.scale_a->handle(), loc);
  if (options.scale_b)
    atom = detail::atomSet(atom, "scale_b", options.scale_b->handle(), loc);
  llvm::SmallVector<mlir::Value, 6> operands{t.use(atom, loc), t.use(d.handle(), loc),
                                             t.use(a.handle(), loc), t.use(b.handle(), loc),
                                             t.use(c.handle(), loc)};
  const mlir::Type type = operands[0].getType();
  builder::expectOnTarget(type, loc);
  builder::MmaCheck{"gemm", type, d, a, b, c, &options, loc}.expectFits();
  expectScales(mma, type, options, loc);
  llvm::SmallVector<mlir::NamedAttribute, 1> attributes;
  if (options.order)
    attributes.push_back(t.named(
        "traversalOrder", fly::GemmTraversalOrderAttr::get(
                              t.context(), static_cast<fly::GemmTraversalOrder>(*options.order))));
  if (options.traversal_layout)
    operands.push_back(t.use(options.traversal_layout->handle(), loc));
  t.create("fly.gemm", operands, loc, attributes, mlir::TypeRange());
}

void gemm(const MmaAtom &atom, const Tensor &d, const Tensor &a, const Tensor &b, const Tensor &c,
          const GemmOptions &options, Loc loc) {
  emitGemm(atom, d, a, b, c, options, loc);
}
void gemm(const TiledMma &mma, const Tensor &d, const Tensor &a, const Tensor &b, const Tensor &c,
          const GemmOptions &options, Loc loc) {
  emitGemm(mma, d, a, b, c, options, loc);
}

void mma_atom_call(const MmaAtom &atom, const Tensor &d, const Tensor &a, const Tensor &b,
                   const Tensor &c, Loc loc) {
  Tracer &t = Tracer::require("mma_atom_call", loc);
  mlir::Value instruction = t.use(atom.handle(), loc);
  builder::expectOnTarget(instruction.getType(), loc);
  builder::MmaCheck{"mma_atom_call", instruction.getType(), d, a, b, c, nullptr, loc}.expectFits();
  expectScales(atom, instruction.getType(), {}, loc);
  t.create("fly.mma_atom_call",
           {instruction, t.use(d.handle(), loc), t.use(a.handle(), loc), t.use(b.handle(), loc),
            t.use(c.handle(), loc)},
           loc, {}, mlir::TypeRange());
}

FLYDSL_NAMESPACE_END
