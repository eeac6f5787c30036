// Demands that a kernel or a host function makes on its arguments, with the caller's line.
#pragma once

#include <flydsl/error.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// A value in a message: a number, flag, text, enum, or anything with a str() or a name().
template <class T> std::string messageText(const T &value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return std::to_string(value);
  else if constexpr (std::is_convertible_v<const T &, std::string_view>)
    return std::string(std::string_view(value));
  else if constexpr (requires { value.str(); })
    return value.str();
  else
    return std::string(value.name());
}

/// A text with one {} for each argument, and the line that it stands on. Another number of {} does
/// not compile.
template <class... Args> struct RequiredText {
  std::string_view text;
  std::source_location where;
  consteval RequiredText(const char *text,
                         std::source_location where = std::source_location::current())
      : text(text), where(where) {
    std::size_t places = 0;
    for (std::size_t i = 0; i + 1 < this->text.size(); ++i)
      places += this->text[i] == '{' && this->text[i + 1] == '}';
    if (places != sizeof...(Args))
      throw "the text of fx::require has one {} for each value that follows it";
  }
};

[[noreturn]] FLYDSL_API void failRequirement(std::string_view text, const std::string *values,
                                             const std::source_location &where);

} // namespace detail

/// Throws TraceError with the caller's line where `condition` is false. `text` says what is
/// expected, and each {} in it is one of `values`: a number, flag, text, dtype, shape or layout.
///
///   fx::require(tile->k % 16 == 0, "tile k is a multiple of 16, not {}", tile->k);
template <class... Args>
void require(bool condition, std::type_identity_t<detail::RequiredText<Args...>> text,
             const Args &...values) {
  if (condition) [[likely]]
    return;
  const std::string texts[] = {detail::messageText(values)..., std::string()};
  detail::failRequirement(text.text, texts, text.where);
}

FLYDSL_NAMESPACE_END
