// LLVM bitcode of other compilers that kernels call into.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <span>
#include <string_view>

namespace llvm {
class Module;
} // namespace llvm

namespace flydsl::jit {

/// One file of bitcode.
struct BitcodeLibrary {
  std::string_view name; ///< for messages
  std::string_view bytes;
};

/// Defines what `module` declares and calls from the libraries, the earlier ones first. Only what
/// is needed is linked, and `settle` is called after each round of it: it may define what a library
/// leaves to its user. What no library defines stays a declaration, and the linker names it.
/// `sharedSpace` is the number of the address space of shared memory, which libraries have no part
/// of. False after a diagnostic through the module's LLVMContext.
bool linkBitcode(llvm::Module &module, std::span<const BitcodeLibrary> libraries,
                 unsigned sharedSpace,
                 llvm::function_ref<void(llvm::Module &)> settle);

} // namespace flydsl::jit
