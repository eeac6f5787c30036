// The table of vendors. AMD's instructions are in it from the start.
#include "builder/vendors/vendors.h"

#include "builder/rocdl/vendor.h"
#include "builder/trace/tracer.h"
#include "target/by_vendor.h"

namespace flydsl::builder {

namespace {

detail::ByVendor<VendorInstructions> &table() {
  static auto &table =
      *new detail::ByVendor<VendorInstructions>(amdInstructions()); // traces may outlive main()
  return table;
}

} // namespace

const VendorInstructions &instructionsFor(const char *call, Loc loc) {
  const Tracer &t = Tracer::require(call, loc);
  if (!t.kernel.target)
    return table().own();
  if (const VendorInstructions *known = table().find(t.kernel.target->vendor()))
    return *known;
  throw TraceError("there is no " + std::string(call) + " for " + t.kernel.target->name() +
                       ", whose vendor has not registered its instructions",
                   loc);
}

void registerInstructions(const VendorInstructions &instructions) {
  if (!table().add(instructions))
    throw TraceError("instructions are registered for a vendor that has some", Loc());
}

} // namespace flydsl::builder
