// Text from the device, and promises to the compiler.
#pragma once

#include <flydsl/numeric.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// A format with the place of its call.
struct Format {
  const char *text;
  Loc loc;
  Format(const char *t, Loc l = Loc::current()) : text(t), loc(l) {}
};
FLYDSL_API void print(const Format &format, std::initializer_list<Handle> values);
} // namespace detail

/// Prints from every thread that comes by: `fx::printf("i = {}, x = {}\n", i, x)`, one value for
/// each `{}`, and the end of the line where the format has none.
template <class... T> void printf(const detail::Format &format, const T &...values) {
  detail::print(format, {Numeric::Arg(values, format.loc).handle...});
}

/// A promise that the condition holds; where it does not, the kernel may do anything.
FLYDSL_API void assume(const Boolean &condition, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
