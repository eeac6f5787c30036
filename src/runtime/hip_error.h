// HIP's error codes as exceptions.
#pragma once

#include "runtime/hip_functions.h"

#include <flydsl/error.h>

#include <string_view>

namespace flydsl::runtime {

/// Throws the RuntimeError of `code`, which the thread's last HIP call returned: what was being
/// done, HIP's name and text of the code, and what the emulator has to say beyond it.
[[noreturn]] void throwHipError(hipError_t code, std::string_view doing,
                                const SourceLocation &where = {});

/// Does nothing for hipSuccess.
inline void check(hipError_t code, std::string_view doing, const SourceLocation &where = {}) {
  if (code != hipSuccess) [[unlikely]]
    throwHipError(code, doing, where);
}

} // namespace flydsl::runtime
