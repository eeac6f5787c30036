// A number of each thread that signal handlers may read.
//
// The thread_locals of a library that is loaded while the program runs are allocated by a thread's first
// use of them, which a signal handler must not be. In the static part of the thread's storage there is no
// room for all that LLVM has: the loader would refuse the library (Python's ctypes, plug-ins of engines).
// The C library keeps the values of the first keys of pthreads in the thread itself.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace flydsl::jit {

/// Has the value 0 on each thread until it is set. A namespace-scope variable, which is ready before any
/// code runs.
class ThreadSlot {
public:
  constexpr ThreadSlot() = default;
  ThreadSlot(const ThreadSlot &) = delete;

  /// Safe in a signal handler.
  std::intptr_t get() const {
    const std::uint64_t key = key_.load(std::memory_order_acquire);
    return key ? reinterpret_cast<std::intptr_t>(
                     pthread_getspecific(static_cast<pthread_key_t>(key - 1)))
               : 0;
  }
  /// False if the system has no key or no memory for it; the value stays then.
  bool set(std::intptr_t value) {
    std::uint64_t key = key_.load(std::memory_order_acquire);
    if (!key && !(key = make()))
      return false;
    return pthread_setspecific(static_cast<pthread_key_t>(key - 1),
                               reinterpret_cast<const void *>(value)) == 0;
  }

private:
  /// The key and 1; 0 if there is none.
  std::uint64_t make() {
    pthread_key_t made;
    if (pthread_key_create(&made, nullptr) != 0)
      return 0;
    std::uint64_t before = 0;
    if (key_.compare_exchange_strong(before, std::uint64_t{made} + 1))
      return std::uint64_t{made} + 1;
    pthread_key_delete(made); // another thread was first
    return before;
  }

  std::atomic<std::uint64_t> key_{0};
};

} // namespace flydsl::jit
