// The 8-bit float that a processor's matrix instructions take.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/target.h>

namespace kernel_tests {

/// None on gfx90a.
inline flydsl::DType float8Of(const flydsl::Target &target) {
  return target.has(flydsl::feature::ocp_fp8)    ? flydsl::f8E4M3FN
         : target.has(flydsl::feature::fnuz_fp8) ? flydsl::f8E4M3FNUZ
                                                 : flydsl::DType();
}

} // namespace kernel_tests
