// Stochastic rounding in a kernel: by the target's instructions
// where it has them, else by integers.
//
// What the instructions do is published in HIP's `from_float_sr` (amd_hip_ocp_host.hpp), which
// stands for gfx950's where a program runs on the host: the number is brought to the exponent of
// the result, bits that leave a float's mantissa by that are lost, as many of the highest random
// bits are added as the result has no room for, and the rest is cut off. `round_stochastic` for the
// host and the arithmetic below are that definition.
#include <flydsl/target.h>

#include "builder/random/traced.h"
#include "builder/vendors/vendors.h"

#include <cmath>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace random::impl {

using algorithm::Traced;
using detail::FloatFormat;
using detail::FloatSpecials;

/// Of the types that the host has too.
static FloatFormat formatOf(DType type, Loc loc) {
  if (detail::isHostFloatKind(type.kind()))
    return *detail::smallFloatFormat(type);
  throw TraceError("round_stochastic rounds to f16, bf16, f8E4M3FN, f8E5M2, f8E4M3FNUZ or "
                   "f8E5M2FNUZ, not to " +
                       std::string(type.name()),
                   loc);
}

static void expectOperands(const Rounded &value, const Rounded &bits, Loc loc) {
  const DType from = detail::dtypeOf(value.handle, loc), word = detail::dtypeOf(bits.handle, loc);
  if (from != f32 && from != f16 && from != bf16)
    throw TraceError("round_stochastic takes a value of f32, f16 or bf16, not of " +
                         std::string(from.name()) + "; .to(fx::f32) converts",
                     loc);
  if (!word.is_integer() || word.bits() != 32)
    throw TraceError("round_stochastic takes random bits as integers of 32 bits, not as " +
                         std::string(word.name()) + "; fx::random::randint4x gives such",
                     loc);
  auto text = [&](const Rounded &x) {
    return x.isVector ? std::to_string(detail::vectorSize(x.handle, loc)) + " elements"
                      : std::string("a scalar");
  };
  if (text(value) != text(bits))
    throw TraceError("round_stochastic takes one word of random bits for each element: the value "
                     "is of " +
                         text(value) + ", the bits are of " + text(bits),
                     loc);
}

//===-- By instructions ---------------------------------------------------===//

static bool hasInstruction(const FloatFormat &format, Loc loc) {
  const Target target = flydsl::target(loc);
  if (format.bits() == 16)
    return target.has(Feature::stochastic_bf16);
  return target.has(Feature::fp8_conversions) &&
         target.has(format.specials == FloatSpecials::unsignedZero ? Feature::fnuz_fp8
                                                                   : Feature::ocp_fp8);
}

/// The largest number for what is beyond it, which the instructions would make infinite or NaN.
static Traced saturated(const Traced &x, const FloatFormat &format) {
  const Traced most(
      detail::constant(detail::hostNumber(format.toFloat(format.largest())), f32, x.loc), x.loc);
  const Numeric value(x.handle); // or a vector; math.h looks at the handle
  const Traced magnitude(math::abs(value, x.loc).handle(), x.loc),
      limit(math::copysign(Numeric(most.handle), value, x.loc).handle(), x.loc);
  return choose(magnitude > most, limit, x); // a NaN is not larger
}

static Handle byInstructions(const Traced &x, bool isVector, const Traced &bits, DType type,
                             Loc loc) {
  const builder::VendorInstructions &instructions =
      builder::instructionsFor("rounding by random bits", loc);
  // What a word holds at first does not matter: all of it that is kept is written. The random bits
  // are at hand, and need no register of their own for that.
  if (!isVector) {
    const Int32 random{Handle(bits.handle)};
    const Int32 word = instructions.rounded(Float32(x.handle), random, random, 0, type, loc);
    return word.to(type.bits() == 16 ? u16 : u8, loc).bitcast(type, loc).handle();
  }
  const Vector values(x.handle), randoms(bits.handle);
  const auto size = static_cast<std::size_t>(values.size(loc));
  const std::size_t perWord = 32 / static_cast<std::size_t>(type.bits());
  std::vector<Handle> words;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = i % perWord;
    const Float32 value(values.at(static_cast<std::int64_t>(i), loc), loc);
    const Int32 random(randoms.at(static_cast<std::int64_t>(i), loc), loc);
    if (at == 0)
      words.push_back(random.handle());
    words.back() =
        instructions
            .rounded(value, random, Int32(Handle(words.back())), static_cast<int>(at), type, loc)
            .handle();
  }
  std::vector<const Handle *> each;
  std::vector<std::int64_t> kept;
  for (const Handle &word : words)
    each.push_back(&word);
  for (std::size_t i = 0; i < size; ++i)
    kept.push_back(static_cast<std::int64_t>(i));
  const Handle all = detail::bitcast(detail::vectorOf(each.data(), each.size(), loc), type, loc);
  return size % perWord ? detail::vectorShuffle(all, all, kept.data(), kept.size(), loc) : all;
}

//===-- By integers -------------------------------------------------------===//

/// The pattern of the magnitude's result, with the bits that are lost below its last place.
static Traced patternBelow(const Traced &magnitude, const FloatFormat &format) {
  const std::uint32_t exponentsAway = std::uint32_t(127 - format.bias) << 23;
  // The least normal number; below it the pattern counts units of 2^-(bias + 22), and a product
  // with a power of two and a conversion cut off what is below them.
  const std::uint32_t leastNormal = std::uint32_t(128 - format.bias) << 23;
  const Traced subnormal = converted(fromBits(magnitude) * std::ldexp(1.0f, format.bias + 22), u32);
  return choose(magnitude < leastNormal, subnormal, magnitude - exponentsAway);
}

static Handle byIntegers(const Traced &x, const Traced &bits, const FloatFormat &format,
                         DType type) {
  const int lost = 23 - format.mantissa;
  const DType stored = format.bits() == 16 ? u16 : u8;
  const Traced wide = bitsAs(x, u32), random = bits >> (32 - lost), isNan = x != x;
  if (format.bias == 127) { // bf16: a float's upper half, whatever it is
    const Traced rounded = (wide + random) >> lost;
    return bitsAs(converted(choose(isNan, format.nan(), rounded), stored), type).handle;
  }
  const Traced magnitude = wide & 0x7fffffffu;
  const std::uint32_t most = format.largest() + (format.bits() == 16 ? 1 : 0);
  const Traced rounded = smaller((patternBelow(magnitude, format) + random) >> lost, most);
  const Traced pattern = choose(isNan, format.nan(), rounded);
  Traced sign = (wide >> (32 - format.bits())) & format.signBit();
  if (format.specials == FloatSpecials::unsignedZero)
    sign = choose(pattern == 0u, 0u, sign);
  return bitsAs(converted(pattern | sign, stored), type).handle;
}

Handle roundStochastic(const Rounded &value, const Rounded &bits, DType type, Loc loc) {
  const FloatFormat format = formatOf(type, loc);
  expectOperands(value, bits, loc);
  const FastMathScope exact(FastMath::none, loc);
  const Traced x = algorithm::converted({value.handle, loc}, f32);
  if (!hasInstruction(format, loc))
    return byIntegers(x, algorithm::converted({bits.handle, loc}, u32), format, type);
  return byInstructions(format.bits() == 8 ? saturated(x, format) : x, value.isVector,
                        algorithm::converted({bits.handle, loc}, i32), type, loc);
}

} // namespace random::impl
FLYDSL_NAMESPACE_END
