// How far memory reaches whose size the trace knows: registers, and static allocations of shared
// memory.
#pragma once

#include "builder/trace/tracer.h"

namespace flydsl::builder {

/// Throws TraceError if the `count` elements from a pointer on are known not to lie all in
/// the fragment or the allocation that the pointer belongs to. Nothing is known of global
/// memory, of dynamic shared memory and of offsets that only the launch knows. `what`
/// begins the message: "a load of 4 elements".
void expectReach(const Tracer *running, const detail::Handle &pointer, std::int64_t count,
                 const std::string &what, Loc loc);

/// The number of the lowest element that a layout reaches: 0, or less where static strides are
/// negative. What only the launch knows counts as 0.
std::int64_t lowestPlace(const layout::Layout &layout);

/// Throws TraceError if a view of a pointer's memory by a layout is known to begin before the fragment
/// or the allocation that the pointer belongs to.
void expectReachBelow(const Tracer *running, const detail::Handle &pointer,
                      const detail::Handle &layout, Loc loc);

} // namespace flydsl::builder
