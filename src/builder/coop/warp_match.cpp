#include <flydsl/coop/warp_match.h>

#include "builder/coop/warp_match.h"

#include <flydsl/error.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace coop {
namespace impl {

LanesAlike lanesAlike(const Lanes &lanes, const Expr &key, int bits,
                      const std::optional<Expr> &valid) {
  const DType mask = lanes.wave() == 64 ? u64 : u32, words = lanes.wave() == 64 ? i64 : i32;
  const Loc loc = key.loc;
  const Expr all(mask, ~std::uint64_t(0) >> (64 - lanes.width()), loc);
  Expr same = valid ? select(*valid, lanes.ballot(*valid), Expr(mask, 0, loc)) : all;
  for (int bit = 0; bit < bits; ++bit) {
    const Expr word = bit < 32 ? key : key >> 32;
    // All ones in the lanes where the bit is set, else zeros: what is to be like the ballot's bits.
    const Expr own = (word.to(u32).bitcast(i32) << (31 - bit % 32)) >> 31;
    const Expr differ = lanes.ballot(own != 0) ^ own.to(words).bitcast(mask);
    same = same & ~differ;
  }
  const Expr first = trailingZeros(same).to(i32);
  return {same, lanes.countBelow(same), popcount(same).to(i32),
          valid ? select(*valid, first, lanes.lane()) : first};
}

} // namespace impl

WarpMatch warp_match(const Numeric &key, const WarpMatchOptions &options, Loc loc) {
  const DType type = key.dtype(loc);
  if (!type.is_integer() && type != boolean)
    throw TraceError("warp_match of a key of type " + std::string(type.name()) +
                         ": keys are integers; .bitcast(fx::u" + std::to_string(type.bits()) +
                         ") compares the bits of another number",
                     loc);
  if (options.bits < 0 || options.bits > type.bits())
    throw TraceError("warp_match of " + std::to_string(options.bits) + " bits of a key of type " +
                         std::string(type.name()) + ": 0 (all) to " + std::to_string(type.bits()),
                     loc);
  const impl::Lanes lanes("warp_match", options.width, loc);
  const impl::Expr own(key, loc);
  const impl::LanesAlike alike = impl::lanesAlike(
      lanes, type.bits() > 32 ? own.bitcast(u64) : own.to(u32),
      options.bits ? options.bits : type.bits(),
      options.valid ? std::optional(impl::Expr(*options.valid, loc)) : std::nullopt);
  return {alike.lanes.number(), Int32(alike.rank.number()), Int32(alike.count.number()),
          Int32(alike.first.number())};
}

} // namespace coop
FLYDSL_NAMESPACE_END
