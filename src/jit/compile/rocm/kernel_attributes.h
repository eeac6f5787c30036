// The attributes of functions that authors of kernels may set, by LLVM's names.
#pragma once

#include <flydsl/target.h>

#include <string>

namespace flydsl::jit {

/// Why a kernel for the target can't have the attribute with this value, or an empty text. LLVM
/// itself passes over what it does not know.
std::string problemWithKernelAttribute(const std::string &name, const std::string &value,
                                       const Target &target);

} // namespace flydsl::jit
