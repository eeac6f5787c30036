// Which parts of K of a block's operands exist.
//
// The functions compute with a kernel's numbers and with the host's, so that a host's model of the
// kernel proves what the kernel does (tests/kernels/support/product_reach.h).
#pragma once

#include "blocks/common/host_or_traced.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/preshuffle.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The columns of a block's part of K, with those that fill the last block of prepared weights.
inline std::int64_t paddedPart(const LoopShape &shape, const Preshuffled &weights) {
  return Preshuffled{weights.n, shape.k, weights.bytes}.paddedK();
}
/// The first block of 16 rows of prepared weights of a half of a tile, and the blocks that exist in
/// the half from there on.
template <class Int> Int firstBlockOfWeights(const LoopShape &shape, const Int &tileN) {
  return Int(tileN * (shape.tileOfHalf() / Preshuffled::kRows));
}
template <class Int>
Int blocksOfWeightsLeft(const Preshuffled &weights, const LoopShape &shape, const Int &tileN) {
  return Int(Int(static_cast<std::int32_t>(weights.blocksN() / shape.halves)) -
             firstBlockOfWeights(shape, tileN));
}
/// The first element of K, in the block's part of it, that a wave multiplies of a part of a step;
/// `inRound` is the wave's place among those that share a round.
template <class Int>
Int firstOfPart(const LoopShape &shape, const Int &step, int part, Int inRound) {
  return Int(step * shape.tileK + part * shape.round() + inRound);
}
/// Whether `columns` elements of K end where a step does: all parts of a step exist then, or none,
/// and share a test.
inline bool endsWithStep(const LoopShape &shape, std::int64_t columns) {
  return columns % shape.tileK == 0;
}
/// The element of K by which a part of a step lies inside of `columns` or past their end, if they
/// do not end inside of a part.
template <class Int>
Int testedOfPart(const LoopShape &shape, std::int64_t columns, const Int &step, int part,
                 const Int &inRound) {
  return endsWithStep(shape, columns) ? Int(step * shape.tileK)
                                      : firstOfPart<Int>(shape, step, part, inRound);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
