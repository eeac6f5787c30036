// Tensors, pointers and their elements.
#include <flydsl/kernel/tensor.h>

#include "builder/memory/reach.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "layout/coord.h"
#include "layout/error.h"

#include "mlir/IR/BuiltinTypes.h"

#include <numeric>

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
                         (given ? std::string(given.name()) : detail::describe(value)) +
                         "; .to(fx::" + std::string(type.name()) + ") converts",
                     loc);
  return t.use(value, loc);
}

fly::PointerType pointerType(const Handle &handle, Loc loc) {
  mlir::Type type = detail::tracedType(handle, loc);
  if (auto p = mlir::dyn_cast<fly::PointerType>(type))
    return p;
  if (auto m = mlir::dyn_cast<fly::MemRefType>(type))
    return m.getPointerType();
  throw TraceError("expected memory, got " + builder::typeText(type), loc);
}

/// Elements of less than a byte have no address of their own in
/// memory; in registers they need none.
void expectWholeBytes(const std::string &what, const Handle &memory, std::int64_t elements,
                      Loc loc) {
  const DType type = memory.node()->dtype;
  if (!type || type.memory_bits() * elements % 8 == 0 ||
      pointerType(memory, loc).isIn(fly::AddressSpace::Register))
    return;
  throw TraceError(what + " of " + std::string(type.name()) + " in memory has " +
                       std::to_string(type.memory_bits() * elements) +
                       " bits, and no address for parts of a byte; a pointer loads and stores " +
                       std::to_string(8 / std::gcd(type.memory_bits(), 8)) +
                       " of them or a multiple at once, recast(fx::u8) makes bytes of them, and "
                       "fx::copy moves them to registers",
                   loc);
}

} // namespace

/// A coordinate has as many modes as the tensor, or is one number that counts through it; what is
/// known of it is inside the shape.
static void expectCoordinate(Tracer &t, const Handle &tensor, const Handle &coord, Loc loc) {
  auto layout = fly::getLayoutOf(detail::tracedType(tensor, loc));
  auto type = mlir::dyn_cast<fly::IntTupleType>(t.values.typeOf(coord, loc));
  if (layout && type && !layout::isWeaklyCongruent(type.getValue(), layout::shapeOf(*layout)))
    throw TraceError("the coordinate " + type.getValue().str() + " does not fit the shape " +
                         layout::shapeOf(*layout).str() + " of " + detail::describe(tensor),
                     loc);
  if (layout && type)
    try {
      layout::expectInside(type.getValue(), layout::shapeOf(*layout));
    } catch (const layout::LayoutError &e) {
      throw TraceError(std::string(e.what()) + " (in " + detail::describe(tensor) + ")", loc);
    }
}

Handle loadElement(const Handle &tensor, const Handle &coord, Loc loc) {
  Tracer &t = Tracer::require("an element of a tensor", loc);
  expectCoordinate(t, tensor, coord, loc);
  expectWholeBytes("an element", tensor, 1, loc);
  mlir::Value memory = t.use(tensor, loc), index = t.use(coord, loc);
  mlir::Value v = t.emit<fly::MemRefLoadOp>(loc, {memory, index});
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
  mlir::Operation *load = loaded.node()->traced()->value.getDefiningOp();
  mlir::Value memory = load->getOperand(0), index = load->getOperand(1);
  if (load->use_empty())
    load->erase();
  t.create<fly::MemRefStoreOp>(loc, number, memory, index);
}

Handle loadVector(const Handle &tensor, Loc loc) {
  Tracer &t = Tracer::require("a tensor's load", loc);
  mlir::Value v = t.emit<fly::MemRefLoadVecOp>(loc, t.use(tensor, loc));
  return t.wrap(v, tensor.node()->dtype, loc);
}

