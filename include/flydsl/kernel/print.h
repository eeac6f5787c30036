// Printing from the device, and assumptions for the compiler.
#pragma once

#include <flydsl/kernel/numeric.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// A format string with the source location of its call.
struct Format {
  const char *text;
  Loc loc;
  Format(const char *t, Loc l = Loc::current()) : text(t), loc(l) {}
};
FLYDSL_API void print(const Format &format, std::initializer_list<Handle> values);
} // namespace detail

/// Prints from every thread that executes it: `fx::printf("i = {}, x = {}\n", i, x)`. Each `{}`
/// takes one value. A line end is added if the format does not end in one.
template <class... T> void printf(const detail::Format &format, const T &...values) {
  detail::print(format, {Numeric::Arg(values, format.loc).handle...});
}

/// Promises the compiler that the condition holds. If it does not hold, the behaviour of the kernel
/// is undefined. What a kernel promises of a number by comparing it with constants is known to the
/// arithmetic of layouts, too, if it is promised in the same block of the code in which the number is
/// made: `fx::assume((stride >= 0) & (stride < 1 << 20))` lets the places of a tile have 32 bits.
FLYDSL_API void assume(const Boolean &condition, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
