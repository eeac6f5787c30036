// Arguments of a kernel that are read where they are used.
//
// A kernel's arguments are in memory that all of its waves read. The compiler reads them where the
// kernel begins, and keeps them in scalar registers until their last use. A kernel with many of them
// runs out of these registers in a loop that needs none of them:
//
//   for (fx::Int32 i : fx::range(n)) { ... }               // the longest part of the kernel
//   const fx::Strided<fx::OnDevice, 2> y = fx::read_again(p.y); // not kept over the loop
#pragma once

#include <flydsl/kernel/numeric.h>
#include <flydsl/params.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
FLYDSL_API Numeric readAgain(const Numeric &argument, Loc loc);

template <class T> T fieldAgain(const T &argument, Loc loc) {
  if constexpr (std::derived_from<T, Numeric>)
    return T(readAgain(argument, loc));
  else if constexpr (IsStdArray<T>::value)
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{fieldAgain(argument[I], loc)...};
    }
  (std::make_index_sequence<std::tuple_size_v<T>>{});
  else if constexpr (AnOptional<T>) return argument ? T(fieldAgain(*argument, loc)) : T();
  else if constexpr (ParamStruct<T>) return withFields(
      argument, [&](const auto &...field) { return T{fieldAgain(field, loc)...}; });
  else return argument;
}
} // namespace detail

/// An argument of the kernel, a number or a struct of such, read again here instead of kept in
/// registers from where it was read before. Numbers of 32 and of 64 bits are read again, all others
/// and tensors are kept. Throws TraceError for a number that is not an argument but was computed of some.
template <class T>
requires(std::derived_from<T, Numeric> || detail::ParamStruct<T>) T
    read_again(const T &argument, Loc loc = Loc::current()) {
  return detail::fieldAgain(argument, loc);
}

FLYDSL_NAMESPACE_END
