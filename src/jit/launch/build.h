// How an executable is made: of a kernel and one signature by a trace, or of a module that was
// read. The compiler or the cache then gives its code.
#pragma once

#include "jit/launch/executable_state.h"
#include <flydsl/target.h>

#include <flydsl/detail/kernel_spec.h>

#include <array>
#include <memory>
#include <source_location>
#include <span>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

struct CompileOptions;

/// The environment's options and the hints'.
CompileOptions optionsFor(const Target &target, const KernelHints &hints);

/// Throws CompileError where the hints name a workgroup size, which a module says itself.
void refuseBlockHint(const KernelHints &hints, const char *who, const std::source_location &where);

/// Throws what the trace and the compile throw. `keepIr`: the traced IR is kept as text.
std::shared_ptr<const detail::ExecutableState> build(const detail::KernelSpec &spec,
                                                     std::span<const detail::ArgType> types,
                                                     std::array<unsigned, 3> block,
                                                     const Target &target, bool keepIr);

/// What a launch must know of a kernel of `object`.
runtime::LaunchFacts factsOf(const CodeObject &object, const KernelMetadata &kernel,
                             const Target &target);

/// The executable of the first kernel of `module`. Throws CompileError.
std::shared_ptr<const detail::ExecutableState> buildModule(mlir::ModuleOp module,
                                                           const CompileOptions &options);

/// Throws CompileError where the code object's explicit arguments do not lie where a call packs
/// them. `recordsEvents`: behind them is the address of the buffer of the kernel's events.
void checkArgumentLayout(const KernelMetadata &kernel, std::span<const detail::ArgType> types,
                         bool recordsEvents);
/// Throws CompileError where the code object is for workgroups of another size than the call's.
void checkRequiredBlock(const KernelMetadata &kernel, std::array<unsigned, 3> block);

} // namespace flydsl::jit
