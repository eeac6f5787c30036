#include "support/process_use.h"

#include <flydsl/error.h>

#include <pthread.h>

namespace flydsl::support {

constinit std::atomic<detail::ProcessUse> detail::processUse{ProcessUse::none};

void detail::enterFirst() {
  ProcessUse now = ProcessUse::none;
  if (processUse.compare_exchange_strong(now, ProcessUse::used) || now == ProcessUse::used)
    return;
  throw RuntimeError("this process was forked after its parent had used FlyDSL, whose locks, "
                     "threads and devices are the parent's: nothing "
                     "can be traced, compiled or launched in it. Execute a program in the child "
                     "(exec, or posix_spawn instead of fork), "
                     "or fork before the first use");
}

/// The one handler of forks. It is there from the load of the library on, so that it is there at the first use.
[[gnu::constructor]] static void watchForks() {
  pthread_atfork(nullptr, nullptr, [] {
    auto used = detail::ProcessUse::used;
    detail::processUse.compare_exchange_strong(used, detail::ProcessUse::lostByFork);
  });
}

} // namespace flydsl::support
