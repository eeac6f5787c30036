// What the GPUs of a generation have, for the choice of configurations.
#pragma once

#include <flydsl/target.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What a GPU of a generation has. Source: AMD's data sheets of MI210 (one die), MI300X, MI355X,
/// RX 7900 XTX and RX 9070 XT.
struct GpuSize {
  flydsl::Family family;
  int computeUnits;
  int xcds; ///< dies with an L2 cache of their own to which blocks are dealt
  /// Rows of tiles in a group of a product's order, of which the blocks that a die runs at a time
  /// read the fewest bytes: about sqrt(2 units of a die), because tiles are up to twice as wide as
  /// high. Tests compute the bytes.
  int group;
};
inline constexpr GpuSize kGpuSizes[] = {
    {flydsl::Family::cdna2, 104, 1, 16}, {flydsl::Family::cdna3, 304, 8, 8},
    {flydsl::Family::cdna4, 256, 8, 8},  {flydsl::Family::rdna3, 96, 1, 16},
    {flydsl::Family::rdna4, 64, 1, 8},
};
inline const GpuSize *gpuSize(const Target &target) {
  for (const GpuSize &size : kGpuSizes)
    if (size.family == target.family())
      return &size;
  return nullptr;
}

/// The vector registers of a lane. On CDNA the waves of a block share the 512 of each of four
/// SIMDs, accumulation registers included; an instruction of RDNA names 256.
inline int registersOfLane(const Target &target, int waves) {
  return target.has(Feature::accumulation_registers) ? 512 / ((waves + 3) / 4) : 256;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
