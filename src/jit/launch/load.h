// Loading a compiled kernel on a device, with what subscribers are told of it.
#pragma once

#include "jit/code_object/code_object.h"
#include "jit/launch/executable_state.h"
#include "runtime/loaded_kernel.h"

#include <memory>
#include <source_location>

namespace flydsl::jit {

/// The kernel that `facts` name. Throws RuntimeError as LoadedKernel does.
std::unique_ptr<runtime::LoadedKernel> load(const std::shared_ptr<const CodeObject> &object,
                                            const runtime::LaunchFacts &facts, int device,
                                            const std::source_location &where);

/// The kernel of an executable on `device`. It is loaded once for all copies of the executable,
/// however many threads ask at the same time; the result keeps it loaded.
std::shared_ptr<const runtime::LoadedKernel> load(const detail::ExecutableState &executable,
                                                  int device, const std::source_location &where);

} // namespace flydsl::jit