void storeVector(const Handle &tensor, const Handle &vector, Loc loc) {
  Tracer &t = Tracer::require("a tensor's store", loc);
  DType type = dtypeOf(tensor, loc);
  if (auto layout = fly::getLayoutOf(detail::tracedType(tensor, loc));
      layout && std::holds_alternative<layout::ComposedLayout>(*layout))
    throw TraceError("store of a vector to " + detail::describe(tensor) +
                         ": its elements don't lie as a plain layout says; fx::copy writes "
                         "through a swizzle",
                     loc);
  HostValue size = detail::hostView(algebra(AlgebraOp::size, {&tensor}, loc), loc);
  auto *count = std::get_if<layout::IntTuple>(&size);
  if (!count || count->leaf().value() != vectorSize(vector, loc))
    throw TraceError("store of " + detail::describe(vector) + " to " + detail::describe(tensor) +
                         ": as many elements are written as the tensor has",
                     loc);
  mlir::Value values = elementValue(t, vector, type, "a tensor", loc);
  t.create<fly::MemRefStoreVecOp>(loc, values, t.use(tensor, loc));
}

AddressSpace addressSpaceOf(const Handle &handle, Loc loc) {
  fly::PointerType type = pointerType(handle, loc);
  auto space = mlir::dyn_cast<fly::AddressSpaceAttr>(type.getAddressSpace());
  if (!space)
    return AddressSpace::global; // a target's way into global memory
  switch (space.getValue()) {
  case fly::AddressSpace::Generic:
    return AddressSpace::generic;
  case fly::AddressSpace::Global:
    return AddressSpace::global;
  case fly::AddressSpace::Shared:
    return AddressSpace::shared;
  case fly::AddressSpace::Register:
    return AddressSpace::register_;
  }
  llvm_unreachable("an address space");
}

int alignmentOf(const Handle &handle, Loc loc) {
  return static_cast<int>(pointerType(handle, loc).getAlignment());
}

Handle pointerLoad(const Handle &pointer, Loc loc) {
  Tracer &t = Tracer::require("a pointer's load", loc);
  fly::PointerType type = pointerType(pointer, loc);
  expectWholeBytes("an element", pointer, 1, loc);
  builder::expectReach(&t, pointer, 1, "a load of an element", loc);
  return t.wrap(t.create<fly::PtrLoadOp>(loc, type.getElemTy(), t.use(pointer, loc)),
                pointer.node()->dtype, loc);
}

Handle pointerLoadVector(const Handle &pointer, std::int64_t size, Loc loc) {
  Tracer &t = Tracer::require("a pointer's load", loc);
  fly::PointerType type = pointerType(pointer, loc);
  if (size < 1)
    throw TraceError("a vector has 1 element or more, not " + std::to_string(size), loc);
  const std::string what = "a load of " + std::to_string(size) + " elements";
  expectWholeBytes(what, pointer, size, loc);
  builder::expectReach(&t, pointer, size, what, loc);
  auto vector = mlir::VectorType::get(size, type.getElemTy());
  return t.wrap(t.create<fly::PtrLoadOp>(loc, vector, t.use(pointer, loc)), pointer.node()->dtype,
                loc);
}

void pointerStore(const Handle &pointer, const Handle &value, Loc loc) {
  Tracer &t = Tracer::require("a pointer's store", loc);
  mlir::Value number = elementValue(t, value, dtypeOf(pointer, loc), "memory", loc);
  auto vector = mlir::dyn_cast<mlir::VectorType>(number.getType());
  const std::int64_t count = vector ? vector.getNumElements() : 1;
  const std::string what =
      vector ? "a store of " + std::to_string(count) + " elements" : "a store of an element";
  expectWholeBytes(what, pointer, count, loc);
  builder::expectReach(&t, pointer, count, what, loc);
  t.create<fly::PtrStoreOp>(loc, number, t.use(pointer, loc));
}

