// What all collectives of a block are.
#pragma once

#include <flydsl/coop/collective.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// A collective of all threads of a block: made for values of one type and for a number of threads,
/// and called by every thread of the block.
///
/// Threads are numbered x fastest, then y, z. Blocked items are in the order of
/// the sequence: thread t has the items t * n to t * n + n - 1. Of striped items
/// it has t, t + threads, t + 2 * threads, ... The number of threads is a multiple
/// of the wave, or a power of two below it.
class FLYDSL_API BlockCollective : public Collective {
public:
  /// The threads of the block.
  int threads() const { return threads_; }

protected:
  /// `what` is the class's name for messages. TraceError where the block has another size.
  BlockCollective(const char *what, ValueType type, int threads, Loc loc);
  /// For a fixed number of items per thread. TraceError where it is less than 1.
  BlockCollective(const char *what, ValueType type, int threads, int items, Loc loc);

  int threads_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
