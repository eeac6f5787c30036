// Random words, uniform and normal numbers in a kernel.
#include "builder/random/traced.h"

FLYDSL_NAMESPACE_BEGIN
namespace random::impl {

using algorithm::Traced;

/// Whether it is an integer of one of the widths of a word.
static bool isWord(DType type) {
  return type.is_integer() && (type.bits() == 32 || type.bits() == 64);
}

/// A seed or an offset.
static DType expectWord(const char *what, const Handle &handle, Loc loc) {
  const DType type = detail::dtypeOf(handle, loc);
  if (!isWord(type))
    throw TraceError(std::string(what) + " is an integer of 32 or 64 bits, not " +
                         std::string(type.name()) + "; .to(fx::u32) or .to(fx::u64) converts",
                     loc);
  return type;
}

/// The two halves of 64 bits.
static std::array<Traced, 2> halves(const Traced &x) {
  const Traced wide = algorithm::converted(x, u64);
  return {algorithm::converted(wide, u32), algorithm::converted(wide >> 32, u32)};
}

std::array<Handle, 4> draw(const Handle &seed, const Handle &offset, int rounds, Loc loc) {
  expectWord("a seed", seed, loc);
  const DType type = expectWord("an offset", offset, loc);
  const Traced zero(detail::constant(detail::hostNumber(0), u32, loc), loc), at(offset, loc);
  const std::array<Traced, 2> low =
      type.bits() == 64 ? halves(at) : std::array{algorithm::converted(at, u32), zero};
  const std::array<Traced, 4> words = algorithm::philox<std::uint32_t>(
      std::array{low[0], low[1], zero, zero}, halves({seed, loc}), rounds, loc);
  return {words[0].handle, words[1].handle, words[2].handle, words[3].handle};
}

std::array<Handle, 4> philox(const std::array<Handle, 4> &counter, const std::array<Handle, 2> &key,
                             int rounds, Loc loc) {
  const DType type = detail::dtypeOf(counter[0], loc);
  auto word = [&](const Handle &handle) {
    const DType given = detail::dtypeOf(handle, loc);
    if ((given != u32 && given != u64) || given != type)
      throw TraceError("Philox's counter and key are all of u32 or all of u64, not of " +
                           std::string(type.name()) +
                           (given == type ? "" : " and " + std::string(given.name())),
                       loc);
    return Traced(handle, loc);
  };
  const std::array of{word(counter[0]), word(counter[1]), word(counter[2]), word(counter[3])};
  const std::array under{word(key[0]), word(key[1])};
  const std::array<Traced, 4> words =
      type == u32 ? algorithm::philox<std::uint32_t>(of, under, rounds, loc)
                  : algorithm::philox<std::uint64_t>(of, under, rounds, loc);
  return {words[0].handle, words[1].handle, words[2].handle, words[3].handle};
}

Handle uniform(const Handle &word, Loc loc) {
  const FastMathScope exact(FastMath::none, loc);
  return algorithm::uniform(algorithm::converted({word, loc}, i32)).handle;
}

std::array<Handle, 2> normals(const Handle &a, const Handle &b, Loc loc) {
  const FastMathScope exact(FastMath::none, loc);
  const std::array<Traced, 2> both = algorithm::normals(Traced(a, loc), Traced(b, loc));
  return {both[0].handle, both[1].handle};
}

} // namespace random::impl
FLYDSL_NAMESPACE_END
