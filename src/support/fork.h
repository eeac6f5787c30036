// Handlers for fork(). In a process with threads, the child has only one of them, and every lock
// that another thread held stays locked. Code that has such locks or threads registers its handlers
// here.
//
// It does so at the load of the library, in a [[gnu::constructor]] function that makes the object.
// If a static object of a function were made at its first use, and the process forked meanwhile,
// the child would wait forever for a thread that it does not have.
#pragma once

#include <mutex>

namespace flydsl::support {

/// The order in which handlers run before a fork; after it they run in the reverse order.
enum class ForkOrder {
  compiler, ///< traces and compiles, which take locks of all the others
  work,     ///< activities that run and take locks: they are finished or held up
  tables,   ///< locks that are held for a moment, under which nothing but the log is used
  log,
};

struct ForkHandlers {
  void (*before)() = nullptr;
  void (*inParent)() = nullptr;
  void (*inChild)() = nullptr;
};

/// Adds handlers for the life of the process. Another thread may call this while the process forks:
/// then handlers of `tables` and `log` run at this fork, the others first at the next one.
void atFork(ForkOrder order, const ForkHandlers &handlers);

/// Holds a mutex that is never destroyed while the process forks. In the child the mutex is then
/// free, and the data that it guards are consistent.
void holdAtFork(std::mutex &mutex, ForkOrder order = ForkOrder::tables);

/// Waits while another thread forks, at most two seconds, because the caller may hold a lock that a
/// handler needs. A library that is loaded during a fork has no handler in that fork: who loaded it
/// calls this before it enters the library.
void waitForFork();

} // namespace flydsl::support
