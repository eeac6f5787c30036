// Element types by their names, for text that names them: configurations, command lines.
#pragma once

#include <flydsl/dtype.h>

#include <array>
#include <optional>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// All element types, `none` among them, in the order of DType::Kind.
inline constexpr auto kAllDTypes = [] {
  std::array<DType, static_cast<std::size_t>(DType::Kind::f4E2M1FN) + 1> all{};
  for (std::size_t kind = 0; kind < all.size(); ++kind)
    all[kind] = DType(static_cast<DType::Kind>(kind));
  return all;
}();

static_assert(DType(static_cast<DType::Kind>(kAllDTypes.size())).name() == "none",
              "the last element type is not in kAllDTypes");

/// The element type with a name; std::nullopt if no type has it.
constexpr std::optional<DType> dtypeCalled(std::string_view name) {
  for (const DType type : kAllDTypes)
    if (type.name() == name)
      return type;
  return std::nullopt;
}

} // namespace detail
FLYDSL_NAMESPACE_END
