// llvm::CrashRecoveryContext without its signal handlers. LLD leaves its work by it, and ends the
// process where it is not enabled; but enabling it installs handlers for the whole process, which
// answer other threads' faults in the host's place.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

namespace flydsl::jit {

/// Runs `work` under a recovery context; a fault or an exit in it ends the work alone. False if
/// the work did not return. One thread at a time; on a guarded thread (see guard.h).
bool runUnderLlvmRecovery(llvm::function_ref<void()> work);

/// Whether this LLVM is inside of the library, where no other code uses it.
bool isLlvmOurs();

} // namespace flydsl::jit
