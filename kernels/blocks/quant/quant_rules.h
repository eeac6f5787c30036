// What the host says of quantised types.
#pragma once

#include <flydsl/detail/float_format.h>
#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/quantisation.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The format of floats of 8 bits that values may be quantised to, or null.
constexpr const detail::FloatFormat *quantisedFormat(DType type) {
  for (DType each : {f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ})
    if (type == each)
      return detail::smallFloatFormat(type);
  return nullptr;
}

/// The largest magnitude that quantised values get: 127 of i8; of floats the format's largest
/// finite number. 0: no such type.
constexpr double largestOf(DType type) {
  if (type == i8)
    return 127;
  const detail::FloatFormat *format = quantisedFormat(type);
  return format ? format->toFloat(format->largest()) : 0;
}

/// Whether values may be quantised to the type.
inline Support quantisedSupported(const char *name, DType type) {
  if (largestOf(type) != 0)
    return {};
  return Support::no(std::string(name) + " is quantised and of type " + std::string(type.name()) +
                     "; i8 and floats of 8 bits are supported");
}

/// The format of the blocks of the microscaling formats, or null for types that are not supported,
/// by OCP's "Microscaling Formats (MX) Specification" 1.0, table 1.
constexpr const detail::FloatFormat *blockFormat(DType type) {
  for (DType each : {f8E4M3FN, f8E5M2, f4E2M1FN})
    if (type == each)
      return detail::smallFloatFormat(type);
  return nullptr;
}

/// Whether blocks may have values of the type.
inline Support blockTypeSupported(const char *name, DType type) {
  if (blockFormat(type))
    return {};
  return Support::no(std::string(name) + " has blocks of type " + std::string(type.name()) +
                     "; f8E4M3FN, f8E5M2 and f4E2M1FN are supported");
}

/// Whether a kernel computes with the type.
inline Support floatSupported(const char *name, DType type) {
  if (type == f32 || type == f16 || type == bf16)
    return {};
  return Support::no(std::string(name) + " is of type " + std::string(type.name()) +
                     "; f32, f16 and bf16 are supported");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
