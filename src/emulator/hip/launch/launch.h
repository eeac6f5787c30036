// From the arguments of a launch call to a checked kernel operation.
#pragma once

#include "emulator/hip/module/module.h"
#include "emulator/hip/stream/operation.h"

namespace flyemu::hip {

/// Builds the operation. Arguments come from \p values (one pointer each) or from HIP's packed
/// buffer in \p extra, not both. If they do not fit, it throws the status that HIP gives for that.
KernelOperation makeLaunch(std::shared_ptr<Function> function, const loader::LaunchShape &shape,
                           void **values, void **extra);

/// The same for a cooperative launch, whose workgroups may wait for each other: throws
/// hipErrorCooperativeLaunchTooLarge when the device does not hold them all at a time.
KernelOperation makeCooperativeLaunch(std::shared_ptr<Function> function,
                                      const loader::LaunchShape &shape, void **values);

} // namespace flyemu::hip
