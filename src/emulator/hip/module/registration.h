// Kernels and variables that a program compiled as HIP C++ carries in itself: the compiler's
// start-up code registers their host addresses, and each device loads the code on first use.
#pragma once

#include "emulator/hip/device/device.h"
#include "emulator/hip/module/module.h"

namespace flyemu::hip {

/// The function behind a kernel's host address on a device; throws hipErrorInvalidDeviceFunction.
std::shared_ptr<Function> registeredFunction(const void *hostFunction, Device &device);

/// The variable behind a host address on a device; throws hipErrorInvalidSymbol.
loader::CodeVariable registeredVariable(const void *hostVariable, Device &device);

} // namespace flyemu::hip
