// Reductions and scans over the lanes of a group, of one value a lane.
#pragma once

#include "builder/coop/lane_moves.h"

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// Each lane's value combined with those of the lanes before it; with `reach`, of type i32, only
/// with those of so many lanes, which the group has.
Fields scanLanes(const Lanes &lanes, const Fields &value, const Operator &op, const Expr *reach,
                 Loc loc);
/// What changes no value of these types, if the operator is a Reduction.
std::optional<Fields> neutralIfKnown(const Operator &op, const std::vector<DType> &types, Loc loc);
/// All lanes' values combined, in the last lane of the group; the others have any value.
Fields reduceToLast(const Lanes &lanes, const Fields &value, const Operator &op, Loc loc);
/// All lanes' values combined, in all lanes.
Fields reduceLanes(const Lanes &lanes, const Fields &value, const Operator &op, Loc loc);

} // namespace coop::impl
FLYDSL_NAMESPACE_END
