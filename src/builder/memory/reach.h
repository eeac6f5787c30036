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

} // namespace flydsl::builder
