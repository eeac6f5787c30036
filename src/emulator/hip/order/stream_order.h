// The check of streams: operations whose order nothing says, and which touch the same bytes,
// at least one of them by a write.
//
// The order is what the program asks for, not how its operations happened to run. It is made of
// vector clocks, one component for each stream: an operation comes after what its stream did before,
// what the host had waited for when it submitted the operation, what its stream waits for (events,
// the default stream's rule), and in a graph what its node depends on. All threads of the host count
// as one, because how they order themselves cannot be seen: what one has waited for, all have.
//
// Kernels that run together may order themselves through memory. Where a kernel looks, by loads of
// device scope, at bytes that another one writes by operations of that scope, each counts as ordered
// with the other and with what comes before it. hipStreamWaitValue, and a kernel that so looks at
// memory of the host, come after all that had begun by then; the host comes after a kernel that
// writes to its memory by operations of device scope. So a race may be missed there, and none is
// reported where they rightly do. As such a pair may end later than those that it orders, a
// finding is told when all has ended that was submitted before it was found.
#pragma once

#include "emulator/hip/order/touch_history.h"

#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace flyemu::hip {

class DeviceMemory;
class Stream;

class StreamOrder {
public:
  /// A stream takes an operation. `others` are the streams that it implicitly waits for.
  SubmissionRef submit(Stream &stream, const std::vector<std::shared_ptr<Stream>> &others);
  /// Of an operation that was submitted: it begins, it has ended.
  void began(const SubmissionRef &operation);
  void ended(const SubmissionRef &operation);

  /// What comes before an operation that the stream would take now.
  Clock pointOf(const Stream &stream, const std::vector<std::shared_ptr<Stream>> &others) const;
  /// A stream waits for an operation, at this place of its work.
  void wait(Stream &stream, const SubmissionRef &forThis);
  /// The same when an operation is under way already.
  void waitLate(const SubmissionRef &operation, const SubmissionRef &forThis);
  /// An operation has seen a value in memory that anything that has begun may have written.
  void sawMemory(const SubmissionRef &operation);
  /// A stream ends: what waits for `heir` waits for its work too.
  void left(const Stream &stream, Stream &heir);
  /// The host knows that this has ended.
  void hostReached(const Clock &clock);
  void hostReached(const SubmissionRef &operation);

  /// An operation has touched memory. What belongs to no allocation of `space` is left out.
  void touched(const ToucherRef &by, TouchedBytes &&bytes, const DeviceMemory &space);
  /// Memory is another allocation's from now on.
  void allocated(uint64_t base, uint64_t bytes);

private:
  struct Suspect {
    Conflict conflict;
    uint64_t upTo; ///< the last operation that was submitted when it was found
  };
  /// Something that the clocks do not know: `from` comes before an operation.
  struct Edge {
    Clock from;
    SubmissionRef to;
  };
  void takeNumber(Stream &stream);
  void addEdge(Clock from, const SubmissionRef &to);
  bool reaches(const Submission &earlier, const Submission &later) const;
  void reachedLocked(const Clock &clock);
  /// The suspects that are known to be races.
  std::vector<Conflict> judged();

  mutable std::mutex mutex_;
  uint32_t streams_ = 0;
  uint64_t serial_ = 0;
  Clock host_, begun_;
  std::map<uint64_t, SubmissionRef> pending_; ///< submitted, not ended; by serial
  std::vector<Edge> edges_;
  std::vector<Suspect> suspects_;
  /// What was told of a pair: the names of both, and of their streams.
  std::set<std::array<std::string, 4>> told_;
  TouchHistory history_;
};

/// The sentence about two operations that have no order.
std::string describe(const Conflict &conflict, const DeviceMemory &space);

} // namespace flyemu::hip
