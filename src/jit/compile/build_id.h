// What tells one build of this library, and of the LLVM it runs with, from another.
#pragma once

#include <string>

namespace flydsl::jit {

/// The linker's build ids of this library, libMLIR and libLLVM, with LLVM's version. Part of every
/// cache key, so that no build is ever served another build's code. Made once per process.
const std::string &buildIdentity();

} // namespace flydsl::jit
