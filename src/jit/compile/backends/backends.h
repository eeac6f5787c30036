// The backends of this process, by the vendor of a target.
#pragma once

#include "jit/compile/codegen/backend.h"

#include <vector>

namespace flydsl::jit {

/// The backend for the target's processor. Throws CompileError where there is none.
const Backend &backendFor(const Target &target);

/// All backends, in the order of their registration; the built-in ones first.
std::vector<const Backend *> allBackends();

/// Adds a backend for the processors of its vendor; it must live as long as the process. To be
/// called before the first compile: contexts that were made before know nothing of its dialects.
/// Throws CompileError where its vendor has a backend.
void registerBackend(const Backend &backend);

} // namespace flydsl::jit
