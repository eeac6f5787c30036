// The HIP functions that the library calls, as a table of pointers. Nothing links HIP: one binary
// starts where no ROCm is installed, and runs on whichever library `hip()` loaded.
#pragma once

// HIP's own header, for types and constants only. The layout of hipDeviceProp_t is not used: it
// changed between HIP 5 and 6.
#include <flydsl/emulator.h>
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <string>

namespace flydsl::runtime {

// Must be there in any HIP library.
#define FLYDSL_HIP_REQUIRED(X)                                                                     \
  X(hipGetErrorName)                                                                               \
  X(hipGetErrorString)                                                                             \
  X(hipGetDeviceCount)                                                                             \
  X(hipSetDevice)                                                                                  \
  X(hipGetDevice)                                                                                  \
  X(hipDeviceGetAttribute)                                                                         \
  X(hipDeviceSynchronize)                                                                          \
  X(hipFree)                                                                                       \
  X(hipMemcpy)                                                                                     \
  X(hipMemcpyAsync)                                                                                \
  X(hipMemset)                                                                                     \
  X(hipMemsetAsync)                                                                                \
  X(hipStreamCreateWithFlags)                                                                      \
  X(hipStreamDestroy)                                                                              \
  X(hipStreamSynchronize)                                                                          \
  X(hipStreamQuery)                                                                                \
  X(hipStreamWaitEvent)                                                                            \
  X(hipEventCreateWithFlags)                                                                       \
  X(hipEventDestroy)                                                                               \
  X(hipEventRecord)                                                                                \
  X(hipEventSynchronize)                                                                           \
  X(hipEventQuery)                                                                                 \
  X(hipEventElapsedTime)                                                                           \
  X(hipModuleLoadData)                                                                             \
  X(hipModuleUnload)                                                                               \
  X(hipModuleGetFunction)                                                                          \
  X(hipModuleLaunchKernel)

// Used where present; null otherwise.
#define FLYDSL_HIP_OPTIONAL(X)                                                                     \
  X(hipDeviceGetName)                                                                              \
  X(hipDeviceReset)                                                                                \
  X(hipDeviceTotalMem)                                                                             \
  X(hipFuncSetAttribute)                                                                           \
  X(hipThreadExchangeStreamCaptureMode)

// The emulator's own; null on a GPU.
#define FLYDSL_HIP_EMULATOR(X)                                                                     \
  X(flydslEmulatorCounterName)                                                                     \
  X(flydslEmulatorCountLaunches)                                                                   \
  X(flydslEmulatorCountedLaunches)                                                                 \
  X(flydslEmulatorGetLaunch)                                                                       \
  X(flydslEmulatorFindings)                                                                        \
  X(flydslEmulatorErrorText)

struct HipFunctions {
#define FLYDSL_HIP_MEMBER(name) decltype(&::name) name = nullptr;
  FLYDSL_HIP_REQUIRED(FLYDSL_HIP_MEMBER)
  FLYDSL_HIP_OPTIONAL(FLYDSL_HIP_MEMBER)
  FLYDSL_HIP_EMULATOR(FLYDSL_HIP_MEMBER)
#undef FLYDSL_HIP_MEMBER
  // The header overloads its name with a template.
  hipError_t (*hipMalloc)(void **pointer, std::size_t bytes) = nullptr;
  /// A device's properties in the library's own layout: that of HIP 6 where it has that function.
  hipError_t getProperties(void *properties, int device) const {
    return propertiesOfHip6 ? propertiesOfHip6(properties, device)
                            : propertiesOfHip5(static_cast<hipDeviceProp_t *>(properties), device);
  }
  hipError_t (*propertiesOfHip6)(void *properties, int device) = nullptr;
  hipError_t (*propertiesOfHip5)(hipDeviceProp_t *properties, int device) = nullptr;
  /// The device of a stream; HIP 6 on.
  hipError_t (*streamGetDevice)(hipStream_t stream, hipDevice_t *device) = nullptr;

  std::string path;        ///< the file that the functions came from
  bool isEmulator = false; ///< the emulator's library
  int deviceCount = 0;
};

/// The loaded library. The first call loads it; throws RuntimeError, saying what was tried, where
/// no library has a device. Which one: FLYDSL_RUNTIME_KIND = "hip", "emulator", or unset: HIP if it
/// reports a device, else the emulator. The log says which and why. Throws RuntimeError in a process
/// that was forked after its parent had used HIP.
const HipFunctions &hip();

/// For destructors, whose object exists because `hip()` had succeeded: null in a forked child that
/// can't use HIP, where there is nothing to let go, and while the process exits, when threads may still
/// use it and HIP may be gone.
const HipFunctions *hipToLetGo();

/// Whether `hip()` has succeeded in this process.
bool hipLoaded();

} // namespace flydsl::runtime
