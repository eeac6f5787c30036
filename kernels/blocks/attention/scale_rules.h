// The check of scales that attention and decoding have of a tensor or of its heads.
#pragma once

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Checks scales, which there are if `has`: one number, or with `ofHeads` as many as `shape` says, of
/// sequences and heads.
inline Strided<OnHost, 2> givenScales(const Arguments &arguments, bool has,
                                      const std::optional<TensorArg> &tensor, const char *name,
                                      bool ofHeads, const Shape &shape) {
  if (!arguments.given(tensor, name, has))
    return {};
  if (ofHeads)
    return arguments.operand<2>(*tensor, {.name = name, .dtype = f32, .shape = shape, .free = 2});
  if (tensor->rank() == 2)
    arguments.fail(std::string(name) +
                   " has 2 modes, as scales of sequences and heads have; scales is tensor, which "
                   "takes one number, and KvScales::head takes these");
  return arguments.operand<2>(*tensor, {.name = name, .dtype = f32, .shape = {"1", 1}});
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
