// Tensors, pointers and their elements.
#include <flydsl/tensor.h>

#include "builder/trace/guard.h"
#include "builder/trace/tracer.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "layout/coord.h"
#include "layout/error.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
namespace fly = mlir::fly;

namespace detail {
namespace {

/// A number as the value of an element of `type`. Numbers of another type are refused, not
/// converted.
mlir::Value elementValue(Tracer &t, const Handle &value, DType type, const char *what, Loc loc) {
  if (hostAs<HostNumber>(value))
    return t.use(expectScalar(value, type, loc), loc);
  DType given = value.node()->dtype;
  if (given != type)
    throw TraceError(std::string(what) + " of " + std::string(type.name()) + " is given " +
                         (given ? std::string(given.name()) : builder::describe(value)) +
                         "; .to(fx::" + std::string(type.name()) + ") converts",
                     loc);
  return t.use(value, loc);
}

fly::PointerType pointerType(const Handle &handle, Loc loc) {
  mlir::Type type = builder::tracedType(handle, loc);
  if (auto p = mlir::dyn_cast<fly::PointerType>(type))
    return p;
  if (auto m = mlir::dyn_cast<fly::MemRefType>(type))
    return m.getPointerType();
  throw TraceError("expected memory, got " + builder::typeText(type), loc);
}

} // namespace

/// A coordinate has as many modes as the tensor, or is one number that counts through it; what is
/// known of it is inside the shape.
static void expectCoordinate(Tracer &t, const Handle &tensor, const Handle &coord, Loc loc) {
  auto layout = fly::getLayoutOf(builder::tracedType(tensor, loc));
  auto type = mlir::dyn_cast<fly::IntTupleType>(t.typeOf(coord, loc));
  if (layout && type && !layout::isWeaklyCongruent(type.getValue(), layout::shapeOf(*layout)))
    throw TraceError("the coordinate " + type.getValue().str() + " does not fit the shape " +
                         layout::shapeOf(*layout).str() + " of " + builder::describe(tensor),
                     loc);
  if (layout && type)
    try {
      layout::expectInside(type.getValue(), layout::shapeOf(*layout));
    } catch (const layout::LayoutError &e) {
      throw TraceError(std::string(e.what()) + " (in " + builder::describe(tensor) + ")", loc);
    }
}

Handle loadElement(const Handle &tensor, const Handle &coord, Loc loc) {
  Tracer &t = Tracer::require("an element of a tensor", loc);
  expectCoordinate(t, tensor, coord, loc);
  mlir::Value v = t.emit("fly.memref.load", {t.use(tensor, loc), t.use(coord, loc)}, loc);
  return t.wrap(v, tensor.node()->dtype, loc);
}

void storeElement(const Handle &tensor, const Handle &coord, const Handle &loaded,
                  const Handle &value, Loc loc) {
  Tracer &t = Tracer::require("an element of a tensor", loc);
  if (!loc.line()) // an assignment between two elements has no place of its own
    loc = loaded.node()->where;
  if (!tensor.node()->dtype)
    throw TraceError("the elements of an identity tensor can't be written", loc);
  mlir::Value number = elementValue(t, value, tensor.node()->dtype, "an element", loc);
  // The left side was read before it turned out to be written.
  mlir::Operation *load = mlir::Value::getFromOpaquePointer(loaded.node()->value).getDefiningOp();
  mlir::Value memory = load->getOperand(0), index = load->getOperand(1);
  if (load->use_empty())
    load->erase();
  t.create("fly.memref.store", {number, memory, index}, loc, {}, mlir::TypeRange());
}

Handle loadVector(const Handle &tensor, Loc loc) {
  Tracer &t = Tracer::require("a tensor's load", loc);
  mlir::Value v = t.emit("fly.memref.load_vec", t.use(tensor, loc), loc);
  return t.wrap(v, tensor.node()->dtype, loc);
}

void storeVector(const Handle &tensor, const Handle &vector, Loc loc) {
  Tracer &t = Tracer::require("a tensor's store", loc);
  DType type = dtypeOf(tensor, loc);
  if (auto layout = fly::getLayoutOf(builder::tracedType(tensor, loc));
      layout && std::holds_alternative<layout::ComposedLayout>(*layout))
    throw TraceError("store of a vector to " + builder::describe(tensor) +
                         ": its elements don't lie as a plain layout says; fx::copy writes "
                         "through a swizzle",
                     loc);
  HostValue size = builder::hostView(algebra("size", {&tensor}, loc), loc);
  auto *count = std::get_if<layout::IntTuple>(&size);
  if (!count || count->leaf().value() != vectorSize(vector, loc))
    throw TraceError("store of " + builder::describe(vector) + " to " + builder::describe(tensor) +
                         ": as many elements are written as the tensor has",
                     loc);
  mlir::Value values = elementValue(t, vector, type, "a tensor", loc);
  t.create("fly.memref.store_vec", {values, t.use(tensor, loc)}, loc, {}, mlir::TypeRange());
}

AddressSpace addressSpaceOf(const Handle &handle, Loc loc) {
  fly::PointerType type = pointerType(handle, loc);
  if (auto space = mlir::dyn_cast<fly::AddressSpaceAttr>(type.getAddressSpace()))
    return static_cast<AddressSpace>(space.getValue());
  return AddressSpace::global; // a target's way into global memory
}

int alignmentOf(const Handle &handle, Loc loc) {
  return static_cast<int>(pointerType(handle, loc).getAlignment());
}

Handle pointerLoad(const Handle &pointer, Loc loc) {
  Tracer &t = Tracer::require("a pointer's load", loc);
  fly::PointerType type = pointerType(pointer, loc);
  return t.wrap(t.emit("fly.ptr.load", t.use(pointer, loc), loc, {}, type.getElemTy()),
                pointer.node()->dtype, loc);
}

Handle pointerLoadVector(const Handle &pointer, std::int64_t size, Loc loc) {
  Tracer &t = Tracer::require("a pointer's load", loc);
  fly::PointerType type = pointerType(pointer, loc);
  if (size < 1)
    throw TraceError("a vector has 1 element or more, not " + std::to_string(size), loc);
  return t.wrap(t.emit("fly.ptr.load", t.use(pointer, loc), loc, {},
                       mlir::VectorType::get(size, type.getElemTy())),
                pointer.node()->dtype, loc);
}

void pointerStore(const Handle &pointer, const Handle &value, Loc loc) {
  Tracer &t = Tracer::require("a pointer's store", loc);
  mlir::Value number = elementValue(t, value, dtypeOf(pointer, loc), "memory", loc);
  t.create("fly.ptr.store", {number, t.use(pointer, loc)}, loc, {}, mlir::TypeRange());
}

Handle pointerAdd(const Handle &pointer, const Handle &offset, bool negative, Loc loc) {
  Handle zero = staticLeaf(0);
  Handle by = negative ? tupleBinary(TupleOp::sub, zero, offset, loc) : offset;
  return algebra("add_offset", {&pointer, &by}, loc);
}

Handle pointerRecast(const Handle &pointer, DType dtype, Loc loc) {
  Tracer &t = Tracer::require("a pointer", loc);
  fly::PointerType type = pointerType(pointer, loc);
  mlir::Type to =
      fly::PointerType::get(t.context(), builder::elementType(dtype, t.context()),
                            type.getAddressSpace(), type.getAlignment(), type.getSwizzle());
  return t.wrap(t.emit("fly.recast_iter", t.use(pointer, loc), loc, {}, to), dtype, loc);
}

} // namespace detail

