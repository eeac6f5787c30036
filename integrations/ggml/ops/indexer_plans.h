// LIGHTNING_INDEXER by plans of the kernel library.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Computes the scores of keys by a plan if there is one for the heads and the type of keys, and returns
/// whether it did. Plans are for the sizes of heads and their numbers; numbers of tokens and keys are
/// arguments.
bool indexerByPlan(const Run &run, const ggml_tensor *op);

} // namespace flydsl_ggml
