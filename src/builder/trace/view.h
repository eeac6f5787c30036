// What is known of a handle without making operations, and how messages name it.
#pragma once

#include "builder/trace/node.h"

#include "mlir/IR/Types.h"

namespace flydsl::builder {

using detail::Handle;
using detail::Node;
class Tracer;

// `running` is the trace in progress, null outside of any.

/// What `handle` is to the algebra: host values, and traced ones whose type is static; monostate
/// for others. A traced value of a finished trace is a TraceError.
detail::HostValue hostView(const Tracer *running, const Handle &handle, Loc loc);
/// The type of a traced value; a TraceError if its trace is not the running one.
mlir::Type tracedType(const Tracer *running, const Handle &handle, Loc loc);
/// `handle` for a message: "(8,16):(1,8)" or its IR type.
std::string describe(const Tracer *running, const Handle &handle);
/// ", made at file:line"; what a parameter is; nothing if nobody knows.
std::string originOf(const Node &node);

} // namespace flydsl::builder
