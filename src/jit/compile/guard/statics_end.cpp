// The linker's option --wrap (CMakeLists.txt of this room) leads here each registration of a static
// object's destructor, in whatever is linked with this file. A compile makes statics of LLVM and MLIR
// at any time, and exit() goes backwards: a handler that was registered before would run after them.
// So each destructor waits for the compiler's work itself. To register a handler after each one
// instead would leave a gap between the two, in which exit() may already run.
#include "jit/compile/guard/compiler_use.h"

#include <memory>
#include <new>

namespace {

struct Destruction {
  void (*destroy)(void *);
  void *object;
};

/// atexit() of the C library registers functions without a parameter this way, too.
__attribute__((no_sanitize("function"))) void destroyAfterWork(void *registered) {
  const std::unique_ptr<Destruction> destruction(static_cast<Destruction *>(registered));
  flydsl::jit::onExit();
  destruction->destroy(destruction->object);
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the names that the linker's --wrap gives
extern "C" {

int __real___cxa_atexit(void (*destroy)(void *), void *object, void *library);
int __wrap___cxa_atexit(void (*destroy)(void *), void *object, void *library) {
  auto *destruction = new (std::nothrow) Destruction{destroy, object};
  if (!destruction) // as it was without this file
    return __real___cxa_atexit(destroy, object, library);
  const int status = __real___cxa_atexit(destroyAfterWork, destruction, library);
  if (status != 0)
    delete destruction;
  return status;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
