// HIP's functions behind the driver's. One call of the driver's is one call of HIP, launches
// included.
#include "runtime/hip/hip_driver.h"

#include "runtime/hip/hip_functions.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace flydsl::runtime {
namespace {

/// The library of this process, from the moment when a driver over it was opened. Never destroyed:
/// objects with static storage may still call it when they die.
const HipFunctions *hip = nullptr;

hipStream_t streamOf(void *stream) { return static_cast<hipStream_t>(stream); }
hipEvent_t eventOf(void *event) { return static_cast<hipEvent_t>(event); }

/// Whether the device answers every later call with this error, until it is reset. So it does if a kernel did not
/// come to its end.
bool staysOnDevice(hipError_t code) {
  switch (code) {
  case hipErrorIllegalAddress:
  case hipErrorLaunchTimeOut:
  case hipErrorLaunchFailure:
  case hipErrorAssert:
    return true;
  default:
    return false;
  }
}

std::string errorText(Status status) {
  const auto code = static_cast<hipError_t>(status);
  const char *name = hip->hipGetErrorName(code);
  const char *text = hip->hipGetErrorString(code);
  std::string message = name ? name : "HIP error";
  message += " (" + std::to_string(status) + ")";
  if (text && *text)
    message += std::string(": ") + text;
  if (const char *more = hip->emulatorErrorText ? hip->emulatorErrorText() : nullptr; more && *more)
    message += std::string(": ") + more;
  if (staysOnDevice(code))
    message += "; the device answers every call with this until Device::reset()";
  return message;
}

/// The target's name out of a device's properties of unknown layout: HIP 5 and HIP 6 place
/// gcnArchName at different offsets, but in both it is the only text that begins with "gfx" after
/// the device's name (256 bytes).
std::string findArch(const char *properties, std::size_t size) {
  for (std::size_t at = 256; at + 4 < size; ++at)
    if (std::memcmp(properties + at, "gfx", 3) == 0 &&
        std::isxdigit(static_cast<unsigned char>(properties[at + 3])))
      return std::string(properties + at,
                         strnlen(properties + at, std::min<std::size_t>(256, size - at)));
  return {};
}

DeviceInfo describeDevice(int device) {
  const std::string what = "reading the properties of device " + std::to_string(device);
  auto expect = [&](hipError_t code) {
    if (code != hipSuccess)
      throw RuntimeError(what + ": " + errorText(code), code);
  };
  DeviceInfo info;
  // Both layouts take less than 2 KiB.
  constexpr std::size_t kPropertyBytes = 8192;
  auto properties = std::make_unique<char[]>(kPropertyBytes);
  expect(hip->getProperties(properties.get(), device));
  info.archFull = findArch(properties.get(), kPropertyBytes);
  if (info.archFull.empty())
    throw RuntimeError(what + ": no target name in them");
  info.arch = info.archFull.substr(0, info.archFull.find(':'));
  // The name is the first field of both layouts.
  info.name.assign(properties.get(), strnlen(properties.get(), 256));

  auto attribute = [&](hipDeviceAttribute_t which) {
    int value = 0;
    expect(hip->hipDeviceGetAttribute(&value, which, device));
    return value;
  };
  info.computeUnits = attribute(hipDeviceAttributeMultiprocessorCount);
  // HIP 7's hipDeviceAttributeNumberOfXccs; older ones refuse it.
  constexpr auto kNumberOfXccs = static_cast<hipDeviceAttribute_t>(10018);
  if (hip->hipDeviceGetAttribute(&info.xcds, kNumberOfXccs, device) != hipSuccess)
    info.xcds = 0;
  info.warpSize = attribute(hipDeviceAttributeWarpSize);
  info.sharedBytes = static_cast<std::size_t>(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock));
  if (hip->hipDeviceTotalMem)
    expect(hip->hipDeviceTotalMem(&info.memoryBytes, device));
  return info;
}

/// Lets the thread allocate while it captures a graph, which a capture would refuse in its usual
/// mode.
class RelaxedCapture {
public:
  RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture &) = delete;
  ~RelaxedCapture() { exchange(); }

