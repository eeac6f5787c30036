// Lanes with the same key, for collectives of a block that count or rank keys.
#pragma once

#include "builder/coop/lane_moves.h"

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// The parts of a WarpMatch (flydsl/coop/warp_match.h).
struct LanesAlike {
  Expr lanes;              ///< u32 or u64
  Expr rank, count, first; ///< i32
};
/// The lanes with the same key in its `bits` low bits; keys are of type u32 or u64.
LanesAlike lanesAlike(const Lanes &lanes, const Expr &key, int bits,
                      const std::optional<Expr> &valid = {});

} // namespace coop::impl
FLYDSL_NAMESPACE_END
