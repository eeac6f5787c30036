// Operands of plans: tensors as numbers of 16 bits.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Makes numbers of a tensor's elements, f16 or bf16, in the op's own memory, without gaps and in ggml's
/// order. The tensor has elements of their own, or blocks whose rows are a multiple of 8 elements. Returns
/// the address.
std::int64_t contiguousNumbers(const Run &run, const ggml_tensor *x, ggml_type type);
/// The same of a part of a tensor of blocks, which begins at an address, into memory that is there.
void numbersOfBlocks(const Run &run, ggml_type from, const HostOperand &blocks, ggml_type type,
                     std::int64_t to);

} // namespace flydsl_ggml
