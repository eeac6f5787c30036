// What is said about a launch that has ended: faults, findings of checks, counters.
#pragma once

#include "emulator/hip/device/device.h"
#include "emulator/hip/stream/operation.h"

namespace flyemu::hip {

/// Logs what the launch found and keeps its counters in the device's history. Throws the
/// StatusError of a launch that faulted.
void reportLaunch(const KernelOperation &operation, const DispatchResult &result,
                  const Options &options, Device &device);

} // namespace flyemu::hip
