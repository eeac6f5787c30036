// From the text of a module to its two parts: kernels to compile, and host functions to evaluate.
#pragma once

#include "jit/program/plan.h"

#include <string_view>

namespace flydsl::jit {

/// Reads a module, lowers the layouts of its host functions to numbers, and lists the functions
/// that launch kernels. Throws CompileError for what readModule refuses, for a module without such
/// functions, and for host code that the passes refuse.
ProgramModule readProgram(std::string_view module, const std::string &name, bool trusted,
                          unsigned timeoutSeconds);

} // namespace flydsl::jit
