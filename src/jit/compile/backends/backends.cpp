// The table of backends. AMD's is in it from the start; others are added before the first compile.
#include "jit/compile/backends/backends.h"

#include "jit/compile/rocm/rocm_backend.h"

#include <flydsl/error.h>

#include <mutex>

namespace flydsl::jit {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const Backend *> backends = {&rocmBackend()};
};

Registry &registry() {
  static Registry &registry = *new Registry; // compiles may outlive main()
  return registry;
}

} // namespace

std::vector<const Backend *> allBackends() {
  std::lock_guard lock(registry().mutex);
  return registry().backends;
}

const Backend &backendFor(const Target &target) {
  for (const Backend *backend : allBackends())
    if (backend->vendor() == target.vendor())
      return *backend;
  throw CompileError("no backend compiles for " + target.id());
}

void registerBackend(const Backend &backend) {
  std::lock_guard lock(registry().mutex);
  for (const Backend *known : registry().backends)
    if (known->vendor() == backend.vendor())
      throw CompileError("a backend is registered for a vendor that has one");
  registry().backends.push_back(&backend);
}

} // namespace flydsl::jit
