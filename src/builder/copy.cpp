// Tiled copies and the copy itself.
#include <flydsl/copy.h>

#include "builder/guard.h"
#include "builder/static_types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "dialect/Fly/IR/TiledLayouts.h"

#include <string_view>

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
using detail::hostHandle;
namespace fly = mlir::fly;

static fly::TiledCopyType tiledCopy(const TiledCopy &copy, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::TiledCopyType>(builder::atomType(copy.handle(), loc)))
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
  return Layout(builder::guarded(loc, [&] {
    return hostHandle(layout::tiledLayoutSrc(fly::toTiledCopy(tiledCopy(*this, loc))));
  }));
}
Layout TiledCopy::layout_dst_tv_tiled(Loc loc) const {
  return Layout(builder::guarded(loc, [&] {
    return hostHandle(layout::tiledLayoutDst(fly::toTiledCopy(tiledCopy(*this, loc))));
  }));
}

static Tensor partition(const char *op, const TiledCopy &copy, const Tensor &tensor,
                        const IntTuple &thread, Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  mlir::Value v = t.emit(
      op, {t.use(copy.handle(), loc), t.use(tensor.handle(), loc), t.use(thread.handle(), loc)},
      loc);
  return Tensor(t.wrap(v, tensor.handle().node()->dtype, loc));
}

Tensor ThrCopy::partition_S(const Tensor &source, Loc loc) const {
  return partition("fly.tiled_copy.partition_src", *this, source, thread_, loc);
}
Tensor ThrCopy::partition_D(const Tensor &destination, Loc loc) const {
  return partition("fly.tiled_copy.partition_dst", *this, destination, thread_, loc);
}
Tensor ThrCopy::retile(const Tensor &fragment, Loc loc) const {
  Tracer &t = Tracer::require("retile", loc);
  mlir::Value v =
      t.emit("fly.tiled_copy.retile", {t.use(handle(), loc), t.use(fragment.handle(), loc)}, loc);
  return Tensor(t.wrap(v, fragment.handle().node()->dtype, loc));
}

TiledCopy make_tiled_copy(const CopyAtom &atom, const Layout &layout_tv, const Tile &tile_mn,
                          Loc loc) {
  std::string text = builder::staticText(atom.handle());
  if (!text.empty() && layout_tv.is_static())
    return TiledCopy(builder::staticOf("!fly.tiled_copy<" + text + ", !fly.layout<" +
                                           layout_tv.str() + ">, !fly.tile<" + tile_mn.str() + ">>",
                                       loc));
  Tracer &t = Tracer::require("make_tiled_copy", loc);
  mlir::Value v = t.emit(
      "fly.make_tiled_copy",
      {t.use(atom.handle(), loc), t.use(layout_tv.handle(), loc), t.use(tile_mn.handle(), loc)},
      loc);
  return TiledCopy(t.wrap(v, {}, loc));
}

static layout::Layout staticLayout(const Layout &layout, Loc loc) {
  detail::HostValue view = builder::hostView(layout.handle(), loc);
  if (auto *plain = std::get_if<layout::Layout>(&view))
    return *plain;
  throw TraceError("a tiled copy's threads and values are static layouts, not " + layout.str(),
                   loc);
}

TiledCopy make_tiled_copy_tv(const CopyAtom &atom, const Layout &threads, const Layout &values,
                             Loc loc) {
  layout::LayoutTV made = builder::guarded(loc, [&] {
    return layout::makeLayoutTV(staticLayout(threads, loc), staticLayout(values, loc));
  });
  return make_tiled_copy(atom, Layout(hostHandle(made.layout)), Tile(hostHandle(made.tile)), loc);
}

