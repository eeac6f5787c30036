// What is said about a launch that has ended: faults, findings of checks, counters.
#pragma once

#include "emulator/hip/device.h"
#include "emulator/hip/operation.h"

namespace flyemu::hip {

/// Logs what the launch found, keeps its counters in the device's history, and gives the status
/// that its stream gets.
hipError_t reportLaunch(const KernelOperation &operation, const DispatchResult &result,
                        const Options &options, Device &device);

} // namespace flyemu::hip
