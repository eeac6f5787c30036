// Tracing: a kernel's body and the types of one call's arguments become a module of Fly IR.
#pragma once

#include <flydsl/detail/kernel_spec.h>
#include <flydsl/target.h>

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <array>
#include <optional>
#include <span>

namespace flydsl::builder {

/// A traced kernel.
struct TraceResult {
  /// Holds gpu.module @kernels { gpu.func @name ... kernel }.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string kernelName; ///< the symbol of the gpu.func
  std::string variant;    ///< the text of the constants among the parameters
  /// Bytes of statically allocated shared memory that the body asked for.
  std::size_t staticSharedBytes = 0;
  /// Bytes of dynamic shared memory that the body uses, as far as it says: a launch gives as many
  /// or more.
  std::size_t dynamicSharedBytes = 0;
  /// Bytes of a red zone after each static array for which the target has room, if there are arrays to
  /// tell apart; else 0 (SharedBytes::redZone).
  std::uint64_t redZone = 0;
  /// Whether there are several static arrays.
  bool hasNeighbours = false;
  /// Whether the kernel records events: its last argument is then their buffer.
  bool recordsEvents = false;
};

/// Traces `spec` for arguments of `types` in `context`, whose dialects are loaded and which nobody
/// else uses meanwhile; the result must die before it. `block` is the launch's workgroup size
/// ({0,0,0}: not known), which becomes `known_block_size`. Runs the user's body on this thread;
/// what the body throws comes out, and a mistake in its use of the library is a TraceError with the
/// user's line. `target` is what the code is for; without one, what differs between targets is a
/// TraceError.
TraceResult traceKernel(const detail::KernelSpec &spec, std::span<const detail::ArgType> types,
                        std::array<unsigned, 3> block, mlir::MLIRContext &context,
                        const std::optional<Target> &target = {});

} // namespace flydsl::builder