/// Both sides hold elements of one type (integers of one width, whatever their sign, count as one);
/// of a plain copy, as many of them, where that is known. (A copy of a whole wave may count its
/// sides differently.) What is unrolled has sides of one rank, and of a plain copy known shapes.
static void expectAlike(const char *op, const Value &atom, const Tensor &source,
                        const Tensor &destination, Loc loc) {
  auto count = [&](const Tensor &t) { return builder::hostView(size(t, loc).handle(), loc); };
  const std::string instruction = builder::describe(atom.handle());
  bool plain = instruction.find("!fly.universal_copy<") != std::string::npos;
  detail::HostValue from = count(source), to = count(destination);
  auto *m = std::get_if<layout::IntTuple>(&from), *n = std::get_if<layout::IntTuple>(&to);
  auto refuse = [&](const std::string &why) {
    throw TraceError(builder::userName(op) + " from " + source.str() + " to " + destination.str() +
                         ": " + why,
                     loc);
  };
  const DType given = source.dtype(loc), taken = destination.dtype(loc);
  if (given.ir_name() != taken.ir_name())
    refuse(
        "a copy does not convert " + std::string(given.name()) + " to " +
        std::string(taken.name()) +
        "; load, convert with .to(...) and store, or recast one side's pointer to move the bits");
  auto isBuffer = [](const Tensor &t) { return t.str().find("buffer_desc") != std::string::npos; };
  if (instruction.find(".buffer_copy<") != std::string::npos && !isBuffer(source) &&
      !isBuffer(destination))
    refuse("a buffer copy has a buffer on one side; fx::rocdl::make_buffer_tensor makes one of "
           "global memory");
  if (std::string_view(op) == "fly.copy") { // an atom's own call says nothing of its sides' modes
    const int rank = source.rank(loc), other = destination.rank(loc);
    if (rank != other)
      refuse("the sides differ in rank, " + std::to_string(rank) + " and " + std::to_string(other));
    if (plain && !(m && n))
      refuse("a copy is unrolled, so both shapes are known while tracing; take a tile of the side "
             "whose shape is not (fx::zipped_divide, partition_S)");
  }
  if (plain && m && n && !(*m == *n))
    refuse("the sides differ in elements");
}

static void emitCopy(const char *op, const Value &atom, const Tensor &source,
                     const Tensor &destination, const CopyOptions &options, Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  expectAlike(op, atom, source, destination, loc);
  Handle stated = atom.handle();
  if (options.soffset)
    stated = detail::atomSet(stated, "soffset", options.soffset->handle(), loc);
  if (options.imm_offset)
    stated = detail::atomSet(stated, "imm_offset", options.imm_offset->handle(), loc);
  llvm::SmallVector<mlir::Value, 4> operands{t.use(stated, loc), t.use(source.handle(), loc),
                                             t.use(destination.handle(), loc)};
  builder::expectOnTarget(operands[0].getType(), loc);
  if (options.pred)
    operands.push_back(t.use(options.pred->handle(), loc));
  t.create(op, operands, loc, {}, mlir::TypeRange());
}

void copy(const CopyAtom &atom, const Tensor &source, const Tensor &destination, Loc loc) {
  emitCopy("fly.copy", atom, source, destination, {}, loc);
}
void copy(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
          const CopyOptions &options, Loc loc) {
  emitCopy("fly.copy", atom, source, destination, options, loc);
}
void copy(const TiledCopy &atom, const Tensor &source, const Tensor &destination, Loc loc) {
  emitCopy("fly.copy", atom, source, destination, {}, loc);
}
void copy(const TiledCopy &atom, const Tensor &source, const Tensor &destination,
          const CopyOptions &options, Loc loc) {
  emitCopy("fly.copy", atom, source, destination, options, loc);
}
void copy_atom_call(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
                    Loc loc) {
  emitCopy("fly.copy_atom_call", atom, source, destination, {}, loc);
}
void copy_atom_call(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
                    const CopyOptions &options, Loc loc) {
  emitCopy("fly.copy_atom_call", atom, source, destination, options, loc);
}

FLYDSL_NAMESPACE_END
