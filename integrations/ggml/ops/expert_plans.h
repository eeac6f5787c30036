// MUL_MAT_ID by plans of the kernel library.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Computes the products of the experts that tokens chose by grouped products, whose rows are sorted by
/// expert on the device, if there is a plan for it that is estimated to be faster than the traced kernel.
/// Returns whether it did.
bool mulMatIdByPlan(const Run &run, const ggml_tensor *op);

} // namespace flydsl_ggml
