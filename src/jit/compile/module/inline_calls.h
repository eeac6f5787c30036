// Calls among the functions of a module, put in the place of the call: the passes lower the layouts
// of one function at a time, and a function of the host is evaluated alone.
#pragma once

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Replaces each `func.call` of a function that has a body by that body, and removes functions that
/// are called by nothing else: all of a gpu.module, the private ones of the host. Calls of declared
/// functions stay. False, with a diagnostic at the call, for functions that call themselves, for
/// bodies that the place of the call can't hold, and for bodies that grow without measure.
bool inlineCalls(mlir::ModuleOp module);

} // namespace flydsl::jit
