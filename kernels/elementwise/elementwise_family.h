// What the kernel of a chain takes, and how its threads share the elements.
#pragma once

#include "blocks/rows/row_rules.h"

#include <flydsl/kernels/elementwise.h>

#include <algorithm>
#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline constexpr int kChainBlock = 256; // threads

template <class Side> struct ChainParams {
  std::array<Strided<Side, 1>, ElementwiseArgs::kMostInputs> x;
  std::array<Strided<Side, 1>, ElementwiseArgs::kMostOutputs> y;
  std::array<Strided<Side, 2>, ElementwiseArgs::kMostOutputs> scales; // (m, n / group)
  Strided<Side, 0> ids, to;                                           // (m)
  Param<Side, Int32> m;
  std::array<Param<Side, Int64>, ElementwiseArgs::kMostInputs> rows; // of what is gathered
  Param<Side, Int64> rowsOfY;                                        // if they are scattered
  Strided<Side, 0> count;                                            // one: rows that there are
};
using ChainKernel = Kernel<void(ChainParams<OnDevice>)>;

/// Whether some operand's rows are gathered.
inline bool gathers(const ElementwiseProblem &problem) {
  return std::ranges::find(problem.x, ChainOperand::gathered, &ChainInput::operand) !=
         problem.x.end();
}

/// The elements of an access, which divide a row.
inline int accessOf(const ElementwiseProblem &problem) {
  int bytes = 1;
  for (const ChainInput &x : problem.x)
    bytes = std::max(bytes, x.type.bytes());
  for (const ChainOutput &y : problem.y)
    bytes = std::max(bytes, y.type.bytes());
  const int align = problem.row_align ? problem.row_align : 16;
  return std::min({16 / bytes, align, naturalAlign(problem.n)});
}

/// Why a problem is not supported, or does not fit the chain.
Support elementwiseSupported(const ElementwiseChain &chain, const ElementwiseProblem &problem);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
