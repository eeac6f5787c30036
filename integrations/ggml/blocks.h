// ggml's block formats in kernels: elements of a row of blocks, and blocks made of numbers.
// The layouts are those of ggml-common.h; flydsl/kernels/ggml.h says them in words.
#pragma once

#include "operand.h"

#include <ggml.h>

namespace flydsl_ggml {

/// Whether kernels read, or write, blocks of the type.
bool readsBlocks(ggml_type type);
bool writesBlocks(ggml_type type);

/// `count` elements of a row of blocks from number `k` on, in f32. The count is a power of two up to 16, and
/// `k` is a multiple of it.
std::vector<fx::Numeric> blockElements(ggml_type type, const fx::Int64 &row, const fx::Int32 &k,
                                       int count);

/// Makes the block at an address of the numbers that `value(j)` has for its elements j, each in f32.
/// The thread does it alone. The rounding is that of quantize_row_*_ref in ggml-quants.c.
void storeBlock(ggml_type type, const fx::Int64 &block,
                const std::function<fx::Numeric(const fx::Int32 &)> &value);

} // namespace flydsl_ggml
