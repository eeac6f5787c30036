// What is said about a launch that has ended: faults, findings of checks, counters.
#pragma once

#include "emulator/exec/dispatch.h"

#include <hip/hip_runtime_api.h>

namespace flyemu::hip {

/// Logs what the launch found, and gives the status that its stream gets.
hipError_t reportLaunch(const Dispatch &dispatch, const DispatchResult &result,
                        const Options &options);

} // namespace flyemu::hip
