// Vectors in registers: the result of a tensor's `load` and the argument of its `store`.
#pragma once

#include <flydsl/kernel/numeric.h>

#include <array>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// The operation that combines values: sum, product, minimum or maximum.
enum class Reduction { add, mul, min, max };

namespace detail {
FLYDSL_API std::int64_t vectorSize(const Handle &vector, Loc loc);
FLYDSL_API Handle vectorExtract(const Handle &vector, std::int64_t index, Loc loc);
FLYDSL_API Handle vectorExtract(const Handle &vector, const Handle &index, Loc loc);
FLYDSL_API Handle vectorSplat(const Handle &scalar, std::int64_t size, DType type, Loc loc);
FLYDSL_API Handle vectorOf(const Handle *const *elements, std::size_t count, Loc loc);
FLYDSL_API Handle vectorOfNumbers(const HostNumber *numbers, std::size_t count, DType type,
                                  Loc loc);
template <HostNumeric T>
Handle vectorOfTable(const T *table, std::size_t count, DType type, Loc loc) {
  std::vector<HostNumber> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(hostNumber(table[i]));
  return vectorOfNumbers(numbers.data(), count, type, loc);
}
FLYDSL_API Handle vectorReduce(const Handle &vector, Reduction op, Loc loc);
FLYDSL_API Handle vectorShuffle(const Handle &a, const Handle &b, const std::int64_t *mask,
                                std::size_t count, Loc loc);
class VectorVar;

/// An operand of an operator, with the source location of the expression.
struct VectorArg {
  Handle handle;
  Loc loc;
  VectorArg(const Vector &v, Loc l = Loc::current());
  VectorArg(const Numeric &v, Loc l = Loc::current()) : handle(v.handle()), loc(l) {}
  /// The value of the variable at the place of the expression.
  VectorArg(const NumericVar &v, Loc l = Loc::current())
      : handle(NumericArg(v, l).handle), loc(l) {}
  FLYDSL_API VectorArg(const VectorVar &v, Loc l = Loc::current());
  template <HostNumeric T>
  VectorArg(T v, Loc l = Loc::current()) : handle(constant(hostNumber(v), DType(), l)), loc(l) {}
  template <NumericConstant C>
  VectorArg(const C &constant, Loc l = Loc::current()) : VectorArg(constant.value(), l) {}
};

} // namespace detail

/// A one-dimensional vector with a static number of elements. Operators work element by element; a
/// scalar or host number on one side is applied to all elements. Element types mix as those of
/// scalars do. A comparison gives a vector of booleans.
class FLYDSL_API Vector : public Value,
                          public detail::Operators<detail::VectorArg, Vector, Vector> {
public:
  FLYDSL_NO_CHANGES(Vector)
  using Value::Value;
  /// The element type.
  DType dtype(Loc loc = Loc::current()) const { return detail::dtypeOf(handle_, loc); }
  /// The number of elements.
  std::int64_t size(Loc loc = Loc::current()) const { return detail::vectorSize(handle_, loc); }

  /// A vector all of whose elements have the value.
  static Vector splat(const Numeric &value, std::int64_t size, Loc loc = Loc::current()) {
    return Vector(detail::vectorSplat(value.handle(), size, DType(), loc));
  }
  template <detail::HostNumeric T>
  static Vector splat(T value, std::int64_t size, DType type, Loc loc = Loc::current()) {
    return Vector(detail::vectorSplat(detail::constant(detail::hostNumber(value), type, loc), size,
                                      type, loc));
  }
  /// A vector of the given scalars, which must have one element type.
  static Vector of(std::initializer_list<Numeric> elements, Loc loc = Loc::current());
  /// A vector of the numbers of an array of the host, which are constants of the kernel. Such a
  /// table may be read at an index that only the kernel knows, which an array may not:
  /// `fx::Vector::of(table)[i]`. The elements are of `type`, or of the array's own type.
  template <detail::HostNumeric T, std::size_t N>
  static Vector of(const T (&table)[N], DType type = dtype_of<T>, Loc loc = Loc::current()) {
    return Vector(detail::vectorOfTable(table, N, type, loc));
  }
  template <detail::HostNumeric T, std::size_t N>
  static Vector of(const std::array<T, N> &table, DType type = dtype_of<T>,
                   Loc loc = Loc::current()) {
    return Vector(detail::vectorOfTable(table.data(), N, type, loc));
  }

  /// One element.
  Numeric operator[](const detail::NumericArg &index) const {
    return Numeric(detail::vectorExtract(handle_, index.handle, index.loc));
  }
  Numeric at(std::int64_t index, Loc loc = Loc::current()) const {
    return Numeric(detail::vectorExtract(handle_, index, loc));
  }
  Numeric at(const Numeric &index, Loc loc = Loc::current()) const {
    return Numeric(detail::vectorExtract(handle_, index.handle(), loc));
  }

  /// The elements in another element type, converted as scalars are.
  Vector to(DType type, Loc loc = Loc::current()) const {
    return Vector(detail::convert(handle_, type, loc));
  }
  /// The same bits as a vector of another element type; the number of elements changes with the
  /// width.
  Vector bitcast(DType type, Loc loc = Loc::current()) const {
    return Vector(detail::bitcast(handle_, type, loc));
  }
  /// All elements combined into one; the order of the combination is unspecified.
  Numeric reduce(Reduction op, Loc loc = Loc::current()) const {
    return Numeric(detail::vectorReduce(handle_, op, loc));
  }
  /// A vector of elements picked by number: the elements of this vector are numbered first, then
  /// those of `other`.
  Vector shuffle(const Vector &other, std::initializer_list<std::int64_t> mask,
                 Loc loc = Loc::current()) const {
    return Vector(detail::vectorShuffle(handle_, other.handle(), mask.begin(), mask.size(), loc));
  }

  using Arg = detail::VectorArg;
};

namespace detail {
inline VectorArg::VectorArg(const Vector &v, Loc l) : handle(v.handle()), loc(l) {}
} // namespace detail

/// The smaller or larger value, element by element, as for scalars.
inline Vector min(const Vector &a, const Vector::Arg &b) {
  return Vector(detail::binary(detail::BinaryOp::min, a.handle(), b.handle, b.loc));
}
inline Vector max(const Vector &a, const Vector::Arg &b) {
  return Vector(detail::binary(detail::BinaryOp::max, a.handle(), b.handle, b.loc));
}
/// Element by element: the element of `a` if the condition (a vector of booleans) holds, otherwise
/// that of `b`.
inline Vector select(const Vector &condition, const Vector::Arg &a, const Vector::Arg &b) {
  return Vector(detail::select(condition.handle(), a.handle, b.handle, a.loc));
}

FLYDSL_NAMESPACE_END
