// Whether this process may use the library. A child that is forked after its parent's first use has
// one of the parent's threads and all of its locks, and a GPU's driver knows the parent alone: there
// every entry refuses, and none waits.
#pragma once

#include <atomic>

namespace flydsl::support {

namespace detail {
enum class ProcessUse { none, used, lostByFork };
extern std::atomic<ProcessUse> processUse;
/// Notes the first use; throws RuntimeError in a child that may not.
void enterFirst();
} // namespace detail

/// To be called first by whatever a program may call that takes a lock, starts a thread, compiles,
/// or touches a device. Throws RuntimeError, which says what to do, in a child that was forked after
/// its parent had come here.
inline void enterLibrary() {
  if (detail::processUse.load(std::memory_order_relaxed) != detail::ProcessUse::used) [[unlikely]]
    detail::enterFirst();
}

/// Whether the process is such a child. For destructors, and for what runs at the end of a thread and
/// of the process: they do nothing there, because a lock that they would take may have been another
/// thread's at the fork.
inline bool lostByFork() noexcept {
  return detail::processUse.load(std::memory_order_relaxed) == detail::ProcessUse::lostByFork;
}

} // namespace flydsl::support
