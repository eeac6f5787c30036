// The values of collectives: numbers, and records of numbers; and a thread's items.
#pragma once

#include <flydsl/kernel/vector.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// The element types of a value: one of a number, one for each number of a record. A record is a
/// C++ aggregate of up to eight numbers or records, such as
///
///   struct Best { fx::Float32 value; fx::Int32 index; };
///
/// and its type is that of its fields in their order: `ValueType({fx::f32, fx::i32})`, or
/// `coop::type_of<Best>()`.
class FLYDSL_API ValueType {
public:
  ValueType(DType number) : fields_{number} {}
  ValueType(std::vector<DType> fields) : fields_(std::move(fields)) {}
  ValueType(std::initializer_list<DType> fields) : fields_(fields) {}
  /// The types of the numbers, records in records opened.
  const std::vector<DType> &fields() const { return fields_; }
  /// "f32", or "(f32, i32)".
  std::string str() const;
  friend bool operator==(const ValueType &, const ValueType &) = default;

private:
  std::vector<DType> fields_;
};

namespace impl {

/// A value without its C++ type: the handles of its numbers.
using Fields = std::vector<detail::Handle>;
/// A thread's values.
using Items = std::vector<Fields>;

/// Converts to a field of any type, while fields are counted.
struct AnyField {
  template <class T> operator T() const;
};
template <class T, std::size_t... I> constexpr bool takesFields(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyField())...}; };
}
template <class T, std::size_t N> constexpr std::size_t fieldCount() {
  if constexpr (N == 0 || takesFields<T>(std::make_index_sequence<N>()))
    return N;
  else
    return fieldCount<T, N - 1>();
}

