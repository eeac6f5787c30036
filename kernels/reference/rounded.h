// Values of a reference in the type of an output.
#pragma once

#include "host/values.h"
#include "reference/reference.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// Adds a value with the error of its arithmetic and that of its rounding.
inline void add(Expected &to, DType dtype, double value, double error) {
  to.values.push_back(value);
  to.bound.push_back(error + std::fabs(value) * host::unit(dtype) + host::underflow(dtype));
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
