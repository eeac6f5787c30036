// MUL_MAT of one column and of a few by plans of the kernel library.
#pragma once

#include "ops/op.h"

#include <flydsl/kernels/activation.h>

#include <optional>

namespace flydsl_ggml {

/// The activation of the library for a function of GLU; none for what others compute, such as limits.
std::optional<flydsl::kernels::Activation> activationOf(ggml_glu_op op);

/// Computes a product of a matrix of weights and up to 64 columns by the library's product for weights in
/// blocks, with a tensor that is added unless it is null. Inputs are rounded to Q8_1 where the library
/// multiplies whole numbers, up to 4 columns of weights of them, and otherwise to typeOfNumbers (ops/numbers.h),
/// as weights are. Where the model asks for f32, one column is multiplied in f32. Returns whether there is a
/// plan that is faster than other kernels.
bool columnsByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                   const ggml_tensor *result);
/// The same of two products of the same columns and GLU of them.
bool gatedColumnsByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                        const ggml_tensor *glu);
/// Whether there is such a plan for a product without what comes after it.
bool hasColumnsPlan(const Run &run, const ggml_tensor *op);

} // namespace flydsl_ggml
