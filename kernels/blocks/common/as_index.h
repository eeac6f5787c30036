// Numbers of stages, tiles and parts as indices of vectors.
#pragma once

#include <flydsl/export.h>

#include <cstddef>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A number that is not negative as an index of a vector or an array of the host.
constexpr std::size_t asIndex(int number) { return static_cast<std::size_t>(number); }

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