using detail::algebra;

Layout Tensor::layout(Loc loc) const { return Layout(algebra("get_layout", {&handle_}, loc)); }
IntTuple Tensor::shape(Loc loc) const { return IntTuple(algebra("get_shape", {&handle_}, loc)); }
IntTuple Tensor::stride(Loc loc) const { return IntTuple(algebra("get_stride", {&handle_}, loc)); }
Pointer Tensor::iter(Loc loc) const { return Pointer(algebra("get_iter", {&handle_}, loc)); }

void Tensor::fill(const Numeric::Arg &value) const {
  DType type = dtype(value.loc);
  Handle element = detail::hostAs<detail::HostNumber>(value.handle)
                       ? detail::expectScalar(value.handle, type, value.loc)
                       : value.handle;
  detail::storeVector(handle_,
                      detail::vectorSplat(element, flydsl::size(*this, value.loc).value(value.loc),
                                          detail::dtypeOf(element, value.loc), value.loc),
                      value.loc);
}

/// A view from where a fragment begins ends in the fragment: there is nothing behind registers.
static void expectInFragment(const Pointer &iter, const Value &layout, Loc loc) {
  if (!iter.handle().node()->trace)
    return;
  auto type = mlir::dyn_cast<fly::PointerType>(builder::tracedType(iter.handle(), loc));
  mlir::Operation *begin =
      mlir::Value::getFromOpaquePointer(iter.handle().node()->value).getDefiningOp();
  auto made = mlir::dyn_cast_or_null<fly::GetIterOp>(begin);
  if (!type || !type.isIn(fly::AddressSpace::Register) || !made)
    return;
  mlir::Value source = made->getOperand(0);
  auto fragment = mlir::dyn_cast<fly::MemRefType>(source.getType());
  if (!fragment ||
      !mlir::isa_and_nonnull<fly::MemRefAllocaOp, fly::MakeFragmentLikeOp, fly::MmaMakeFragmentOp>(
          source.getDefiningOp()))
    return;
  builder::guarded(loc, [&] {
    detail::HostValue reach = builder::hostView(algebra("cosize", {&layout.handle()}, loc), loc);
    auto *needed = std::get_if<layout::IntTuple>(&reach);
    const layout::Int has = layout::cosize(layout::outermost(fragment.getLayout()));
    if (needed && needed->isLeaf() && needed->leaf().isStatic() && has.isStatic() &&
        needed->leaf().value() > has.value())
      throw TraceError("the layout " + layout.str() + " reaches " + needed->str() +
                           " elements of registers, the fragment has " + has.str(),
                       loc);
  });
}

