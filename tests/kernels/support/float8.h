// The 8-bit float that the target's matrix instructions take.
#pragma once

#include "support/float8_of.h"
#include "support/structure.h"

namespace kernel_tests {

/// None on gfx90a.
inline fx::DType float8() { return float8Of(here()); }

} // namespace kernel_tests
