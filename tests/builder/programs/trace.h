// The kernel's side of a program.
#pragma once

#include "expression.h"

#include <flydsl/flydsl.h>

namespace programs {

/// Traces a program of the row that `lane` has in `rows`.
flydsl::Numeric traced(const Node &program, const flydsl::Tensor &rows,
                       const flydsl::Numeric &lane);

} // namespace programs
