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

[[noreturn]] void ranOut() {
  if (Recovery *here = Recovery::current(); here && here->takesMemory())
    here->leave(kNoMemoryCode);
  throw std::bad_alloc();
}

/// What `allocate` gives. Its exception is over before the work is left.
template <class F> void *given(const F &allocate) {
  try {
    return allocate();
  } catch (const std::bad_alloc &) {
  }
  ranOut();
}

} // namespace

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
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { ranOut(); });
}

// NOLINTBEGIN(readability-identifier-naming): the names that the linker calls
extern "C" {

// MLIR makes operations and values in what malloc gives and does not look whether it gave anything
// (Operation::create).
void *__real_malloc(std::size_t bytes);
void *__wrap_malloc(std::size_t bytes) {
  void *const memory = __real_malloc(bytes);
  if (!memory && bytes > 0)
    ranOut();
  return memory;
}

// operator new and operator new[], without and with an alignment
void *__real__Znwm(std::size_t bytes);
void *__wrap__Znwm(std::size_t bytes) {
  return given([=] { return __real__Znwm(bytes); });
}
void *__real__Znam(std::size_t bytes);
void *__wrap__Znam(std::size_t bytes) {
  return given([=] { return __real__Znam(bytes); });
}
void *__real__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
void *__wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
  return given([=] { return __real__ZnwmSt11align_val_t(bytes, alignment); });
}
void *__real__ZnamSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
void *__wrap__ZnamSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
  return given([=] { return __real__ZnamSt11align_val_t(bytes, alignment); });
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)

} // namespace flydsl::jit
