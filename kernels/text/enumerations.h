// The names of a struct's enumerations, so that words can say scale_a=per_row.
#pragma once

#include <flydsl/host/autotune.h>

#include <array>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::text {

/// An enumeration's values and names, in the order of the header.
using Enumerators = std::vector<std::pair<std::int64_t, std::string>>;

/// Of the fields that are enumerations, by the fields' names as flydsl::to_config gives them.
using Enumerations = std::map<std::string, Enumerators, std::less<>>;

namespace detail {

/// "per_row" for Scales::per_row; empty for a number that has no name.
template <auto Value> consteval std::string_view enumeratorName() {
  // Clang: "... [Value = flydsl::kernels::Scales::per_row]"; GCC: "... [with auto Value =
  // flydsl::kernels::Scales::per_row; ...]". A number without a name is "(Scales)9" in both.
  std::string_view text = std::source_location::current().function_name();
  text = text.substr(text.find("Value = ") + 8);
  text = text.substr(0, text.find_first_of("];"));
  return text.starts_with('(') ? std::string_view() : text.substr(text.find_last_of(':') + 1);
}

/// No enumeration of the library has a value past this one; a larger one is shown as a number.
inline constexpr std::int64_t kMostEnumerators = 64;

template <class E, std::size_t... I> Enumerators enumeratorsOf(std::index_sequence<I...>) {
  Enumerators all;
  const std::array<std::string_view, sizeof...(I)> names{enumeratorName<static_cast<E>(I)>()...};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty())
      all.emplace_back(static_cast<std::int64_t>(i), names[i]);
  return all;
}

template <class T> void addEnumerations(Enumerations &to, const std::string &name, const T &value) {
  namespace fields = flydsl::detail;
  if constexpr (fields::PlainStruct<T>)
    fields::eachField(value, [&](std::string_view field, const auto &inner) {
      addEnumerations(to, fields::fieldOf(name, field), inner);
    });
  else if constexpr (fields::IsStdArray<T>::value)
    for (std::size_t i = 0; i < value.size(); ++i)
      addEnumerations(to, name + "." + std::to_string(i), value[i]);
  else if constexpr (std::is_enum_v<T>)
    to[name] = enumeratorsOf<T>(std::make_index_sequence<kMostEnumerators>{});
}

} // namespace detail

/// The enumerations among the fields of T.
template <class T> Enumerations enumerationsOf() {
  Enumerations all;
  detail::addEnumerations(all, {}, T{});
  return all;
}

/// "none, per_row, per_block".
std::string namesOf(const Enumerators &all);

/// The value of a name, or of a number that has one. Throws flydsl::Error with the names.
std::int64_t enumeratorNamed(const std::string &field, const Enumerators &all,
                             const std::string &text);

/// The entries as text, enumerations by their names: "n=48 scale_a=per_row".
std::string shown(const Config &config, const Enumerations &enumerations);

} // namespace kernels::text
FLYDSL_NAMESPACE_END
