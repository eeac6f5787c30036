// What calls of products with narrow weights have, for dense and grouped products.
#pragma once

#include "blocks/products/narrow_rules.h"
#include "frame/arguments.h"

#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/operands.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The numbers of groups as kernels take them.
struct GroupOperands {
  Strided<OnHost, 0> scales, zeros;
};
inline GroupOperands checkScaleGroups(const Arguments &arguments, const ScaleGroups &groups,
                                      const std::optional<TensorArg> &scales,
                                      const std::optional<TensorArg> &zeros, const Shape &shape) {
  constexpr const char *kReason = "a lane loads those of its columns together";
  arguments.checkIf(groups.size != 0, scales,
                    {.name = "group_scales",
                     .dtype = groups.scale,
                     .shape = shape,
                     .align = 16,
                     .reason = kReason});
  arguments.checkIf(groups.zeros, zeros, {.name = "group_zeros", .dtype = u8, .shape = shape});
  return {{.address = address(scales), .stride = {}}, {.address = address(zeros), .stride = {}}};
}

/// Prepared weights of a call that tools and tests make. Narrow ones are any bytes; 8-bit
/// floats among them are positive and finite.
inline TensorArg sampleWeights(const Sampler &sampler, const WeightProblem &matrix,
                               const Preshuffled &weights, const char *name = "b") {
  const DType dtype = matrix.dtype;
  if (!ofBytes(matrix))
    return sampler(name, dtype, Extents{weights.size()}, Role::input);
  constexpr int kAllBytes = 256, kFiniteBytes = 120; // of every 8-bit float
  const bool isFloat8 = !narrowType(dtype)->codes && dtype.memory_bits() == 8;
  return sampler(name, u8, Extents{weights.size()},
                 Role::below(isFloat8 ? kFiniteBytes : kAllBytes));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
