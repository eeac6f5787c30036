// Demands on layouts that a kernel's author makes while tracing. Two layouts that should be one
// function, such as those by which one copy writes a tile in shared memory and another reads it, are
// correct each by itself, so that nothing else can tell that one of them lacks the swizzle.
#pragma once

#include <flydsl/kernel/tensor.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
FLYDSL_API void assertSameLayout(const Handle &a, const Handle &b, Loc loc);
FLYDSL_API void assertInjective(const Handle &layout, Loc loc);
FLYDSL_API void assertCovers(const Handle &layout, std::int64_t places, Loc loc);
} // namespace detail

// A tensor counts by its layout, with the swizzle of its pointer; where it begins does not matter.
// A layout must be known while tracing and have at most 1048576 coordinates (TraceError otherwise).

/// Both have the same extents along each top-level mode and put every coordinate at the same place.
/// How their modes are nested does not matter: (4,8):(8,1) is the same as ((2,2),8):((8,16),1).
/// Otherwise a TraceError says the first coordinate at which they differ, the place that each has
/// there, and shows a picture of both if they are small.
template <detail::LayoutLike A, detail::LayoutLike B>
void assert_same_layout(const A &a, const B &b, Loc loc = Loc::current()) {
  detail::assertSameLayout(a.handle(), b.handle(), loc);
}
/// No two coordinates are at one place, so that a write through the layout loses nothing. Otherwise
/// a TraceError names two that are.
template <detail::LayoutLike L> void assert_injective(const L &x, Loc loc = Loc::current()) {
  detail::assertInjective(x.handle(), loc);
}
/// The places are the numbers from 0 to below `places`, each at least once: nothing is left out, and
/// nothing lies past the end. Otherwise a TraceError names the first place without a coordinate,
/// or the first coordinate outside.
template <detail::LayoutLike L>
void assert_covers(const L &x, std::int64_t places, Loc loc = Loc::current()) {
  detail::assertCovers(x.handle(), places, loc);
}

FLYDSL_NAMESPACE_END
