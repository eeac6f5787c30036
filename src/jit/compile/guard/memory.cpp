#include "jit/compile/guard/memory.h"

#include "jit/compile/guard/llvm_recovery.h"
#include "jit/compile/guard/recovery.h"

#include <flydsl/error.h>

#include "llvm/Support/ErrorHandling.h"

#include <exception>
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

namespace {

constexpr int kNoMemoryCode = 0x7e0f;

} // namespace

void noMemory() {
  if (Recovery *here = Recovery::current(); here && here->takesMemory())
    here->leave(kNoMemoryCode);
  throw std::bad_alloc();
}

void runAbandoning(llvm::function_ref<void()> work) {
  std::exception_ptr thrown;
  Recovery *const outer = Recovery::current();
  Recovery here;
  here.takeMemory();
  const bool returned = here.run([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (thrown)
    std::rethrow_exception(thrown);
  if (returned)
    return;
  if (outer && here.code() != kNoMemoryCode) // a fault, or the end of its time
    outer->leave(here.code());
  throw std::bad_alloc();
}

void letAllocationsThrow() {
  // An exception that leaves a function of the C library, such as pthread_once, needs the unwinder
  // there. glibc loads it at the first use, and aborts if there is no memory for that; backtrace is a
  // first use.
  void *frame = nullptr;
  backtrace(&frame, 1);
  if (isLlvmOurs())
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { noMemory(); });
}

} // namespace flydsl::jit
