// The table of vendors and their instructions.
#pragma once

#include "builder/kernel/vendor_instructions.h"

namespace flydsl::builder {

/// Those of the vendor whose target is traced for; of the library's own vendor if the trace is for
/// no particular target. TraceError that names the call if the vendor has none.
const VendorInstructions &instructionsFor(const char *call, Loc loc);

/// Adds another vendor's, which live as long as the process. TraceError if the vendor has some.
void registerInstructions(const VendorInstructions &instructions);

} // namespace flydsl::builder
