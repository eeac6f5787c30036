// The kernarg segment of a launch: the caller's arguments in place, and the hidden arguments that
// the compiler asked for filled in.
#pragma once

#include "emulator/loader/metadata.h"

#include <array>
#include <cstdint>
#include <vector>

namespace flyemu::loader {

struct LaunchShape {
  std::array<uint32_t, 3> grid = {1, 1, 1};    ///< workgroups
  std::array<uint32_t, 3> block = {1, 1, 1};   ///< work-items of a workgroup
  uint32_t dynamicLds = 0;                     ///< bytes
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< workgroups of a cluster
};

/// Copies one value per explicit argument from \p values (HIP's kernelParams: pointers to the
/// values). Throws std::invalid_argument when a pointer is missing.
std::vector<uint8_t> packArguments(const KernelNotes &kernel, void *const *values);

/// Takes \p size bytes laid out by the caller (HIP's packed buffer). Throws std::invalid_argument
/// when they do not fill the explicit arguments or are more than the segment.
std::vector<uint8_t> packBuffer(const KernelNotes &kernel, const void *bytes, size_t size);

/// Writes the hidden arguments for \p shape into a segment made by one of the above. Pointers stay
/// null until the launch makes their targets. Throws std::invalid_argument for an unknown argument
/// or one of the wrong size.
void fillHiddenArguments(const KernelNotes &kernel, const LaunchShape &shape,
                         std::vector<uint8_t> &segment);

} // namespace flyemu::loader
