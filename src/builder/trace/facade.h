// What the eDSL's functions ask about the trace that runs on their thread. The code below them is
// handed the tracer, and asks builder/trace/view.h.
#pragma once

#include "builder/trace/tracer.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// The trace that runs on this thread, or null.
inline builder::Tracer *running() { return builder::Tracer::current(); }

inline HostValue hostView(const Handle &handle, Loc loc) {
  return builder::hostView(running(), handle, loc);
}
inline mlir::Type tracedType(const Handle &handle, Loc loc) {
  return builder::tracedType(running(), handle, loc);
}
inline std::string describe(const Handle &handle) { return builder::describe(running(), handle); }

} // namespace detail
FLYDSL_NAMESPACE_END
