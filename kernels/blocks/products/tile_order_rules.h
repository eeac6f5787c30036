// Which orders of tiles there are. No compiler is needed to ask.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/tile_order.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline Support orderSupported(const TileOrder &order) {
  if (order.group < 1 || order.xcds < 1 || order.chunk < 0 || order.group > 4096 ||
      order.xcds > 64 || order.chunk > 4096)
    return Support::no("order: group is 1 to 4096, xcds 1 to 64, chunk 0 to 4096");
  return {};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
