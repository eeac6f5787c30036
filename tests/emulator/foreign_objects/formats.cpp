#include "formats.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace foreign {

// OCP's 8-bit and MX specifications; the FNUZ ones as MLIR's Float8E4M3FNUZ and Float8E5M2FNUZ say.
static constexpr Format kFormats[] = {
    {"i32", 32, Format::Integer},
    {"i8", 8, Format::Integer},
    {"f64", 64, Format::Ieee, 11, 52, 1023},
    {"f32", 32, Format::Ieee, 8, 23, 127},
    {"f16", 16, Format::Ieee, 5, 10, 15},
    {"bf16", 16, Format::Ieee, 8, 7, 127},
    {"f8E4M3FN", 8, Format::Ocp, 4, 3, 7},
    {"f8E5M2", 8, Format::Ieee, 5, 2, 15},
    {"f8E4M3FNUZ", 8, Format::Fnuz, 4, 3, 8},
    {"f8E5M2FNUZ", 8, Format::Fnuz, 5, 2, 16},
    {"f4E2M1FN", 4, Format::Finite, 2, 1, 1},
    {"e8m0", 8, Format::Exponent},
};

const Format &formatOf(std::string_view name) {
  for (const Format &format : kFormats)
    if (format.name == name)
      return format;
  throw std::invalid_argument("no element type " + std::string(name));
}

double decode(const Format &f, std::uint64_t code) {
  if (f.kind == Format::Integer)
    return f.bits == 8 ? static_cast<double>(static_cast<std::int8_t>(code))
                       : static_cast<double>(static_cast<std::int32_t>(code));
  if (f.kind == Format::Exponent)
    return code == 255 ? NAN : std::ldexp(1.0, static_cast<int>(code) - 127);
  const std::uint64_t magnitude = code & ((std::uint64_t(1) << (f.bits - 1)) - 1);
  const bool negative = code >> (f.bits - 1) & 1;
  const auto exponent = static_cast<int>(magnitude >> f.mantissa);
  const std::uint64_t fraction = magnitude & ((std::uint64_t(1) << f.mantissa) - 1);
  if ((f.kind == Format::Fnuz && negative && !magnitude) ||
      (f.kind == Format::Ocp && magnitude == (1u << (f.bits - 1)) - 1))
    return NAN;
  if (f.kind == Format::Ieee && exponent == (1 << f.exponent) - 1) {
    if (fraction)
      return NAN;
    return negative ? -INFINITY : INFINITY;
  }
  const double significand =
      std::ldexp(static_cast<double>(fraction), -static_cast<int>(f.mantissa));
  const double value = exponent ? std::ldexp(1 + significand, exponent - f.bias)
                                : std::ldexp(significand, 1 - f.bias);
  return negative ? -value : value;
}

std::uint64_t encode(const Format &f, double value) {
  if (f.kind == Format::Integer)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) &
           ((std::uint64_t(1) << f.bits) - 1);
  if (f.kind == Format::Exponent)
    return static_cast<std::uint64_t>(std::ilogb(value) + 127);
  const bool negative = std::signbit(value);
  const double magnitude = std::fabs(value);
  std::uint64_t code = 0;
  if (magnitude > 0) {
    // In units of the last place, which nearbyint rounds to even; a carry goes into the exponent.
    const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
    const auto units = static_cast<std::uint64_t>(
        std::nearbyint(std::ldexp(magnitude, static_cast<int>(f.mantissa) - exponent)));
    code = units + (static_cast<std::uint64_t>(exponent + f.bias - 1) << f.mantissa);
  }
  if (f.kind == Format::Fnuz && !code)
    return 0;
  return code | (negative ? std::uint64_t(1) << (f.bits - 1) : 0);
}

std::vector<std::uint8_t> pack(const Format &format, const std::vector<std::uint64_t> &codes) {
  std::vector<std::uint8_t> bytes((codes.size() * format.bits + 7) / 8);
  for (std::size_t n = 0; n < codes.size(); ++n) {
    if (format.bits == 4)
      bytes[n / 2] = static_cast<std::uint8_t>(bytes[n / 2] | codes[n] << (n % 2 ? 4 : 0));
    else
      std::memcpy(&bytes[n * format.bits / 8], &codes[n], format.bits / 8);
  }
  return bytes;
}

std::vector<std::uint64_t> unpack(const Format &format, const std::vector<std::uint8_t> &bytes) {
  std::vector<std::uint64_t> codes(bytes.size() * 8 / format.bits);
  for (std::size_t n = 0; n < codes.size(); ++n) {
    if (format.bits == 4)
      codes[n] = bytes[n / 2] >> (n % 2 ? 4 : 0) & 15;
    else
      std::memcpy(&codes[n], &bytes[n * format.bits / 8], format.bits / 8);
  }
  return codes;
}

} // namespace foreign
