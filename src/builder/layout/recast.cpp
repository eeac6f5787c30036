// Tensors whose memory is counted in elements of another type.
#include <flydsl/kernel/tensor.h>

#include "builder/layout/own_places.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "dialect/Fly/IR/FlyOps.h"

FLYDSL_NAMESPACE_BEGIN

using detail::algebra;
using detail::AlgebraOp;
using detail::Handle;
namespace fly = mlir::fly;

Tensor Tensor::recast(DType type, Loc loc) const {
  const int oldBits = dtype(loc).memory_bits(), newBits = type.memory_bits();
  if (const auto own = fly::getLayoutOf(detail::tracedType(handle_, loc)))
    builder::layoutErrorsAt(loc,
                            [&] { builder::expectWholeElements(*own, oldBits, newBits); });
  const Handle layout = algebra(AlgebraOp::get_layout, {&handle_}, loc),
               counted = algebra(AlgebraOp::recast_layout, {&layout}, loc, {newBits, oldBits}),
               start = iter(loc).recast(type, loc).handle();
  return Tensor(algebra(AlgebraOp::make_view, {&start, &counted}, loc));
}

FLYDSL_NAMESPACE_END
