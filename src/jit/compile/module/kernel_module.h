// The part of a module that is compiled: its one gpu.module with kernels. Functions of the host are
// left out.
#pragma once

#include <string>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace flydsl::jit {

/// The one gpu.module of `module`; null after an error through the context's diagnostics if there
/// are none or several.
mlir::Operation *findGpuModule(mlir::ModuleOp module);
/// The name of the first kernel in `module`, for messages and dump folders; "kernel" where there is
/// none.
std::string kernelName(mlir::ModuleOp module);
/// Outlines gpu.launch regions and removes host functions, in place. False after a diagnostic.
bool keepDeviceCode(mlir::ModuleOp module);

} // namespace flydsl::jit
