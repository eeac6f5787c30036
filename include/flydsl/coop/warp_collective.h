// What the collectives of a wave that use shared memory are.
#pragma once

#include <flydsl/coop/collective.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// A collective of groups of `width` neighbouring lanes, a power of two up to the wave
/// (0: the wave); each group works alone. Its storage has a part for each group of
/// the block, and a call needs no barrier: the accesses of a wave to shared memory
/// happen in their order. Two calls of one collective with the same storage need none
/// between them either; a call of another one does.
///
/// Blocked items are in the order of the group's sequence: lane l has the items l * n to
/// l * n + n - 1. Of striped items it has l, l + width, l + 2 * width, ...
class FLYDSL_API WarpCollective : public Collective {
public:
  /// The lanes of a group.
  int width() const { return width_; }

protected:
  /// `what` is the class's name for messages. TraceErrors where the block's size is not known or no
  /// whole number of groups, and for less than one item per lane.
  WarpCollective(const char *what, ValueType type, int items, int width, Loc loc);

  int width_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
