// A target as LLVM and comgr spell it.
#pragma once

#include <flydsl/target.h>

#include <string>

namespace flydsl::jit {

/// LLVM's feature string, such as "+sramecc,-xnack"; empty where nothing is fixed.
std::string llvmFeatures(const Target &target);

/// "amdgcn-amd-amdhsa--" and the target's id, as comgr names an ISA.
std::string isaName(const Target &target);

} // namespace flydsl::jit