/// Moves by whole bytes alone: an address has no room for the rest. Of an offset that only the
/// launch knows, the powers of two that its arithmetic shows to divide it count.
static void expectByteOffset(const Handle &pointer, const Handle &offset, Loc loc) {
  const DType type = pointer.node()->dtype;
  if (!type || type.memory_bits() % 8 == 0 ||
      pointerType(pointer, loc).isIn(fly::AddressSpace::Register))
    return;
  Tracer &t = Tracer::require("a pointer", loc);
  const int whole = 8 / std::gcd(type.memory_bits(), 8);
  auto by = mlir::dyn_cast<fly::IntTupleType>(t.values.typeOf(offset, loc));
  if (!by || !by.getValue().isLeaf() || by.getValue().leaf().isDivisibleBy(whole))
    return;
  if (by.getValue().leaf().isDynamic() &&
      (1 << fly::knownTrailingZeros(t.use(scalarOfTuple(offset, loc), loc))) % whole == 0)
    return;
  const std::string number = std::to_string(whole);
  throw TraceError("a pointer to " + std::string(type.name()) + " is moved by " +
                       by.getValue().str() +
                       " elements, which are not known to be whole bytes; n * " + number +
                       " is a multiple of " + number + ", and recast(fx::u8) counts in bytes",
                   loc);
}

Handle pointerAdd(const Handle &pointer, const Handle &offset, bool negative, Loc loc) {
  expectByteOffset(pointer, offset, loc);
  Handle zero = staticLeaf(0);
  Handle by = negative ? tupleBinary(TupleOp::sub, zero, offset, loc) : offset;
  return algebra(AlgebraOp::add_offset, {&pointer, &by}, loc);
}

Handle pointerRecast(const Handle &pointer, DType dtype, Loc loc) {
  Tracer &t = Tracer::require("a pointer", loc);
  fly::PointerType type = pointerType(pointer, loc);
  mlir::Type to =
      fly::PointerType::get(t.context(), builder::elementType(dtype, t.context()),
                            type.getAddressSpace(), type.getAlignment(), type.getSwizzle());
  return t.wrap(t.create<fly::RecastIterOp>(loc, to, t.use(pointer, loc)), dtype, loc);
}

} // namespace detail

using detail::algebra;
using detail::AlgebraOp;

Layout Tensor::layout(Loc loc) const {
  return Layout(algebra(AlgebraOp::get_layout, {&handle_}, loc));
}
IntTuple Tensor::shape(Loc loc) const {
  return IntTuple(algebra(AlgebraOp::get_shape, {&handle_}, loc));
}
IntTuple Tensor::stride(Loc loc) const {
  return IntTuple(algebra(AlgebraOp::get_stride, {&handle_}, loc));
}
Pointer Tensor::iter(Loc loc) const {
  return Pointer(algebra(AlgebraOp::get_iter, {&handle_}, loc));
}

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

/// A view begins and ends in the memory that its pointer belongs to, as far as that is known.
static void expectInside(const Pointer &iter, const Value &layout, Loc loc) {
  builder::expectReachBelow(detail::running(), iter.handle(), layout.handle(), loc);
  const detail::HostValue reach =
      detail::hostView(algebra(AlgebraOp::cosize, {&layout.handle()}, loc), loc);
  const auto *needed = std::get_if<layout::IntTuple>(&reach);
  if (needed && needed->isLeaf() && needed->leaf().isStatic())
    builder::expectReach(detail::running(), iter.handle(), needed->leaf().value(),
                         "the layout " + layout.str(), loc);
}

Tensor make_view(const Pointer &iter, const Layout &layout, Loc loc) {
  expectInside(iter, layout, loc);
  return Tensor(algebra(AlgebraOp::make_view, {&iter.handle(), &layout.handle()}, loc));
}
Tensor make_view(const Pointer &iter, const ComposedLayout &layout, Loc loc) {
  expectInside(iter, layout, loc);
  return Tensor(algebra(AlgebraOp::make_view, {&iter.handle(), &layout.handle()}, loc));
}
Tensor make_view(const IntTuple &offset, const Layout &layout, Loc loc) {
  return Tensor(algebra(AlgebraOp::make_view, {&offset.handle(), &layout.handle()}, loc));
}

Tensor make_identity_tensor(const IntTuple &shape, Loc loc) {
  Layout layout = make_identity_layout(shape, loc);
  return make_view(coprofile(layout, loc), layout, loc);
}

