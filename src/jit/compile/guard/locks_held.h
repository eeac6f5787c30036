// How many locks the thread holds that code of this library, or of an LLVM inside of it, has taken.
// Work that is left in its middle unlocks nothing, so a thread with a lock must not be stopped.
#pragma once

namespace flydsl::jit {

/// Locks of mutexes, and statics and `call_once`s whose making goes on, on this thread. Safe in a
/// signal handler.
int locksHeld();

/// For the beginning of work on a thread that holds no lock: forgets what work that was left had
/// taken.
void forgetLocks();

} // namespace flydsl::jit
