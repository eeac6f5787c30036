// The error of the layout algebra, and a helper that builds its messages.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace flydsl::layout {

/// An operation of the algebra has no answer: its operands do not fit, a value leaves 64 bits, or a
/// part is dynamic that must be static. The message names the operation and prints the operands.
class LayoutError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// Appends a value as text: by its `str()` if it has one, otherwise as a stream prints it.
template <class T> void append(std::ostringstream &os, const T &value) {
  if constexpr (requires { value.str(); })
    os << value.str();
  else
    os << value;
}

} // namespace detail

/// Throws a LayoutError whose message is the concatenation of the parts.
template <class... Parts> [[noreturn]] void fail(const Parts &...parts) {
  std::ostringstream os;
  (detail::append(os, parts), ...);
  throw LayoutError(os.str());
}

} // namespace flydsl::layout
