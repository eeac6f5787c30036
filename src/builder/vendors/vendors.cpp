// The table of vendors. AMD's instructions are in it from the start.
#include "builder/vendors/vendors.h"

#include "builder/rocdl/vendor.h"
#include "builder/trace/tracer.h"

#include <mutex>
#include <vector>

namespace flydsl::builder {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const VendorInstructions *> vendors = {&amdInstructions()};
};

Registry &registry() {
  static Registry &registry = *new Registry; // traces may outlive main()
  return registry;
}

} // namespace

const VendorInstructions &instructionsFor(const char *call, Loc loc) {
  const Tracer &t = Tracer::require(call, loc);
  std::lock_guard lock(registry().mutex);
  if (!t.kernel.target)
    return *registry().vendors.front();
  for (const VendorInstructions *known : registry().vendors)
    if (known->vendor() == t.kernel.target->vendor())
      return *known;
  throw TraceError("there is no " + std::string(call) + " for " + t.kernel.target->name() +
                       ", whose vendor has not registered its instructions",
                   loc);
}

void registerInstructions(const VendorInstructions &instructions) {
  std::lock_guard lock(registry().mutex);
  for (const VendorInstructions *known : registry().vendors)
    if (known->vendor() == instructions.vendor())
      throw TraceError("instructions are registered for a vendor that has some", Loc());
  registry().vendors.push_back(&instructions);
}

} // namespace flydsl::builder
