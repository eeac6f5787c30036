// Reductions and scans over the lanes of a group, of one value a lane.
#pragma once

#include "builder/coop/lane_moves.h"

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// Each lane's value combined with those of the lanes before it; with `segmentStart`, of type i32,
/// only with those from that lane of the group on.
Fields scanLanes(const Lanes &lanes, const Fields &value, const Operator &op,
                 const Expr *segmentStart, Loc loc);
/// All lanes' values combined, in the last lane of the group; the others have any value.
Fields reduceToLast(const Lanes &lanes, const Fields &value, const Operator &op, Loc loc);
/// All lanes' values combined, in all lanes.
Fields reduceLanes(const Lanes &lanes, const Fields &value, const Operator &op, Loc loc);
/// A bit for each lane of the group that has the same digit of `bits` bits, of type u32 or u64.
Expr peers(const Lanes &lanes, const Expr &digit, int bits);

} // namespace coop::impl
FLYDSL_NAMESPACE_END
