// MUL_MAT by plans of the kernel library.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Computes the product by a plan if there is one for it that is estimated to be faster than the traced
/// kernel. Returns whether it did. Weights are leaves of the graph that are matrices: a plan is compiled
/// for their very shape, which caches of keys, whose shapes grow, would make many.
bool mulMatByPlan(const Run &run, const ggml_tensor *op);
/// Whether mulMatByPlan would.
bool hasPlan(const Run &run, const ggml_tensor *op);

} // namespace flydsl_ggml
