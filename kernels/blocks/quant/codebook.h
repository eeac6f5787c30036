// The values of codes of four bits. No compiler is needed to ask.
#pragma once

#include <flydsl/export.h>

#include <array>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using Codebook = std::array<std::int8_t, 16>;
/// The numbers of f4E2M1FN in halves. Source: OCP's Microscaling Formats (MX) 1.0, and
/// kvalues_mxfp4 of ggml-common.h.
inline constexpr Codebook kFp4Halves{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
