// ROCm's device library as bitcode: math functions (__ocml_*) and runtime functions (__ockl_*) that
// MLIR's lowering calls. Its files are put into this library when it is built, so that kernels
// which use them compile where no ROCm is, and always to the same code.
#pragma once

#include <string_view>

namespace flydsl::jit {

std::string_view ocmlBitcode();
std::string_view ocklBitcode();

} // namespace flydsl::jit
