// MUL_MAT of one column and of a few by plans of the kernel library.
#pragma once

#include "ops/op.h"

#include <flydsl/kernels/activation.h>

#include <optional>

namespace flydsl_ggml {

/// The activation of the library for a function of GLU; none for what others compute, such as limits.
std::optional<flydsl::kernels::Activation> activationOf(ggml_glu_op op);

/// Computes the product of a matrix of weights and one column by the library's product for weights in
/// blocks, in f32, as a step of decoding has it, with a tensor that is added unless it is null. Returns
/// whether there is a plan for it.
bool columnByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                  const ggml_tensor *result);
/// The same of two products of the same column and GLU of them.
bool gatedColumnByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                       const ggml_tensor *glu);

/// Computes a product of up to 64 columns by the library's product for weights in blocks, by matrix
/// instructions, with a tensor that is added unless it is null. Weights and inputs are rounded to
/// typeOfNumbers (ops/numbers.h). Returns whether there is a plan for it that is faster than other kernels.
bool fewColumnsByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                      const ggml_tensor *result);
/// The same of two products of the same columns and GLU of them.
bool gatedFewColumnsByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                           const ggml_tensor *glu);
/// Whether there is such a plan for a product without what comes after it.
bool hasFewColumnsPlan(const Run &run, const ggml_tensor *op);

} // namespace flydsl_ggml
