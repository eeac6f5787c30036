// MUL_MAT of one column by plans of the kernel library.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Computes the product of a matrix of weights and one column by the library's product for weights in
/// blocks, in f32, as a step of decoding has it. Returns whether there is a plan for it.
bool columnByPlan(const Run &run, const ggml_tensor *op);
/// The same of two products of the same column and GLU of them.
bool gatedColumnByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                       const ggml_tensor *glu);

} // namespace flydsl_ggml
