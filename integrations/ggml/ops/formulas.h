// The formulas of the ops that work element by element. Source: ggml-cpu/unary-ops.cpp, vec.h and
// ops.cpp of ggml.
#pragma once

#include "ops/elementwise.h"

namespace flydsl_ggml {

/// A formula that captures nothing.
using PlainFormula = fx::Numeric (*)(std::span<const fx::Numeric> x, const fx::Float32 *f);

/// None for an op that has no formula.
PlainFormula unaryFormula(ggml_unary_op op);
PlainFormula gluFormula(ggml_glu_op op);

} // namespace flydsl_ggml
