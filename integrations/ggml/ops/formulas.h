// The formulas of the ops that work element by element. Source: ggml-cpu/unary-ops.cpp, vec.h and
// ops.cpp of ggml.
#pragma once

#include "ops/elementwise.h"

namespace flydsl_ggml {

/// None for an op that has no formula.
Formula unaryFormula(ggml_unary_op op);
Formula gluFormula(ggml_glu_op op);

} // namespace flydsl_ggml