private:
  void exchange() {
    if (hip->hipThreadExchangeStreamCaptureMode)
      (void)hip->hipThreadExchangeStreamCaptureMode(&mode_);
  }
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
};

/// Loading allocates.
Status loadModule(void **module, const void *image, std::size_t) {
  const RelaxedCapture relaxed;
  hipModule_t loaded = nullptr;
  const Status status = hip->hipModuleLoadData(&loaded, image);
  *module = loaded;
  return status;
}

hipGraph_t graphOf(void *graph) { return static_cast<hipGraph_t>(graph); }
hipGraphExec_t executableOf(void *executable) { return static_cast<hipGraphExec_t>(executable); }

GraphFunctions graphFunctions() {
  if (!hip->hipStreamBeginCapture || !hip->hipStreamEndCapture || !hip->hipGraphGetNodes ||
      !hip->hipGraphInstantiate || !hip->hipGraphExecUpdate || !hip->hipGraphLaunch ||
      !hip->hipGraphDestroy || !hip->hipGraphExecDestroy)
    return {};
  GraphFunctions graphs;
  graphs.beginCapture = [](void *stream) -> Status {
    return hip->hipStreamBeginCapture(streamOf(stream), hipStreamCaptureModeThreadLocal);
  };
  graphs.endCapture = [](void *stream, void **graph) -> Status {
    hipGraph_t captured = nullptr;
    const Status status = hip->hipStreamEndCapture(streamOf(stream), &captured);
    *graph = captured;
    return status;
  };
  graphs.countNodes = [](void *graph, std::size_t *count) -> Status {
    return hip->hipGraphGetNodes(graphOf(graph), nullptr, count);
  };
  graphs.instantiate = [](void **executable, void *graph) -> Status {
    hipGraphExec_t made = nullptr;
    const Status status = hip->hipGraphInstantiate(&made, graphOf(graph), nullptr, nullptr, 0);
    *executable = made;
    return status;
  };
  graphs.update = [](void *executable, void *graph, bool *fits) -> Status {
    hipGraphNode_t node = nullptr;
    hipGraphExecUpdateResult result = hipGraphExecUpdateSuccess;
    const Status status =
        hip->hipGraphExecUpdate(executableOf(executable), graphOf(graph), &node, &result);
    *fits = status == hipSuccess;
    return status == hipErrorGraphExecUpdateFailure ? hipSuccess : status;
  };
  graphs.launch = [](void *executable, void *stream) -> Status {
    return hip->hipGraphLaunch(executableOf(executable), streamOf(stream));
  };
  graphs.destroyGraph = [](void *graph) -> Status { return hip->hipGraphDestroy(graphOf(graph)); };
  graphs.destroyExecutable = [](void *executable) -> Status {
    return hip->hipGraphExecDestroy(executableOf(executable));
  };
  return graphs;
}

/// HIP calls a second request an error. The program may look for errors of its own, and must not find
/// that one. HIP alone knows what is enabled: the program may enable it, end it and reset devices, too.
Status enablePeer(int peer) {
  const hipError_t status = hip->hipDeviceEnablePeerAccess(peer, 0);
  if (status != hipErrorPeerAccessAlreadyEnabled)
    return status;
  (void)hip->hipGetLastError();
  return hipSuccess;
}

/// Memory whose stores reach other devices before the kernel ends. HIP 5 has no uncached memory of a
/// device, and takes the number of its flag for flags that it does not know.
Status allocateForPeers(void **pointer, std::size_t bytes) {
  constexpr unsigned kUncached = 3; // hipDeviceMallocUncached of HIP 6
  hipError_t status = hip->hipExtMallocWithFlags(pointer, bytes, kUncached);
  if (status == hipErrorInvalidValue) {
    (void)hip->hipGetLastError();
    status = hip->hipExtMallocWithFlags(pointer, bytes, hipDeviceMallocFinegrained);
  }
  return status;
}

