// Tensors of images for tests of convolutions.
#pragma once

#include "support/operand.h"

#include <array>
#include <vector>

namespace kernel_tests {

using Values = std::vector<double>;
using Image = std::array<std::int64_t, 3>; ///< (d, h, w); 1 where the rank has no such mode

/// The extents of a tensor of images or filters.
inline std::vector<std::int64_t> extentsOf(int rank, std::int64_t first, const Image &image,
                                           std::int64_t last) {
  std::vector<std::int64_t> all{first};
  for (int axis = 3 - rank; axis < 3; ++axis)
    all.push_back(image[std::size_t(axis)]);
  all.push_back(last);
  return all;
}
/// A contiguous tensor, or one whose last mode has `gap` elements after it.
inline fx::TensorArg tensorOver(const Operand &operand, const std::vector<std::int64_t> &shape,
                                std::int64_t gap = 0) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t mode = shape.size() - 1; mode > 0; --mode)
    strides[mode - 1] = mode + 1 == shape.size() ? shape[mode] + gap : strides[mode] * shape[mode];
  return fx::tensor(operand.tensor().data(), operand.dtype(), shape, strides);
}

} // namespace kernel_tests
