// Tiled multiplications, their fragments and the gemm.
#include <flydsl/kernel/mma.h>

#include "builder/atoms/atom_operands.h"
#include "builder/atoms/specs.h"
#include "builder/atoms/tiling.h"
#include "builder/layout/whole_tiles.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/IR/TiledLayouts.h"
#include "layout/coord.h"
#include "layout/make.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
using detail::hostHandle;
namespace fly = mlir::fly;

static fly::TiledMmaType tiledMma(const TiledMma &mma, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::TiledMmaType>(
          builder::atomType(detail::running(), mma.handle(), loc)))
    return type;
  throw TraceError("expected a tiled mma, got " + mma.str(), loc);
}

template <class Fn> static Handle queried(const TiledMma &mma, Loc loc, Fn fn) {
  return builder::layoutErrorsAt(
      loc, [&] { return hostHandle(fn(fly::toTiledMma(tiledMma(mma, loc)))); });
}

MmaAtom TiledMma::mma_atom(Loc loc) const {
  if (auto *spec = builder::specOf<detail::TiledMmaSpec>(handle_))
    return MmaAtom(builder::staticOf(detail::running(), spec->atom, loc));
  Tracer &t = Tracer::require("mma_atom", loc);
  return MmaAtom(t.wrap(t.emit<fly::GetMmaAtomOp>(loc, t.use(handle_, loc)), {}, loc));
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
  return builder::layoutErrorsAt(loc, [&] {
    return layout::cosize(layout::thrLayoutVMNK(fly::toTiledMma(tiledMma(*this, loc)))).value();
  });
}

ThrMma TiledMma::get_slice(const IntTuple &thread, Loc loc) const {
  builder::expectThread(detail::running(), "a tiled mma", thread.handle(), threads(loc), loc);
  return {*this, thread};
}
ThrMma TiledMma::thr_slice(const IntTuple &thread, Loc loc) const { return get_slice(thread, loc); }

static fly::MmaOperandAttr operandAttribute(Tracer &t, MmaOperand operand) {
  return fly::MmaOperandAttr::get(t.context(), builder::operandOf(operand));
}

