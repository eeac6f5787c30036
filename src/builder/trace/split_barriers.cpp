#include "builder/trace/split_barriers.h"

#include <string>

namespace flydsl::builder {

void SplitBarriers::signal(Loc loc) {
  if (signalled_)
    throw TraceError("s_barrier_signal follows the one of line " +
                         std::to_string(signalled_->line()) + " without an s_barrier_wait between",
                     loc);
  signalled_ = loc;
}

void SplitBarriers::wait(Loc loc) {
  if (!signalled_)
    throw TraceError("s_barrier_wait without an s_barrier_signal before it would wait for ever; "
                     "in a loop that ends with a signal, the first one stands before the loop",
                     loc);
  signalled_.reset();
}

void SplitBarriers::finish() const {
  if (signalled_)
    throw TraceError("the kernel ends after this s_barrier_signal, without an s_barrier_wait",
                     *signalled_);
}

} // namespace flydsl::builder
