// The error of the layout algebra, and the small text helper its messages are built with.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace flydsl::layout {

/// An operation of the algebra that can't be answered: operands that do not fit, a value past 64
/// bits, or a dynamic part where a static one is needed. The message names the operation and prints
/// the operands.
class LayoutError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// Anything with a `str()` prints by it, the rest as a stream does.
template <class T> void append(std::ostringstream &os, const T &value) {
  if constexpr (requires { value.str(); })
    os << value.str();
  else
    os << value;
}

} // namespace detail

/// Throws a LayoutError whose message is the parts, one after the other.
template <class... Parts> [[noreturn]] void fail(const Parts &...parts) {
  std::ostringstream os;
  (detail::append(os, parts), ...);
  throw LayoutError(os.str());
}

} // namespace flydsl::layout