/// The layout of a tile that is no memory: a layout's own; of coordinates and of a shape, that of
/// the extents.
static layout::Layout tileLayout(Tracer &t, const FragmentTile &tile, Loc loc) {
  mlir::Type type = t.values.typeOf(tile.handle(), loc);
  if (auto shape = mlir::dyn_cast<fly::IntTupleType>(type))
    return layout::makeLayout(shape.getValue());
  std::optional<layout::AnyLayout> any = fly::getLayoutOf(type);
  if (!any)
    throw TraceError("a fragment is made for a tensor, a layout or a shape, not for " +
                         detail::describe(tile.handle()),
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
      tiledMma(mma, loc).getMmaAtom().getValType(builder::operandOf(operand));
  DType dtype = input.handle().node()->dtype;
  if (!dtype || element != builder::elementType(dtype, t.context()))
    dtype = builder::dtypeOfElement(element);
  if (!mlir::isa<fly::MemRefType>(t.values.typeOf(input.handle(), loc))) {
    Handle registers = builder::layoutErrorsAt(loc, [&] {
      return hostHandle(layout::fragmentLayout(fly::toTiledMma(tiledMma(mma, loc)),
                                               fly::toMmaOperand(builder::operandOf(operand)),
                                               tileLayout(t, input, loc), options.stages));
    });
    return make_rmem_tensor(Layout(registers), dtype, loc);
  }
  fly::MmaMakeFragmentOp::Properties properties;
  properties.operand_id = operandAttribute(t, operand);
  if (options.stages)
    properties.stages = t.builder().getI32IntegerAttr(options.stages);
  mlir::Value tiled = t.use(mma.handle(), loc), whole = t.use(input.handle(), loc);
  mlir::Value v = t.emit<fly::MmaMakeFragmentOp>(loc, {tiled, whole}, properties);
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
  builder::layoutErrorsAt(loc, [&] {
    const layout::IntTuple sizes = layout::tileSizeMNK(fly::toTiledMma(tiledMma(mma, loc)));
    const int first = operand == MmaOperand::B ? 1 : 0,
              second = operand == MmaOperand::A || operand == MmaOperand::B ? 2 : 1;
    builder::expectTilesFit(&t, "tiled_mma.partition", tensor.handle(),
                            layout::tup(sizes.at(first), sizes.at(second)), loc);
  });
  fly::TiledMmaPartitionOp::Properties properties;
  properties.operand_id = operandAttribute(t, operand);
  mlir::Value tiled = t.use(mma.handle(), loc), whole = t.use(tensor.handle(), loc);
  mlir::Value v = t.emit<fly::TiledMmaPartitionOp>(loc, {tiled, whole, t.use(thread.handle(), loc)},
                                                   properties);
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

TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atomLayout, const Tile &permutation,
                        Loc loc) {
  builder::expectTiling(detail::running(), atom, atomLayout, permutation, loc);
  auto *spec = builder::specOf<detail::MmaAtomSpec>(atom.handle());
  const detail::HostValue layout = detail::hostView(atomLayout.handle(), loc),
                          tile = detail::hostView(permutation.handle(), loc);
  auto *atomsMNK = std::get_if<layout::Layout>(&layout);
  auto *permutationMNK = std::get_if<layout::Tile>(&tile);
  if (spec && atomsMNK && permutationMNK)
    return TiledMma(builder::staticOf(
        detail::running(), detail::TiledMmaSpec{*spec, *atomsMNK, *permutationMNK}, loc));
  Tracer &t = Tracer::require("make_tiled_mma", loc);
  mlir::Value one = t.use(atom.handle(), loc), atoms = t.use(atomLayout.handle(), loc);
  mlir::Value v = t.emit<fly::MakeTiledMmaOp>(loc, {one, atoms, t.use(permutation.handle(), loc)});
  return TiledMma(t.wrap(v, {}, loc));
}

TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atomLayout, Loc loc) {
  return make_tiled_mma(atom, atomLayout, Tile({_, _, _}, loc), loc);
}

static TiledCopy copyOf(const CopyAtom &atom, const TiledMma &mma, layout::MmaOperand operand,
                        Loc loc) {
  auto atomType =
      mlir::dyn_cast<fly::CopyAtomType>(builder::atomType(detail::running(), atom.handle(), loc));
  if (!atomType)
    throw TraceError("expected a copy atom, got " + atom.str(), loc);
  layout::TiledCopy tiled = builder::layoutErrorsAt(loc, [&] {
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
  if (!atom || !atom.isStateful() || !detail::hostAs<detail::AtomSpec>(mma.handle()))
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
  builder::expectOnTarget(&t, type, loc);
  builder::MmaCheck{t, type, d, a, b, c, &options, loc}.expectFits();
  expectScales(mma, type, options, loc);
  fly::GemmOp::Properties properties;
  if (options.order)
    properties.traversalOrder =
        fly::GemmTraversalOrderAttr::get(t.context(), builder::orderOf(*options.order));
  if (options.traversal_layout)
    operands.push_back(t.use(options.traversal_layout->handle(), loc));
  t.create<fly::GemmOp>(loc, mlir::TypeRange(), operands, properties);
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
  builder::expectOnTarget(&t, instruction.getType(), loc);
  builder::MmaCheck{t, instruction.getType(), d, a, b, c, nullptr, loc}.expectFits();
  expectScales(atom, instruction.getType(), {}, loc);
  mlir::Value toD = t.use(d.handle(), loc), ofA = t.use(a.handle(), loc),
              ofB = t.use(b.handle(), loc), ofC = t.use(c.handle(), loc);
  t.create<fly::MmaAtomCallOp>(loc, instruction, toD, ofA, ofB, ofC);
}

FLYDSL_NAMESPACE_END
