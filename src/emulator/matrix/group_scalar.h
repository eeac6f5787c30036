// One group of CDNA3's dot product, with NaN, infinities and overflow.
#pragma once

#include "emulator/matrix/element.h"

namespace flyemu::matrix {

/// acc + the dot product of `count` elements, by the model of MMA-Sim (arXiv 2511.10909): products
/// are aligned to the largest and truncated at 24 fraction bits, joined to acc with 31 and 24
/// fraction bits toward minus infinity, rounded once to nearest even. Products of zero take no part
/// in the alignment. A product that reaches 2^128 counts as infinite.
float groupTruncateScalar(Elem formatA, Elem formatB, const uint32_t *a, const uint32_t *b,
                          unsigned count, float acc);

} // namespace flyemu::matrix
