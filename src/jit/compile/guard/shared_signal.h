// Signals belong to the host. Here the library takes part in some of them without the host's
// noticing: it answers what is its own, and everything else goes to whoever handled it before.
#pragma once

#include <csignal>

namespace flydsl::jit {

/// Looks at a signal on the thread that got it, inside the signal handler. True if it was for the
/// library; a claim may also leave by a jump and not return.
using SignalClaim = bool (*)(int signal, siginfo_t *info, void *context);

/// From here on `claim` is asked first about each `signal` (below 32). What it does not claim has
/// the effect that it had without the library: the host's handler is called once, with the same
/// arguments and with its own mask; or the default action follows, with the true cause in the core
/// file. A handler that the host installs later stands, until the next call puts the library in
/// front of it again. Our handler is never removed, because nothing could do that without a moment
/// in which a handler that the host installs meanwhile is lost. It runs on the alternate stack
/// where a thread has one.
void claimSignal(int signal, SignalClaim claim);

/// Whether the kernel sent the signal because of the very instruction that the thread executed.
bool isFault(int signal, const siginfo_t *info);

} // namespace flydsl::jit
