// Kernels and variables that a program compiled as HIP C++ carries in itself: the compiler's
// start-up code registers their host addresses, and each device loads the code on first use.
#pragma once

#include "emulator/hip/device/device.h"
#include "emulator/hip/module/module.h"

namespace flyemu::hip {

/// The device code of one translation unit, as the compiler embedded it.
struct FatBinary;

/// Takes what the compiler's start-up code passes; throws StatusError if it is no fat binary. The
/// memory behind \p wrapper stays where it is until the binary is unregistered.
FatBinary *registerBinary(const void *wrapper);
void unregisterBinary(FatBinary *binary);
void registerFunction(FatBinary &binary, const void *hostFunction, const char *name);
void registerVariable(FatBinary &binary, const void *hostVariable, const char *name);
void registerManaged(FatBinary &binary, const char *name, std::shared_ptr<ManagedVariable> memory);

/// The kernel that a caller means by a `const void *`: the host address of a kernel, as HIP
/// programs write it, or a handle that HIP gave out, as CUDA 12 and HIP 7 take it there too. Throws
/// hipErrorInvalidDeviceFunction for anything else, and hipErrorInvalidHandle for a handle of
/// another device.
std::shared_ptr<Function> kernelOf(const void *function, Device &device);

/// The function of a handle (hipFunction_t), of any device. Throws hipErrorInvalidHandle; where the
/// host address of a kernel was given, the message says so and how its handle is got.
std::shared_ptr<Function> functionOf(hipFunction_t handle);

/// The same, which must be loaded on \p device.
std::shared_ptr<Function> functionOf(hipFunction_t handle, const Device &device);

/// The variable behind a host address on a device; throws hipErrorInvalidSymbol.
loader::CodeVariable registeredVariable(const void *hostVariable, Device &device);

/// The memory of a variable on the current device from \p offset on; throws hipErrorInvalidValue
/// where \p size bytes from there are not all the variable's.
void *inSymbol(const void *hostVariable, size_t size, size_t offset);

} // namespace flyemu::hip
