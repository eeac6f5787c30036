// What an output must hold, and how far from it.
#pragma once

#include <flydsl/dtype.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The values of an output, and how far a kernel may be from each: infinitely far from what it does
/// not write.
struct Expected {
  std::vector<double> values, bound;
};

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
