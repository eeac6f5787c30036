// MUL_MAT_ID by plans of the kernel library.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Computes the products of the experts that tokens chose by the library's product of experts with weights
/// in blocks, or by grouped products, whose rows are sorted by expert on the device, if there is a plan that
/// is estimated to be faster than the traced kernel. Returns whether it did.
bool mulMatIdByPlan(const Run &run, const ggml_tensor *op);
/// The same of two such products of the same inputs and experts, and GLU of them.
bool mulMatIdsThenGlu(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                      const ggml_tensor *glu);

} // namespace flydsl_ggml