PeerFunctions peerFunctions() {
  if (!hip->hipGetLastError || !hip->hipDeviceCanAccessPeer || !hip->hipDeviceEnablePeerAccess ||
      !hip->hipExtMallocWithFlags || !hip->hipIpcGetMemHandle || !hip->hipIpcOpenMemHandle ||
      !hip->hipIpcCloseMemHandle)
    return {};
  static_assert(sizeof(hipIpcMemHandle_t) == kMemoryHandleBytes);
  PeerFunctions peers;
  peers.canAccess = [](int device, int peer, bool *can) -> Status {
    int answer = 0;
    const Status status = hip->hipDeviceCanAccessPeer(&answer, device, peer);
    *can = answer != 0;
    return status;
  };
  peers.enableAccess = enablePeer;
  peers.allocate = allocateForPeers;
  peers.exportMemory = [](void *handle, void *pointer) -> Status {
    return hip->hipIpcGetMemHandle(static_cast<hipIpcMemHandle_t *>(handle), pointer);
  };
  peers.openMemory = [](void **pointer, const void *handle) -> Status {
    hipIpcMemHandle_t copy;
    std::memcpy(&copy, handle, sizeof copy);
    // hipIpcMemLazyEnablePeerAccess is 0 in the header of HIP 5 and 1 in those of HIP 6.
    const bool isHip6 = hip->propertiesOfHip6 != nullptr;
    return hip->hipIpcOpenMemHandle(pointer, copy, isHip6 ? 1 : 0);
  };
  peers.closeMemory = [](void *pointer) -> Status { return hip->hipIpcCloseMemHandle(pointer); };
  return peers;
}

/// HIP's library has a type of its own for the configuration (hip_functions.h), with the same members.
__attribute__((no_sanitize("function"))) Status
launchClusters(const std::array<unsigned, 3> &cluster, void *function,
               const std::array<unsigned, 3> &grid, const std::array<unsigned, 3> &block,
               unsigned sharedBytes, void *stream, void **extra) {
  LaunchAttributeEx attribute;
  attribute.id = LaunchAttributeEx::kClusterDimension;
  std::copy(cluster.begin(), cluster.end(), attribute.cluster);
  const LaunchConfigEx config = {{grid[0], grid[1], grid[2]},
                                 {block[0], block[1], block[2]},
                                 sharedBytes,
                                 streamOf(stream),
                                 &attribute,
                                 1};
  return hip->launchKernelEx(&config, static_cast<hipFunction_t>(function), nullptr, extra);
}

