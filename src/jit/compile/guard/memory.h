// What happens where memory runs out inside of the compiler. LLVM and MLIR are built without
// exceptions: std::bad_alloc passes through them without a destructor being called, so what they
// were about is left half done, and a lock that they held stays taken.
#pragma once

#include <cstddef>
#include <string_view>

namespace flydsl::jit {

/// What a compile of a large kernel allocates at most at one time, and more than a context takes.
inline constexpr std::size_t kCompilerMemory = std::size_t(64) << 20;

/// Throws CompileError if the process can't have `bytes` more. To fail here costs nothing; what
/// fails in the middle of a compile is lost with what it had allocated. Nothing stays allocated.
void expectMemory(std::size_t bytes, std::string_view doing);

/// Lets LLVM's own allocations fail by std::bad_alloc, as those by `new` do, and not by abort(), if
/// the LLVM is this library's, and lets exceptions leave functions of the C library when no memory is
/// left.
void letAllocationsThrow();

} // namespace flydsl::jit