static Tensor fragmentLike(const Value &x, DType type, Loc loc) {
  Tracer &t = Tracer::require("make_fragment_like", loc);
  fly::MakeFragmentLikeOp::Properties properties;
  if (type)
    properties.dtype = mlir::TypeAttr::get(builder::elementType(type, t.context()));
  mlir::Value v = t.emit<fly::MakeFragmentLikeOp>(loc, t.use(x.handle(), loc), properties);
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
  detail::HostValue view = detail::hostView(layout.handle(), loc);
  auto *plain = std::get_if<layout::Layout>(&view);
  if (!plain)
    throw TraceError("registers need a layout that is known while tracing, not " + layout.str() +
                         "; take a tile of a static shape first, or pass its extent as an "
                         "fx::Constexpr",
                     loc);
  if (builder::lowestPlace(*plain) < 0)
    throw TraceError("the layout " + layout.str() +
                         " of a fragment in registers has places before the first one; its strides "
                         "are not negative",
                     loc);
  auto pointer =
      fly::PointerType::get(builder::elementType(type, t.context()), fly::AddressSpace::Register);
  mlir::Value v = t.create<fly::MemRefAllocaOp>(
      loc, fly::MemRefType::get(pointer, layout::AnyLayout(*plain)), t.use(layout.handle(), loc));
  return Tensor(t.wrap(v, type, loc));
}

Tensor make_rmem_tensor(const IntTuple &shape, DType type, Loc loc) {
  return make_rmem_tensor(make_layout(shape, loc), type, loc);
}

template <class Op>
static Boolean compare(const IntTuple &a, const IntTuple &b,
                       layout::Int (*evaluate)(const layout::IntTuple &, const layout::IntTuple &),
                       Loc loc) {
  detail::HostValue va = detail::hostView(a.handle(), loc), vb = detail::hostView(b.handle(), loc);
  auto *ta = std::get_if<layout::IntTuple>(&va), *tb = std::get_if<layout::IntTuple>(&vb);
  if (ta && tb)
    return Boolean(builder::layoutErrorsAt(loc, [&] { return evaluate(*ta, *tb).value() != 0; }),
                   loc);
  Tracer &t = Tracer::requireFor<Op>(loc);
  mlir::Value left = t.use(a.handle(), loc), right = t.use(b.handle(), loc);
  return Boolean(t.wrap(t.create<Op>(loc, t.builder().getI1Type(), left, right), boolean, loc));
}

/// A number has a number as its counterpart, a tuple one of as many modes.
static void expectCounterparts(const layout::IntTuple &a, const layout::IntTuple &b,
                               const std::string &whole, Loc loc) {
  if (a.rank() != b.rank() || (a.rank() > 1 && a.isLeaf() != b.isLeaf()))
    throw TraceError(whole + ": " + a.str() + " and " + b.str() +
                         " are nested in other ways, so some leaf has no counterpart; fx::get, "
                         "fx::take and fx::make_coord bring one to the form of the other",
                     loc);
  for (int mode = 0; !(a.isLeaf() && b.isLeaf()) && mode < a.rank(); ++mode)
    expectCounterparts(a.at(mode), b.at(mode), whole, loc);
}

/// A tuple as its type has it: what is dynamic is anonymous.
static layout::IntTuple profileOf(const IntTuple &tuple, Loc loc) {
  detail::HostValue view = detail::hostView(tuple.handle(), loc);
  if (auto *known = std::get_if<layout::IntTuple>(&view))
    return *known;
  const mlir::Type type = Tracer::require("elem_less", loc).values.typeOf(tuple.handle(), loc);
  return mlir::cast<fly::IntTupleType>(type).getValue();
}

Boolean elem_less(const IntTuple &a, const IntTuple &b, Loc loc) {
  expectCounterparts(profileOf(a, loc), profileOf(b, loc),
                     "elem_less(" + a.str() + ", " + b.str() + ")", loc);
  return compare<fly::ElemLessOp>(a, b, &layout::elemLess, loc);
}
Boolean equal(const IntTuple &a, const IntTuple &b, Loc loc) {
  return compare<fly::EqualOp>(a, b, &layout::equal, loc);
}

FLYDSL_NAMESPACE_END
