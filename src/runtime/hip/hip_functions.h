// The HIP functions that the driver calls, as a table of pointers. Nothing links HIP: one binary
// starts where no ROCm is installed, and runs on whichever library was found when it ran.
#pragma once

// HIP's own header, for types and constants only. The layout of hipDeviceProp_t is not used: it
// changed between HIP 5 and 6.
#include "runtime/driver/driver.h"
#include "runtime/hip/hip_driver.h"

#include <hip/hip_runtime_api.h>

#include <filesystem>
#include <memory>
#include <string>

namespace flydsl::runtime {

/// HIP 7's hipLaunchAttribute and HIP_LAUNCH_CONFIG, which the header that we build with may not have.
struct LaunchAttributeEx {
  static constexpr unsigned kClusterDimension = 4; ///< hipLaunchAttributeClusterDimension
  unsigned id = 0, unused = 0;
  union {
    char room[64] = {};
    unsigned cluster[3];
  };
};
struct LaunchConfigEx {
  unsigned grid[3], block[3], sharedBytes;
  hipStream_t stream;
  LaunchAttributeEx *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchAttributeEx) == 72 && sizeof(LaunchConfigEx) == 56);

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
  X(hipDeviceReset)                                                                                \
  X(hipDeviceTotalMem)                                                                             \
  X(hipMemGetAddressRange)                                                                         \
  X(hipHostFree)                                                                                   \
  X(hipGetLastError)                                                                               \
  X(hipDeviceCanAccessPeer)                                                                        \
  X(hipDeviceEnablePeerAccess)                                                                     \
  X(hipExtMallocWithFlags)                                                                         \
  X(hipIpcGetMemHandle)                                                                            \
  X(hipIpcOpenMemHandle)                                                                           \
  X(hipIpcCloseMemHandle)                                                                          \
  X(hipThreadExchangeStreamCaptureMode)                                                            \
  X(hipStreamBeginCapture)                                                                         \
  X(hipStreamEndCapture)                                                                           \
  X(hipGraphGetNodes)                                                                              \
  X(hipGraphInstantiate)                                                                           \
  X(hipGraphExecUpdate)                                                                            \
  X(hipGraphLaunch)                                                                                \
  X(hipGraphDestroy)                                                                               \
  X(hipGraphExecDestroy)

struct HipFunctions {
#define FLYDSL_HIP_MEMBER(name) decltype(&::name) name = nullptr;
  FLYDSL_HIP_REQUIRED(FLYDSL_HIP_MEMBER)
  FLYDSL_HIP_OPTIONAL(FLYDSL_HIP_MEMBER)
#undef FLYDSL_HIP_MEMBER
  // The header overloads its name with a template.
  hipError_t (*hipMalloc)(void **pointer, std::size_t bytes) = nullptr;
  /// The same; null where the library has none.
  hipError_t (*hostMalloc)(void **pointer, std::size_t bytes, unsigned flags) = nullptr;
  /// A device's properties in the library's own layout: that of HIP 6 where it has that function.
  hipError_t getProperties(void *properties, int device) const {
    return propertiesOfHip6 ? propertiesOfHip6(properties, device)
                            : propertiesOfHip5(static_cast<hipDeviceProp_t *>(properties), device);
  }
  hipError_t (*propertiesOfHip6)(void *properties, int device) = nullptr;
  hipError_t (*propertiesOfHip5)(hipDeviceProp_t *properties, int device) = nullptr;
  /// What the emulator says of the thread's last call that failed; null on a GPU.
  decltype(&::flydslEmulatorErrorText) emulatorErrorText = nullptr;
  EmulatorFunctions emulator;
  /// A launch with attributes; HIP 7 on.
  hipError_t (*launchKernelEx)(const LaunchConfigEx *config, hipFunction_t function, void **values,
                               void **extra) = nullptr;
  /// The device of a stream; HIP 6 on.
  hipError_t (*streamGetDevice)(hipStream_t stream, hipDevice_t *device) = nullptr;

  std::string path;        ///< the file that the functions came from
  bool isEmulator = false; ///< the emulator's library
  int deviceCount = 0;
};

/// The functions of the HIP library of a GPU, or of the emulator's. Null where none has all of them
/// and reports a device; `attempts` then says why of each file that was tried.
std::unique_ptr<HipFunctions> openHip(HipWanted wanted, Attempts &attempts);
std::unique_ptr<HipFunctions> openEmulator(Attempts &attempts);
/// Whether a folder (/dev) has a file by which HIP would reach a GPU.
bool hasDeviceFiles(const std::filesystem::path &folder);

} // namespace flydsl::runtime
