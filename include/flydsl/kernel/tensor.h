// Tensors, which are memory or coordinates seen through a layout, and the pointers that they start
// at.
#pragma once

#include <flydsl/kernel/vector.h>
#include <flydsl/layout/layout.h>
#include <flydsl/pointer_arg.h>

FLYDSL_NAMESPACE_BEGIN

/// The memory that a pointer points into.
enum class AddressSpace { generic, global, shared, register_ };

namespace detail {
FLYDSL_API Handle loadElement(const Handle &tensor, const Handle &coord, Loc loc);
FLYDSL_API void storeElement(const Handle &tensor, const Handle &coord, const Handle &loaded,
                             const Handle &value, Loc loc);
FLYDSL_API Handle loadVector(const Handle &tensor, Loc loc);
FLYDSL_API void storeVector(const Handle &tensor, const Handle &vector, Loc loc);
FLYDSL_API AddressSpace addressSpaceOf(const Handle &handle, Loc loc);
FLYDSL_API int alignmentOf(const Handle &handle, Loc loc);
FLYDSL_API Handle pointerLoad(const Handle &pointer, Loc loc);
FLYDSL_API Handle pointerLoadVector(const Handle &pointer, std::int64_t size, Loc loc);
FLYDSL_API void pointerStore(const Handle &pointer, const Handle &value, Loc loc);
FLYDSL_API Handle pointerAdd(const Handle &pointer, const Handle &offset, bool negative, Loc loc);
FLYDSL_API Handle pointerRecast(const Handle &pointer, DType type, Loc loc);
FLYDSL_API Handle pointerAddress(const Handle &pointer, Loc loc);
FLYDSL_API Handle pointerFromAddress(const Handle &address, DType type, AddressSpace space,
                                     int alignment, Loc loc);
} // namespace detail

/// A typed pointer into one of the GPU's memories.
class FLYDSL_API Pointer : public Value {
public:
  using Value::Value;
  /// The type of the elements that it points at.
  DType dtype(Loc loc = Loc::current()) const { return detail::dtypeOf(handle_, loc); }
  /// The memory that it points into.
  AddressSpace address_space(Loc loc = Loc::current()) const {
    return detail::addressSpaceOf(handle_, loc);
  }
  /// The number of bytes that is known to divide the address.
  int alignment(Loc loc = Loc::current()) const { return detail::alignmentOf(handle_, loc); }
  /// Reads the element that it points at.
  Numeric load(Loc loc = Loc::current()) const {
    return Numeric(detail::pointerLoad(handle_, loc));
  }
  /// Reads `size` elements. It points at the first one.
  Vector load(std::int64_t size, Loc loc = Loc::current()) const {
    return Vector(detail::pointerLoadVector(handle_, size, loc));
  }
  /// Writes the element that it points at: a number of its type, or a host number that fits it.
  void store(const Numeric::Arg &value) const {
    detail::pointerStore(handle_, value.handle, value.loc);
  }
  /// Writes as many elements as the vector has, of the same type.
  void store(const Vector &value, Loc loc = Loc::current()) const {
    detail::pointerStore(handle_, value.handle(), loc);
  }
  /// The same address with another element type.
  Pointer recast(DType type, Loc loc = Loc::current()) const {
    return Pointer(detail::pointerRecast(handle_, type, loc));
  }
  /// The address as a number: an Int64 of global memory, an Int32 of shared memory.
  Numeric address(Loc loc = Loc::current()) const {
    return Numeric(detail::pointerAddress(handle_, loc));
  }
  /// The memory at an address, which is a number of 64 bits for global and of 32 bits for shared
  /// memory. The address is promised to be a multiple of `alignment` bytes, a power of two of at
  /// least the element's size; 0 stands for that size. Nothing else is known of it: neither what it
  /// belongs to nor how far it reaches.
  static Pointer from_address(const Numeric &address, DType type,
                              AddressSpace space = AddressSpace::global, int alignment = 0,
                              Loc loc = Loc::current()) {
    return Pointer(detail::pointerFromAddress(address.handle(), type, space, alignment, loc));
  }
  /// The pointer moved by `offset` elements.
  friend Pointer operator+(const Pointer &p, const IntTuple::Arg &offset) {
    return Pointer(detail::pointerAdd(p.handle(), offset.handle, false, offset.loc));
  }
  /// The pointer moved back by `offset` elements.
  friend Pointer operator-(const Pointer &p, const IntTuple::Arg &offset) {
    return Pointer(detail::pointerAdd(p.handle(), offset.handle, true, offset.loc));
  }
};