std::unique_ptr<Driver> driverOver(std::unique_ptr<HipFunctions> library) {
  if (!library)
    return nullptr;
  hip = library.release();

  auto driver = std::make_unique<Driver>();
  driver->name = hip->isEmulator ? "emulator" : "HIP";
  driver->path = hip->path;
  driver->deviceCount = hip->deviceCount;
  driver->isEmulator = hip->isEmulator;
  driver->notReady = hipErrorNotReady;
  driver->emulator = hip->emulator;
  driver->errorText = errorText;

  driver->describeDevice = describeDevice;
  driver->getDevice = [](int *device) -> Status { return hip->hipGetDevice(device); };
  driver->setDevice = [](int device) -> Status { return hip->hipSetDevice(device); };
  driver->synchronizeDevice = []() -> Status { return hip->hipDeviceSynchronize(); };
  if (hip->hipDeviceReset)
    driver->resetDevice = []() -> Status { return hip->hipDeviceReset(); };

  driver->allocate = [](void **pointer, std::size_t bytes) -> Status {
    return hip->hipMalloc(pointer, bytes);
  };
  driver->release = [](void *pointer) -> Status { return hip->hipFree(pointer); };
  driver->copyToDevice = [](void *device, const void *host, std::size_t bytes) -> Status {
    return hip->hipMemcpy(device, host, bytes, hipMemcpyHostToDevice);
  };
  driver->copyToHost = [](void *host, const void *device, std::size_t bytes) -> Status {
    return hip->hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost);
  };
  driver->copyInStream = [](void *to, const void *from, std::size_t bytes, void *stream) -> Status {
    return hip->hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, streamOf(stream));
  };
  driver->fill = [](void *pointer, int byte, std::size_t bytes) -> Status {
    return hip->hipMemset(pointer, byte, bytes);
  };
  if (hip->hipMemGetAddressRange)
    driver->allocationOf = [](const void *pointer, void **base, std::size_t *bytes) -> Status {
      hipDeviceptr_t begin = nullptr;
      const hipError_t status =
          hip->hipMemGetAddressRange(&begin, bytes, const_cast<void *>(pointer));
      *base = status == hipSuccess ? begin : nullptr;
      const bool isUnknown = status == hipErrorNotFound || status == hipErrorInvalidValue ||
                             status == hipErrorInvalidDevicePointer;
      return isUnknown ? hipSuccess : status;
    };

  if (hip->hostMalloc && hip->hipHostFree) {
    driver->allocateHost = [](void **pointer, std::size_t bytes) -> Status {
      const RelaxedCapture relaxed;
      return hip->hostMalloc(pointer, bytes, hipHostMallocPortable | hipHostMallocCoherent);
    };
    driver->releaseHost = [](void *pointer) -> Status { return hip->hipHostFree(pointer); };
  }

  driver->createStream = [](void **stream) -> Status {
    hipStream_t made = nullptr;
    const Status status = hip->hipStreamCreateWithFlags(&made, hipStreamNonBlocking);
    *stream = made;
    return status;
  };
  driver->destroyStream = [](void *stream) -> Status {
    return hip->hipStreamDestroy(streamOf(stream));
  };
  driver->synchronizeStream = [](void *stream) -> Status {
    return hip->hipStreamSynchronize(streamOf(stream));
  };
  driver->queryStream = [](void *stream) -> Status {
    return hip->hipStreamQuery(streamOf(stream));
  };
  driver->waitForEvent = [](void *stream, void *event) -> Status {
    return hip->hipStreamWaitEvent(streamOf(stream), eventOf(event), 0);
  };
  if (hip->streamGetDevice)
    driver->deviceOfStream = [](void *stream, int *device) -> Status {
      return hip->streamGetDevice(streamOf(stream), device);
    };

  driver->createEvent = [](void **event) -> Status {
    hipEvent_t made = nullptr;
    const Status status = hip->hipEventCreateWithFlags(&made, hipEventDefault);
    *event = made;
    return status;
  };
  driver->destroyEvent = [](void *event) -> Status { return hip->hipEventDestroy(eventOf(event)); };
  driver->recordEvent = [](void *event, void *stream) -> Status {
    return hip->hipEventRecord(eventOf(event), streamOf(stream));
  };
  driver->synchronizeEvent = [](void *event) -> Status {
    return hip->hipEventSynchronize(eventOf(event));
  };
  driver->queryEvent = [](void *event) -> Status { return hip->hipEventQuery(eventOf(event)); };
  driver->millisecondsBetween = [](float *milliseconds, void *start, void *stop) -> Status {
    return hip->hipEventElapsedTime(milliseconds, eventOf(start), eventOf(stop));
  };

  driver->graph = graphFunctions();
  driver->peer = peerFunctions();

  driver->loadModule = loadModule;
  driver->unloadModule = [](void *module) -> Status {
    return hip->hipModuleUnload(static_cast<hipModule_t>(module));
  };
  driver->getFunction = [](void **function, void *module, const char *name) -> Status {
    hipFunction_t found = nullptr;
    const Status status = hip->hipModuleGetFunction(&found, static_cast<hipModule_t>(module), name);
    *function = found;
    return status;
  };
  // Its handles are pointers and its status is an integer to the machine, as the driver has them.
  driver->launch = reinterpret_cast<LaunchFunction>(hip->hipModuleLaunchKernel);
  if (hip->launchKernelEx)
    driver->launchClusters = launchClusters;
  driver->endOfArguments = HIP_LAUNCH_PARAM_END;
  return driver;
}

} // namespace

std::unique_ptr<Driver> openHipDriver(HipWanted wanted, Attempts &attempts) {
  return driverOver(openHip(wanted, attempts));
}

std::unique_ptr<Driver> openEmulatorDriver(Attempts &attempts) {
  return driverOver(openEmulator(attempts));
}

} // namespace flydsl::runtime
