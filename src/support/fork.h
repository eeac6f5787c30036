// What fork() does to a process with threads: the child has one of them, and every lock that
// another held stays locked. Whoever has such locks or threads says here what is to be done.
#pragma once

#include <mutex>

namespace flydsl::support {

/// In this order things are made ready for a fork; afterwards they are let go the other way round.
enum class ForkOrder {
  work,   ///< what runs and takes locks: it is brought to an end or held up
  tables, ///< locks that are held for a moment, under which nothing but the log is used
  log,
};

struct ForkHandlers {
  void (*before)() = nullptr;
  void (*inParent)() = nullptr;
  void (*inChild)() = nullptr;
};

/// Adds handlers for the life of the process. Those of `work` run while others may still call this.
void atFork(ForkOrder order, const ForkHandlers &handlers);

/// Holds a mutex that is never destroyed while the process forks, so that the child finds it open
/// and what it guards whole.
void holdAtFork(std::mutex &mutex, ForkOrder order = ForkOrder::tables);

} // namespace flydsl::support
