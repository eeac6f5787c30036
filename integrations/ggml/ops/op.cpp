#include "ops/op.h"

namespace flydsl_ggml {

const Op *findOp(ggml_op op) {
  static const auto table = [] {
    std::array<const Op *, GGML_OP_COUNT> all{};
    for (const std::span<const Op> ops :
         {elementwiseOps(), copyOps(), rowOps(), orderOps(), ropeOps(), productOps(),
          attentionOps(), cellOps(), sequenceOps(), trainingOps(), deepseekOps(), upscaleOps()})
      for (const Op &one : ops)
        all[one.op] = &one;
    return all;
  }();
  return op >= 0 && op < GGML_OP_COUNT ? table[op] : nullptr;
}

} // namespace flydsl_ggml
