// The fields of a plain struct: how many it has, what they are called, and a way to visit them.
//
// C++20 has no reflection, so three well-known means stand in for it. The number of fields is the
// largest number of initializers that the struct takes. Structured bindings give the fields
// themselves. A field's name is read from the compiler's spelling of a function template whose
// argument is the field's address in an object that is never made.
#pragma once

#include <flydsl/export.h>

#include <array>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

template <class T> struct IsStdArray : std::false_type {};
template <class T, std::size_t N> struct IsStdArray<std::array<T, N>> : std::true_type {};

/// A struct without constructors, bases or private members, whose fields can be visited.
template <class T>
concept PlainStruct = std::is_class_v<T> && std::is_aggregate_v<T> && !IsStdArray<T>::value;

/// Stands for a field of any type in an initializer of Struct; it is used in types alone. It does
/// not stand for Struct itself, which would make a copy of a struct with one field.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal" // std::optional's constructors name it
#endif
template <class Struct> struct AnyField {
  template <class Field>
    requires(!std::is_same_v<Field, Struct>)
  operator Field() const noexcept; // not constexpr: such a function would have to be defined
};
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T, std::size_t... I> constexpr bool takesInitializers(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyField<T>{})...}; };
}

inline constexpr std::size_t maxFields = 32;

template <class T, std::size_t N = maxFields + 1> constexpr std::size_t countFields() {
  if constexpr (N == 0)
    return 0;
  else if constexpr (takesInitializers<T>(std::make_index_sequence<N>{}))
    return N;
  else
    return countFields<T, N - 1>();
}

/// The number of fields of a plain struct.
template <PlainStruct T> inline constexpr std::size_t fieldCount = countFields<T>();

/// Calls f(field...) with references to all fields of `value`.
// clang-format off
template <class T, class F>
[[gnu::always_inline]] constexpr decltype(auto) withFields(T &value, F &&f) {
  constexpr std::size_t kCount = fieldCount<std::remove_const_t<T>>;
  static_assert(kCount <= maxFields, "a struct of parameters or of a configuration has at most 32 "
                                     "fields; group some into a struct of their own");
  if constexpr (kCount == 0)
    return f();
  else if constexpr (kCount == 1) {
    auto &[m0] = value;
    return f(m0);
  }
  else if constexpr (kCount == 2) {
    auto &[m0, m1] = value;
    return f(m0, m1);
  }
  else if constexpr (kCount == 3) {
    auto &[m0, m1, m2] = value;
    return f(m0, m1, m2);
  }
  else if constexpr (kCount == 4) {
    auto &[m0, m1, m2, m3] = value;
    return f(m0, m1, m2, m3);
  }
  else if constexpr (kCount == 5) {
    auto &[m0, m1, m2, m3, m4] = value;
    return f(m0, m1, m2, m3, m4);
  }
  else if constexpr (kCount == 6) {
    auto &[m0, m1, m2, m3, m4, m5] = value;
    return f(m0, m1, m2, m3, m4, m5);
  }
  else if constexpr (kCount == 7) {
    auto &[m0, m1, m2, m3, m4, m5, m6] = value;
    return f(m0, m1, m2, m3, m4, m5, m6);
  }
  else if constexpr (kCount == 8) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7);
  }
  else if constexpr (kCount == 9) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8);
  }
  else if constexpr (kCount == 10) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
  }
  else if constexpr (kCount == 11) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  }
  else if constexpr (kCount == 12) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  }
  else if constexpr (kCount == 13) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  }
  else if constexpr (kCount == 14) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  }
  else if constexpr (kCount == 15) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  }
  else if constexpr (kCount == 16) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  }
  else if constexpr (kCount == 17) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  }
  else if constexpr (kCount == 18) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  }
  else if constexpr (kCount == 19) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
  }
  else if constexpr (kCount == 20) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
  }
  else if constexpr (kCount == 21) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20);
  }
  else if constexpr (kCount == 22) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21);
  }
  else if constexpr (kCount == 23) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22);
  }
  else if constexpr (kCount == 24) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23);
  }
  else if constexpr (kCount == 25) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24);
  }
  else if constexpr (kCount == 26) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25);
  }
  else if constexpr (kCount == 27) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26);
  }
  else if constexpr (kCount == 28) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27);
  }
  else if constexpr (kCount == 29) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28);
  }
  else if constexpr (kCount == 30) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29);
  }
  else if constexpr (kCount == 31) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30);
  }
  else if constexpr (kCount == 32) {
    auto &[m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = value;
    return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
  }
}
// clang-format on

/// std::tuple<const Field *...> of the fields of a plain struct: their types, in order.
template <PlainStruct T>
using FieldPointers = decltype(withFields(std::declval<const T &>(), [](const auto &...field) {
  return std::tuple{&field...};
}));

template <class T> struct NeverMade {
  T value;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
/// An object that is declared and never defined: only addresses inside it are spoken of.
template <class T> extern const NeverMade<T> neverMade;

/// "tile_m" of the address of a field tile_m.
template <const auto *Field> consteval std::string_view nameOfField() {
  // Clang: "... [Field = &neverMade.value.tile_m]"; GCC: "... [with const auto* Field =
  // (& neverMade<Config>.NeverMade<Config>::value.Config::tile_m)]", with more after a semicolon.
  std::string_view text = std::source_location::current().function_name();
  text = text.substr(text.find("Field = "));
  text = text.substr(0, text.find_first_of("];", 8));
  while (!text.empty() && text.back() == ')')
    text.remove_suffix(1);
  return text.substr(text.find_last_of(".:>") + 1);
}

template <PlainStruct T, std::size_t... I> consteval auto namesOfFields(std::index_sequence<I...>) {
  constexpr auto addresses =
      withFields(neverMade<T>.value, [](auto &...field) { return std::tuple{&field...}; });
  return std::array<std::string_view, sizeof...(I)>{nameOfField<std::get<I>(addresses)>()...};
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// The names of the fields of a plain struct, in order.
template <PlainStruct T>
inline constexpr std::array<std::string_view, fieldCount<T>> fieldNames =
    namesOfFields<T>(std::make_index_sequence<fieldCount<T>>{});

/// Calls f(name, field) for each field of `value`, in order.
template <class T, class F> constexpr void eachField(T &value, F &&f) {
  withFields(value, [&](auto &...field) {
    std::size_t at = 0;
    (..., f(fieldNames<std::remove_const_t<T>>[at++], field));
  });
}

} // namespace detail
FLYDSL_NAMESPACE_END
