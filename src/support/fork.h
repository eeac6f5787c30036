// Handlers for fork(). In a process with threads, the child has only one of them, and every lock
// that another thread held stays locked. Code that has such locks or threads registers its handlers
// here.
#pragma once

#include <mutex>

namespace flydsl::support {

/// The order in which handlers run before a fork; after it they run in the reverse order.
enum class ForkOrder {
  work,   ///< activities that run and take locks: they are finished or held up
  tables, ///< locks that are held for a moment, under which nothing but the log is used
  log,
};

struct ForkHandlers {
  void (*before)() = nullptr;
  void (*inParent)() = nullptr;
  void (*inChild)() = nullptr;
};

/// Adds handlers for the life of the process. Handlers of `work` run while other threads may still
/// call this function.
void atFork(ForkOrder order, const ForkHandlers &handlers);

/// Holds a mutex that is never destroyed while the process forks. In the child the mutex is then
/// free, and the data that it guards are consistent.
void holdAtFork(std::mutex &mutex, ForkOrder order = ForkOrder::tables);

} // namespace flydsl::support
