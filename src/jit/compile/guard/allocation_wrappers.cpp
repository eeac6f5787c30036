// The allocations of LLVM and MLIR where memory runs out: a wrapper for each function that allocates.
// Builds with a sanitizer do not have them, because a sanitizer's functions end the process.

#include "jit/compile/guard/memory.h"

#include <cstddef>
#include <new>

namespace flydsl::jit {

namespace {

/// What `allocate` gives. Its exception is over before the work is left.
template <class F> void *given(const F &allocate) {
  try {
    return allocate();
  } catch (const std::bad_alloc &) {
  }
  noMemory();
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the names that the linker calls
extern "C" {

// MLIR makes operations and values in what malloc gives and does not look whether it gave anything
// (Operation::create).
void *__real_malloc(std::size_t bytes);
void *__wrap_malloc(std::size_t bytes) {
  void *const memory = __real_malloc(bytes);
  if (!memory && bytes > 0)
    noMemory();
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
