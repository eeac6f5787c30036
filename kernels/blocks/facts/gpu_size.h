// The size of the GPU that configurations are chosen for.
#pragma once

#include <flydsl/host/product.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Compute units, dies with an L2 cache of their own to which blocks are dealt, and the order of
/// tiles that follows from them.
struct GpuSize {
  int computeUnits;
  int xcds;
  /// Rows of tiles in a group of a product's order: see groupOfUnits.
  int group;
};

/// The rows of tiles in a group: the power of two with which the blocks that a die of so many
/// compute units runs at a time read the fewest bytes. They are units / group columns of the group.
/// Tiles are up to twice as wide as high, so that the bytes are as group + 2 units / group. Tests
/// compute the bytes of tiles.
inline int groupOfUnits(int units) {
  int group = 1;
  while (2 * group + units / group < group + 2 * units / group)
    group *= 2;
  return group;
}

/// Of the product in hand: the current device's if it has the target's processor, otherwise the
/// target's default. None for a target without known products.
inline std::optional<GpuSize> gpuSize(const Target &target) {
  const std::optional<Product> gpu = product_in_hand(target);
  if (!gpu)
    return std::nullopt;
  return GpuSize{gpu->compute_units, gpu->dies, groupOfUnits(gpu->compute_units / gpu->dies)};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