/// An element of a tensor. It is the element's value, read at the place of the expression;
/// `tensor(i, j) = x` writes the element. An element of an identity tensor is a coordinate, an
/// IntTuple.
class FLYDSL_API Element : public Numeric {
public:
  Element(const detail::Handle &tensor, const detail::Handle &coord, Loc loc)
      : Numeric(detail::loadElement(tensor, coord, loc)), tensor_(tensor), coord_(coord) {}
  Element(const Element &) = default;
  /// Writes the element: a number of the element's type, or a host number that fits it. Only
  /// `tensor(...) = x` assigns; a named element is a value like any other.
  void operator=(const Numeric::Arg &value) && {
    detail::storeElement(tensor_, coord_, handle_, value.handle, value.loc);
  }
  void operator=(const Element &value) && {
    detail::storeElement(tensor_, coord_, handle_, value.handle(), detail::unknownPlace());
  }
  /// `tensor(i, j) += x` and the others read the element, combine and write it. If threads change
  /// one element at the same time, changes are lost; use `fx::atomic` then. The result has the
  /// element's type.
  void operator+=(const Numeric::Arg &v) && { change(detail::BinaryOp::add, v); }
  void operator-=(const Numeric::Arg &v) && { change(detail::BinaryOp::sub, v); }
  void operator*=(const Numeric::Arg &v) && { change(detail::BinaryOp::mul, v); }
  void operator/=(const Numeric::Arg &v) && { change(detail::BinaryOp::div, v); }
  void operator%=(const Numeric::Arg &v) && { change(detail::BinaryOp::rem, v); }
  void operator&=(const Numeric::Arg &v) && { change(detail::BinaryOp::bitAnd, v); }
  void operator|=(const Numeric::Arg &v) && { change(detail::BinaryOp::bitOr, v); }
  void operator^=(const Numeric::Arg &v) && { change(detail::BinaryOp::bitXor, v); }
  void operator<<=(const Numeric::Arg &v) && { change(detail::BinaryOp::shl, v); }
  void operator>>=(const Numeric::Arg &v) && { change(detail::BinaryOp::shr, v); }
  /// `++tensor(i, j)` and `tensor(i, j)++` add 1 to the element; the latter is the value before.
  void operator++() && { change(detail::BinaryOp::add, one()); }
  void operator--() && { change(detail::BinaryOp::sub, one()); }
  Numeric operator++(int) && {
    change(detail::BinaryOp::add, one());
    return Numeric(handle_);
  }
  Numeric operator--(int) && {
    change(detail::BinaryOp::sub, one());
    return Numeric(handle_);
  }
#define FLYDSL_NAMED_ELEMENT                                                                       \
  "a named element is the value that it had; only tensor(i, j) = x writes, and fx::Var holds "     \
  "what changes"
  FLYDSL_REFUSED(FLYDSL_NAMED_ELEMENT, void operator=(const Numeric::Arg &) &);
  FLYDSL_REFUSED(FLYDSL_NAMED_ELEMENT, void operator=(const Element &) &);
#undef FLYDSL_NAMED_ELEMENT
  FLYDSL_CHANGES_REFUSED

private:
  static Numeric::Arg one() { return {1, detail::unknownPlace()}; }
  void change(detail::BinaryOp op, const Numeric::Arg &v) {
    detail::storeElement(tensor_, coord_, handle_, detail::binary(op, handle_, v.handle, v.loc),
                         v.loc);
  }
  detail::Handle tensor_, coord_;
};

/// Memory seen through a layout (`!fly.memref`), or coordinates seen through one (an identity
/// tensor).
class FLYDSL_API Tensor : public Value, public detail::Indexed<Tensor, Element> {
public:
  using Value::Value;
  static constexpr detail::ArgType::Kind param_kind = detail::ArgType::Kind::tensor;
  static Tensor from_param(const detail::ParamHandle &param) {
    return Tensor(detail::wrapParam(param));
  }

