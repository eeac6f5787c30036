// MUL_MAT of one column by plans of the kernel library.
#pragma once

#include "ops/op.h"

#include <flydsl/kernels/activation.h>

#include <optional>

namespace flydsl_ggml {

/// The activation of the library for a function of GLU; none for what others compute, such as limits.
std::optional<flydsl::kernels::Activation> activationOf(ggml_glu_op op);

/// Computes the product of a matrix of weights and one column by the library's product for weights in
/// blocks, in f32, as a step of decoding has it. Returns whether there is a plan for it.
bool columnByPlan(const Run &run, const ggml_tensor *op);
/// The same of two products of the same column and GLU of them.
bool gatedColumnByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                       const ggml_tensor *glu);

} // namespace flydsl_ggml
