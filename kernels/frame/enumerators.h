// Whether the enumerations of a problem hold values that they have. A number that is none of them
// comes from a cast, or from a text such as kind=9, and would choose some other kernel.
#pragma once

#include <flydsl/detail/fields.h>
#include <flydsl/kernels/plan.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Whether a value has a name. The compilers spell the argument of this template "Scales::none" if
/// it has one, and "(Scales)9" if it has not.
template <auto Value> consteval bool isEnumerator() {
  std::string_view text = std::source_location::current().function_name();
  text = text.substr(text.find("Value = ") + 8);
  return text.front() != '(';
}

inline constexpr std::size_t kMostEnumerators = 64;

/// A bit for each value below 64 that has a name.
template <class E, std::size_t... I>
consteval std::uint64_t enumeratorsOf(std::index_sequence<I...>) {
  return ((std::uint64_t{isEnumerator<static_cast<E>(I)>()} << I) | ...);
}
template <class E>
inline constexpr std::uint64_t kEnumerators =
    enumeratorsOf<E>(std::make_index_sequence<kMostEnumerators>());

/// Refuses a struct one of whose enumerations, or of its fields', holds a value that it has not.
template <class T> Support enumeratorsHeld(std::string_view name, const T &value) {
  if constexpr (std::is_enum_v<T>) {
    const auto number = static_cast<std::uint64_t>(value);
    if (number < kMostEnumerators && (kEnumerators<T> >> number & 1))
      return {};
    return Support::no(std::string(name) + " is " + std::to_string(number) +
                       ", which is none of the values that it has");
  } else if constexpr (detail::PlainStruct<T>) {
    Support answer;
    detail::eachField(value, [&](std::string_view field, const auto &inner) {
      if (answer)
        answer = enumeratorsHeld(field, inner);
    });
    return answer;
  } else {
    return {};
  }
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
