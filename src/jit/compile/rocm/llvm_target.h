// A target as LLVM and comgr spell it.
#pragma once

#include <flydsl/target.h>

#include <string>

namespace flydsl::jit {

/// Code object version 5: the oldest that carries all that these kernels use, so that older loaders
/// take it too.
inline constexpr unsigned kCodeObjectVersion = 500;

/// LLVM's feature string, such as "+sramecc,-xnack"; empty where nothing is fixed.
std::string llvmFeatures(const Target &target);

/// "amdgcn-amd-amdhsa--" and the target's id, as comgr names an ISA.
std::string isaName(const Target &target);

} // namespace flydsl::jit
