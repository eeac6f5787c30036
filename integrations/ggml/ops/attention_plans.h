// FLASH_ATTN_EXT by plans of the kernel library.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Computes attention by a plan if there is one for its heads, types and mask, and returns whether it did.
/// Plans are for the sizes of heads and their numbers; numbers of queries and keys are arguments.
bool attentionByPlan(const Run &run, const ggml_tensor *op);

} // namespace flydsl_ggml
