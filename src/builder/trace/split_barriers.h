// Barriers whose two halves are traced one by one.
#pragma once

#include <flydsl/detail/handle.h>
#include <flydsl/error.h>

#include <optional>

namespace flydsl::builder {

/// A block's barrier has room for one signal of each wave, so that signals and waits take turns in
/// the order in which they are traced, in a loop's body too.
class SplitBarriers {
public:
  /// Throws TraceError if a signal before has had no wait.
  void signal(Loc loc);
  /// Throws TraceError without a signal before.
  void wait(Loc loc);
  /// Throws TraceError if the kernel ends with a signal.
  void finish() const;

private:
  std::optional<Loc> signalled_;
};

} // namespace flydsl::builder
