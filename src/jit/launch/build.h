// From a kernel and one signature to an executable: trace, then the compile or the cache.
#pragma once

#include "jit/launch/executable_state.h"
#include "jit/target.h"

#include <flydsl/detail/kernel_spec.h>

#include <array>
#include <memory>
#include <span>

namespace flydsl::jit {

/// Throws what the trace and the compile throw. `keepIr`: the traced IR is kept as text.
std::shared_ptr<const detail::ExecutableState> build(const detail::KernelSpec &spec,
                                                     std::span<const detail::ArgType> types,
                                                     std::array<unsigned, 3> block,
                                                     const Target &target, bool keepIr);

/// Throws CompileError where the code object's explicit arguments do not lie where a call packs
/// them.
void checkArgumentLayout(const KernelMetadata &kernel, std::span<const detail::ArgType> types);

} // namespace flydsl::jit
