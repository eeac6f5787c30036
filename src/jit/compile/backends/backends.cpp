// The table of backends. AMD's is in it from the start; others are added before the first compile.
#include "jit/compile/backends/backends.h"

#include "jit/compile/rocm/rocm_backend.h"
#include "target/by_vendor.h"

#include <flydsl/error.h>

namespace flydsl::jit {

namespace {

detail::ByVendor<Backend> &table() {
  static auto &table = *new detail::ByVendor<Backend>(rocmBackend()); // compiles may outlive main()
  return table;
}

} // namespace

std::vector<const Backend *> allBackends() { return table().all(); }

const Backend &backendFor(const Target &target) {
  if (const Backend *backend = table().find(target.vendor()))
    return *backend;
  throw CompileError("no backend compiles for " + target.id());
}

void registerBackend(const Backend &backend) {
  if (!table().add(backend))
    throw CompileError("a backend is registered for a vendor that has one");
}

} // namespace flydsl::jit
