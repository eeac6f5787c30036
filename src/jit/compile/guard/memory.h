// What happens where memory runs out inside of the compiler. LLVM and MLIR are built without
// exceptions: std::bad_alloc would pass through them without a destructor being called, so what they
// were about is left half done, and a lock that they held stays taken.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <string_view>

namespace flydsl::jit {

/// What a compile of a large kernel allocates at most at one time, and more than a context takes.
inline constexpr std::size_t kCompilerMemory = std::size_t(64) << 20;

/// Throws CompileError if the process can't have `bytes` more. To fail here costs nothing; what
/// fails in the middle of a compile is lost with what it had allocated. Nothing stays allocated.
void expectMemory(std::size_t bytes, std::string_view doing);

/// Runs `work`, on whose stack LLVM or MLIR has something, on a guarded thread (guard.h). Where memory
/// runs out, the work is left there and then, as after a fault, and std::bad_alloc is thrown from here:
/// nothing that the work made is destroyed, because a destructor of what is half changed spoils the
/// heap. What the work throws comes out of here. `work` must not take a lock that outlives it.
void runAbandoning(llvm::function_ref<void()> work);

/// Lets LLVM's own allocations fail as those by `new` do, and not by abort(), if the LLVM is this
/// library's, and lets exceptions leave functions of the C library when no memory is left. The linker's
/// --wrap leads each `new` and each malloc of the library, and of the LLVM inside of it, to functions
/// that end by noMemory (allocation_wrappers.cpp).
void letAllocationsThrow();

/// What an allocation that found no memory does: it leaves the work of runAbandoning, and throws
/// std::bad_alloc elsewhere.
[[noreturn]] void noMemory();

} // namespace flydsl::jit