/// The fields of an aggregate, by reference.
template <class T> auto fieldsOf(const T &record) {
  constexpr std::size_t count = fieldCount<T, 9>();
  static_assert(count > 0 && count < 9, "a record of a collective has one to eight fields");
  if constexpr (count == 1) {
    auto &[a] = record;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto &[a, b] = record;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto &[a, b, c] = record;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto &[a, b, c, d] = record;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto &[a, b, c, d, e] = record;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto &[a, b, c, d, e, f] = record;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto &[a, b, c, d, e, f, g] = record;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto &[a, b, c, d, e, f, g, h] = record;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

/// A value of a collective: a number of a kernel, or an aggregate of such.
template <class T>
concept Number = std::derived_from<T, Numeric>;
template <class T>
concept Record = std::is_aggregate_v<T> && !Number<T> && !std::derived_from<T, Value>;
template <class T>
concept CoopValue = Number<T> || Record<T>;

template <CoopValue T> void appendFields(Fields &to, const T &value) {
  if constexpr (Number<T>)
    to.push_back(value.handle());
  else
    std::apply([&](const auto &...field) { (appendFields(to, field), ...); }, fieldsOf(value));
}
template <CoopValue T> Fields toFields(const T &value) {
  Fields fields;
  appendFields(fields, value);
  return fields;
}

template <CoopValue T> T fromFields(const detail::Handle *&next);
template <CoopValue T, class... F>
T recordOf(const detail::Handle *&next, std::type_identity<std::tuple<F...>>) {
  return T{fromFields<std::remove_cvref_t<F>>(next)...};
}
template <CoopValue T> T fromFields(const detail::Handle *&next) {
  if constexpr (Number<T>)
    return T(*next++);
  else
    return recordOf<T>(next, std::type_identity<decltype(fieldsOf(std::declval<const T &>()))>());
}
template <CoopValue T> T fromFields(const Fields &fields) {
  const detail::Handle *next = fields.data();
  return fromFields<T>(next);
}

template <CoopValue T> void appendTypes(std::vector<DType> &to);
template <class... F> void appendAll(std::vector<DType> &to, std::type_identity<std::tuple<F...>>) {
  (appendTypes<std::remove_cvref_t<F>>(to), ...);
}
template <CoopValue T> void appendTypes(std::vector<DType> &to) {
  if constexpr (Number<T>) {
    static_assert(
        requires { T::type; },
        "the type of an fx::Numeric is not known to C++: name the types of the fields");
    to.push_back(T::type);
  } else {
    appendAll(to, std::type_identity<decltype(fieldsOf(std::declval<const T &>()))>());
  }
}

/// An element of a tensor is a number.
template <class T> struct Plain {
  using type = T;
};
template <Number T>
  requires(!requires { T::type; })
struct Plain<T> {
  using type = Numeric;
};
/// The type of results for an argument of type T.
template <class T> using PlainOf = typename Plain<std::remove_cvref_t<T>>::type;

FLYDSL_API Items itemsOfVector(const Vector &vector, Loc loc);
FLYDSL_API Vector vectorOfItems(const Items &items, Loc loc);

/// A thread's items as one of their C++ types: an fx::Vector of numbers; a std::vector or
/// std::array of values; or one value alone.
template <class C> struct ItemsOf {
  static_assert(CoopValue<C>, "a collective takes numbers, records, an fx::Vector of numbers, or a "
                              "std::vector or std::array of numbers or records");
  using Item = PlainOf<C>;
  using Result = Item;
  template <class U> using With = U;
  static Items take(const C &value, Loc) { return {toFields(value)}; }
  static Result make(const Items &items, Loc) { return fromFields<Item>(items.front()); }
};
template <> struct ItemsOf<Vector> {
  using Item = Numeric;
  using Result = Vector;
  template <class U> using With = Vector;
  static Items take(const Vector &value, Loc loc) { return itemsOfVector(value, loc); }
  static Vector make(const Items &items, Loc loc) { return vectorOfItems(items, loc); }
};
template <class T> struct ItemsOf<std::vector<T>> {
  using Item = PlainOf<T>;
  using Result = std::vector<Item>;
  template <class U> using With = std::vector<U>;
  static Items take(const std::vector<T> &values, Loc) {
    Items items;
    for (const T &value : values)
      items.push_back(toFields(value));
    return items;
  }
  static Result make(const Items &items, Loc) {
    Result values;
    values.reserve(items.size());
    for (const Fields &fields : items)
      values.push_back(fromFields<Item>(fields));
    return values;
  }
};
template <class T, std::size_t N> struct ItemsOf<std::array<T, N>> {
  using Item = PlainOf<T>;
  using Result = std::array<Item, N>;
  template <class U> using With = std::array<U, N>;
  static Items take(const std::array<T, N> &values, Loc) {
    Items items;
    for (const T &value : values)
      items.push_back(toFields(value));
    return items;
  }
  static Result make(const Items &items, Loc) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Result{fromFields<Item>(items[I])...};
    }(std::make_index_sequence<N>());
  }
};

/// The values that make up an item of type C.
template <class C> using ItemOf = typename ItemsOf<std::remove_cvref_t<C>>::Item;
/// How one such value is taken: of a Numeric, a host number too, which gets its type.
template <class C>
using InitOf = std::conditional_t<std::same_as<ItemOf<C>, Numeric>, detail::NumericArg, ItemOf<C>>;
inline Fields initFields(const detail::NumericArg &number) { return {number.handle}; }
template <CoopValue T> Fields initFields(const T &value) { return toFields(value); }
/// What a collective gives for items of type C: as many in the same kind of container.
template <class C> using ResultOf = typename ItemsOf<std::remove_cvref_t<C>>::Result;
/// As many values of type U in the same kind of container.
template <class C, class U>
using ResultWith = typename ItemsOf<std::remove_cvref_t<C>>::template With<U>;

template <class C> Items takeItems(const C &items, Loc loc) { return ItemsOf<C>::take(items, loc); }
template <class C> C makeItems(const Items &items, Loc loc) { return ItemsOf<C>::make(items, loc); }

} // namespace impl

/// The type of a record or number whose fields' types C++ knows.
template <impl::CoopValue T> ValueType type_of() {
  std::vector<DType> fields;
  impl::appendTypes<T>(fields);
  return ValueType(std::move(fields));
}

} // namespace coop
FLYDSL_NAMESPACE_END
