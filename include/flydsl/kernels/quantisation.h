// What quantising to integers or floats of 8 bits means, wherever a kernel does it.
#pragma once

#include <flydsl/export.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// How the scale of quantised values comes about. A value v becomes q = v / scale, rounded to
/// nearest even and limited to the type's largest magnitude max: 127 for i8 (a given scale may also
/// give -128), 448 for f8E4M3FN, 240 for f8E4M3FNUZ, 57344 for f8E5M2 and f8E5M2FNUZ.
enum class Quantisation : std::uint8_t {
  none,
  /// The scale is given, one for all values. A float of 8 bits keeps a NaN; an integer has none,
  /// and any value stands for it.
  fixed,
  /// scale = (largest magnitude of the row) / max. It is 1 if that is less than 2^-126, as for a
  /// row of zeros. A row with a NaN or an infinity has a scale that is one, so that all of it
  /// becomes a NaN when it is scaled back.
  row,
};

/// How a scale that is a power of two, of type f8E8M0FNU, is made of the largest magnitude of its
/// values.
enum class BlockScale : std::uint8_t {
  /// 2^(floor(log2 largest) - e), where e is the exponent of the type's largest number: OCP's
  /// "Microscaling Formats (MX) Specification" 1.0, section 6.3. Values past the largest number are
  /// limited to it.
  floor,
  /// 2^ceil(log2(largest / max)): the smallest that limits no value.
  ceil,
};

} // namespace kernels
FLYDSL_NAMESPACE_END
