#include "jit/compile/guard/memory.h"

#include "jit/compile/guard/llvm_recovery.h"

#include <flydsl/error.h>

#include "llvm/Support/ErrorHandling.h"

#include <execinfo.h>
#include <new>
#include <string>
#include <sys/mman.h>

namespace flydsl::jit {

void expectMemory(std::size_t bytes, std::string_view doing) {
  void *const room =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    throw CompileError(std::string(doing) + " failed: there is not enough memory; it may need " +
                       std::to_string(bytes >> 20) + " MB");
  munmap(room, bytes);
}

void letAllocationsThrow() {
  // An exception that leaves a function of the C library, such as pthread_once, needs the unwinder
  // there. glibc loads it at the first use, and aborts if there is no memory for that; backtrace is a
  // first use.
  void *frame = nullptr;
  backtrace(&frame, 1);
  if (isLlvmOurs())
    llvm::install_bad_alloc_error_handler(
        [](void *, const char *, bool) { throw std::bad_alloc(); });
}

} // namespace flydsl::jit
