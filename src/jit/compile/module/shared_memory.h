// Which lines use how much shared memory, for the message when a workgroup would have too much.
#pragma once

#include <flydsl/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class Operation;
} // namespace mlir

namespace flydsl::jit {

/// The shared memory that one line of the user's asks for.
struct SharedUse {
  std::uint64_t bytes;
  SourceLocation place; ///< unknown for IR without locations
};

/// The variables in `addressSpace`, that of shared memory, of a gpu.module in the LLVM dialect.
/// Those of one line count together; the largest comes first.
std::vector<SharedUse> sharedUses(mlir::Operation *gpuModule, unsigned addressSpace);

/// "72968 bytes of shared memory are over the 65536 that a workgroup may have: 72768 bytes at ..."
std::string overSharedLimit(const std::vector<SharedUse> &uses, std::uint64_t bytes,
                            std::uint64_t limit);

} // namespace flydsl::jit
