// Running a kernel: the door that the HIP side, tools and tests use.
#pragma once

#include "emulator/core/dispatch.h"

namespace flyemu {

/// Runs a launch with the checks, counters and trace that its options ask for. As runLaunch.
DispatchResult runDispatch(const Dispatch &dispatch, const MemoryMap &memory,
                           const Options &options = {});

} // namespace flyemu