  /// The element type. Throws TraceError for a tensor of coordinates.
  DType dtype(Loc loc = Loc::current()) const { return detail::dtypeOf(handle_, loc); }
  /// The memory that it lies in.
  AddressSpace address_space(Loc loc = Loc::current()) const {
    return detail::addressSpaceOf(handle_, loc);
  }
  /// The number of bytes that is known to divide its address.
  int alignment(Loc loc = Loc::current()) const { return detail::alignmentOf(handle_, loc); }
  /// Where its elements are: coordinate -> number of elements from the start.
  Layout layout(Loc loc = Loc::current()) const;
  /// The extents of the layout's modes.
  IntTuple shape(Loc loc = Loc::current()) const;
  /// The distance between neighbours along each mode, in elements.
  IntTuple stride(Loc loc = Loc::current()) const;
  /// The number of top-level modes.
  int rank(Loc loc = Loc::current()) const { return detail::rankOf(handle_, loc); }
  /// A pointer to the start of the tensor.
  Pointer iter(Loc loc = Loc::current()) const;
  /// The same memory as elements of another type: the mode of neighbours gets longer or shorter, the
  /// strides of the others count in the new elements. So a field of a record of bytes becomes
  /// numbers: `record(_, 3).recast(fx::u32)`. Its alignment stays what is known of it, by which loads
  /// and stores go. Throws TraceError where an element would be a part of what it was, or would have
  /// bytes that the tensor does not have: for larger elements, neighbours must be known to be there
  /// in whole elements, and other strides to be multiples.
  Tensor recast(DType type, Loc loc = Loc::current()) const;
  /// Reads all elements, in the order of the layout's coordinates (first mode fastest). The shape
  /// must be static.
  Vector load(Loc loc = Loc::current()) const { return Vector(detail::loadVector(handle_, loc)); }
  /// Writes all elements; `values` has as many, of the same element type.
  void store(const Vector &values, Loc loc = Loc::current()) const {
    detail::storeVector(handle_, values.handle(), loc);
  }
  /// Sets all elements to one value.
  void fill(const Numeric::Arg &value) const;
  /// One element; `tensor(i, j)` is the short form.
  Element point(const IntTuple &coord, Loc loc) const {
    return Element(handle_, coord.handle(), loc);
  }
};

/// The memory at `iter`, seen through a layout.
FLYDSL_API Tensor make_view(const Pointer &iter, const Layout &layout, Loc loc = Loc::current());
FLYDSL_API Tensor make_view(const Pointer &iter, const ComposedLayout &layout,
                            Loc loc = Loc::current());
/// Coordinates that start at `offset`, seen through a layout whose strides are along coordinates.
FLYDSL_API Tensor make_view(const IntTuple &offset, const Layout &layout, Loc loc = Loc::current());
/// The tensor whose element at a coordinate is that coordinate.
FLYDSL_API Tensor make_identity_tensor(const IntTuple &shape, Loc loc = Loc::current());
/// Registers for a copy of `x`, with its shape and its element type, or `type` if that is given;
/// `type` is required if `x` is a tensor of coordinates. The layout is compact: the first mode is
/// the fastest, the others follow in the order of their strides, and a mode of stride 0 keeps it.
FLYDSL_API Tensor make_fragment_like(const Tensor &x, DType type = {}, Loc loc = Loc::current());
FLYDSL_API Tensor make_fragment_like(const Layout &x, DType type, Loc loc = Loc::current());
/// Registers with a compact layout of a shape (first mode fastest), or with a static layout.
FLYDSL_API Tensor make_rmem_tensor(const IntTuple &shape, DType type, Loc loc = Loc::current());
FLYDSL_API Tensor make_rmem_tensor(const Layout &layout, DType type, Loc loc = Loc::current());

/// True if each leaf of `a` is less than its counterpart in `b`.
FLYDSL_API Boolean elem_less(const IntTuple &a, const IntTuple &b, Loc loc = Loc::current());
/// True if all leaves are equal.
FLYDSL_API Boolean equal(const IntTuple &a, const IntTuple &b, Loc loc = Loc::current());

template <> struct ArgTraits<Pointer> {
  template <class Host> static void pack(ArgPack &to, const Host &host) {
    static_assert(std::is_convertible_v<const Host &, PointerArg>,
                  "a Pointer parameter takes a pointer to elements that a DeviceArray may hold, or "
                  "fx::PointerArg(address, dtype)");
    const PointerArg pointer = host;
    to.pointer(pointer.dtype(), pointer.address());
  }
  static Pointer make(ParamReader &from) {
    const detail::ParamHandle &handle = from.next();
    detail::ArgType address;
    address.dtype = i64;
    return Pointer::from_address(Int64::from_param({handle.value, &address}), handle.type->dtype);
  }
};

FLYDSL_NAMESPACE_END
