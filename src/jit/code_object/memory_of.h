// The memory that a compiled kernel takes in a process.
#pragma once

#include "jit/code_object/code_object.h"

#include <cstddef>

namespace flydsl::jit {

/// About how many bytes the object takes, with what its kernels and arguments are called.
std::size_t memoryOf(const CodeObject &object);

} // namespace flydsl::jit
