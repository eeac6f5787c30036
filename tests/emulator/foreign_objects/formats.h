// The element types of the manifest: their codes, and their values in double precision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foreign {

/// A type as the manifest names it. Floats have a sign, `exponent` and `mantissa` bits.
struct Format {
  enum Kind : std::uint8_t {
    Integer,  ///< signed
    Ieee,     ///< the largest exponent is for infinities and NaN
    Ocp,      ///< all bits but the sign set: NaN
    Fnuz,     ///< the code of negative zero is NaN
    Finite,   ///< every code is a number
    Exponent, ///< E8M0: a power of two
  };
  std::string_view name;
  unsigned bits;
  Kind kind;
  unsigned exponent = 0, mantissa = 0;
  int bias = 0;
};

/// Throws for a name that is none.
const Format &formatOf(std::string_view name);

double decode(const Format &format, std::uint64_t code);
/// The nearest value's code, to even where two are as near.
std::uint64_t encode(const Format &format, double value);

/// Codes as they lie in memory: two of four bits share a byte, the first in its lower half.
std::vector<std::uint8_t> pack(const Format &format, const std::vector<std::uint64_t> &codes);
std::vector<std::uint64_t> unpack(const Format &format, const std::vector<std::uint8_t> &bytes);

} // namespace foreign
