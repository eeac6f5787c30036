// What a convolution must give, by its definition.
#pragma once

#include "reference/reference.h"

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// Of `images` images of extents (d, h, w), those of modes that the rank does not have being 1. `out`:
/// the extents of y.
using ImageExtents = std::array<std::int64_t, 3>;
Expected convolved(const ConvProblem &problem, std::int64_t images, const ImageExtents &in,
                   const ImageExtents &out, const Inputs &inputs);
Expected convolved(const DepthwiseConvProblem &problem, std::int64_t images, const ImageExtents &in,
                   const ImageExtents &out, const Inputs &inputs);

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
