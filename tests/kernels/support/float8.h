// The 8-bit float that a target's matrix instructions take.
#pragma once

#include "support/structure.h"

namespace kernel_tests {

/// The 8-bit float of the target's instructions; none on gfx90a.
inline fx::DType float8() {
  return here().has(fx::feature::ocp_fp8)    ? fx::f8E4M3FN
         : here().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ
                                             : fx::DType();
}

} // namespace kernel_tests