Tensor make_view(const Pointer &iter, const Layout &layout, Loc loc) {
  expectInFragment(iter, layout, loc);
  return Tensor(algebra("make_view", {&iter.handle(), &layout.handle()}, loc));
}
Tensor make_view(const Pointer &iter, const ComposedLayout &layout, Loc loc) {
  return Tensor(algebra("make_view", {&iter.handle(), &layout.handle()}, loc));
}
Tensor make_view(const IntTuple &offset, const Layout &layout, Loc loc) {
  return Tensor(algebra("make_view", {&offset.handle(), &layout.handle()}, loc));
}

Tensor make_identity_tensor(const IntTuple &shape, Loc loc) {
  Layout layout = make_identity_layout(shape, loc);
  return make_view(coprofile(layout, loc), layout, loc);
}

static Tensor fragmentLike(const Value &x, DType type, Loc loc) {
  Tracer &t = Tracer::require("make_fragment_like", loc);
  llvm::SmallVector<mlir::NamedAttribute, 1> attributes;
  if (type)
    attributes.push_back(
        t.named("dtype", mlir::TypeAttr::get(builder::elementType(type, t.context()))));
  mlir::Value v = t.emit("fly.make_fragment_like", t.use(x.handle(), loc), loc, attributes);
  return Tensor(t.wrap(v, type ? type : x.handle().node()->dtype, loc));
}

Tensor make_fragment_like(const Tensor &x, DType type, Loc loc) {
  return fragmentLike(x, type, loc);
}
Tensor make_fragment_like(const Layout &x, DType type, Loc loc) {
  return fragmentLike(x, type, loc);
}

Tensor make_rmem_tensor(const Layout &layout, DType type, Loc loc) {
  Tracer &t = Tracer::require("make_rmem_tensor", loc);
  detail::HostValue view = builder::hostView(layout.handle(), loc);
  auto *plain = std::get_if<layout::Layout>(&view);
  if (!plain)
    throw TraceError("registers need a layout that is known while tracing, not " + layout.str() +
                         "; take a tile of a static shape first, or pass its extent as an "
                         "fx::Constexpr",
                     loc);
  auto pointer =
      fly::PointerType::get(builder::elementType(type, t.context()), fly::AddressSpace::Register);
  mlir::Value v = t.emit("fly.memref.alloca", t.use(layout.handle(), loc), loc, {},
                         fly::MemRefType::get(pointer, layout::AnyLayout(*plain)));
  return Tensor(t.wrap(v, type, loc));
}

Tensor make_rmem_tensor(const IntTuple &shape, DType type, Loc loc) {
  return make_rmem_tensor(make_layout(shape, loc), type, loc);
}

static Boolean compare(const char *name, const IntTuple &a, const IntTuple &b,
                       layout::Int (*evaluate)(const layout::IntTuple &, const layout::IntTuple &),
                       Loc loc) {
  detail::HostValue va = builder::hostView(a.handle(), loc),
                    vb = builder::hostView(b.handle(), loc);
  auto *ta = std::get_if<layout::IntTuple>(&va), *tb = std::get_if<layout::IntTuple>(&vb);
  if (ta && tb)
    return Boolean(builder::guarded(loc, [&] { return evaluate(*ta, *tb).value() != 0; }), loc);
  Tracer &t = Tracer::require(name, loc);
  mlir::Value v = t.emit(name, {t.use(a.handle(), loc), t.use(b.handle(), loc)}, loc, {},
                         t.builder().getI1Type());
  return Boolean(t.wrap(v, boolean, loc));
}

Boolean elem_less(const IntTuple &a, const IntTuple &b, Loc loc) {
  return compare("fly.elem_less", a, b, &layout::elemLess, loc);
}
Boolean equal(const IntTuple &a, const IntTuple &b, Loc loc) {
  return compare("fly.equal", a, b, &layout::equal, loc);
}

FLYDSL_NAMESPACE_END
