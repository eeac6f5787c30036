// Quantisation in a kernel: the largest magnitude, the scale, and the conversion.
#pragma once

#include "blocks/quant_rules.h"
#include "blocks/row.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The magnitudes of f32 values as integers, whose order is that of the magnitudes and puts a NaN
/// above everything, so that a maximum of them does not lose it.
inline Vector magnitudes(const Vector &values) { return values.bitcast(u32) & 0x7fffffff; }

/// The scale of values whose largest magnitude has these bits.
inline Numeric scaleOf(const Numeric &largestBits, DType type) {
  const Numeric scale = largestBits.bitcast(f32) / static_cast<float>(largestOf(type));
  return select(scale.bitcast(u32) < UInt32(0x00800000u), Float32(1.0f), scale);
}

/// Values over their scale, of which `inverse` is 1 / scale, in the type; NaNs stay where the type
/// has them and `keepNan` asks for it.
inline Vector quantised(const Vector &values, const Numeric &inverse, DType type, bool keepNan) {
  const Vector scaled = values * inverse;
  const double most = largestOf(type);
  if (type == i8)
    return min(max(math::roundeven(scaled), -128.0f), 127.0f).to(i8);
  const Vector limited = min(max(scaled, static_cast<float>(-most)), static_cast<float>(most));
  return (keepNan ? select(math::isnan(scaled), scaled, limited) : limited).to(type);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
