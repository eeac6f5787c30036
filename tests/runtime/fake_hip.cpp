#include "fake_hip.h"

#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace {
FakeHip state;
thread_local int currentDevice = 0;

struct Function {
  std::string name;
};
struct Module {
  std::vector<Function *> functions;
};

/// Kernels of static storage never unload theirs. Never destroyed, so that these do not look lost.
std::set<Module *> &loadedModules() {
  static auto *const modules = new std::set<Module *>;
  return *modules;
}

/// Memory, streams and events by their address, each with its device and with how it is given back. A
/// reset gives back what a device has. Never destroyed, as with modules.
class Held {
public:
  struct Item {
    int device;
    void (*release)(void *);
  };
  void *add(void *pointer, void (*release)(void *)) {
    std::lock_guard<std::mutex> lock(state.mutex);
    items_.emplace(pointer, Item{currentDevice, release});
    return pointer;
  }
  /// False, and a count of those, if the pointer is none of these.
  bool release(void *pointer) {
    std::lock_guard<std::mutex> lock(state.mutex);
    const auto found = items_.find(pointer);
    if (found == items_.end()) {
      ++state.strayReleases;
      return false;
    }
    found->second.release(pointer);
    items_.erase(found);
    return true;
  }
  /// How many there were.
  int releaseAllOf(int device) {
    std::lock_guard<std::mutex> lock(state.mutex);
    return static_cast<int>(std::erase_if(items_, [&](const auto &item) {
      if (item.second.device != device)
        return false;
      item.second.release(item.first);
      return true;
    }));
  }

private:
  std::map<void *, Item> items_;
};
Held &heldMemory() {
  static auto *const held = new Held;
  return *held;
}
/// A stream or an event is the address of a byte of its own.
Held &heldHandles() {
  static auto *const held = new Held;
  return *held;
}
template <class Handle> Handle newHandle() {
  return reinterpret_cast<Handle>(
      heldHandles().add(new char, [](void *byte) { delete static_cast<char *>(byte); }));
}

hipError_t failure() { return static_cast<hipError_t>(state.failNext.exchange(0)); }
} // namespace

extern "C" {
FakeHip *fake_hip_state() { return &state; }

const char *hipGetErrorName(hipError_t code) {
  return code == hipErrorOutOfMemory     ? "hipErrorOutOfMemory"
         : code == hipErrorLaunchFailure ? "hipErrorLaunchFailure"
         : code == hipErrorInvalidImage  ? "hipErrorInvalidImage"
         : code == hipErrorInvalidDevice ? "hipErrorInvalidDevice"
                                         : "hipErrorUnknown";
}
const char *hipGetErrorString(hipError_t) { return "as the test asked"; }
hipError_t hipGetDeviceCount(int *count) {
  if (const char *many = std::getenv("FAKE_HIP_DEVICES"); many && *many)
    state.devices = std::atoi(many);
  if (const char *none = std::getenv("FAKE_HIP_NO_DEVICE"); none && *none)
    return hipErrorNoDevice;
  *count = state.devices;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  if (device < 0 || device >= state.devices)
    return hipErrorInvalidDevice;
  currentDevice = device;
  return hipSuccess;
}
hipError_t hipGetDevice(int *device) {
  *device = currentDevice;
  return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
  *properties = {};
  std::strcpy(properties->name, "Fake gfx device");
  std::strcpy(properties->gcnArchName, state.arch.c_str());
  return hipSuccess;
}
/// Those of MI300X, and of MI308X for the second device; FAKE_HIP_UNITS names others for all.
static int computeUnitsOf(int device) {
  if (const char *units = std::getenv("FAKE_HIP_UNITS"))
    return std::atoi(units);
  return device == 1 ? 80 : 304;
}
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t which, int device) {
  *value = which == hipDeviceAttributeWarpSize                  ? 64
           : which == hipDeviceAttributeMaxSharedMemoryPerBlock ? 65536
           : which == hipDeviceAttributeMultiprocessorCount     ? computeUnitsOf(device)
                                                                : 0;
  return hipSuccess;
}
hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t) {
  *bytes = size_t{192} << 30;
  return hipSuccess;
}
hipError_t hipDeviceSynchronize() { return hipSuccess; }
hipError_t hipDeviceReset() {
  ++state.resets;
  state.allocations -= heldMemory().releaseAllOf(currentDevice);
  heldHandles().releaseAllOf(currentDevice);
  return hipSuccess;
}
hipError_t hipMalloc(void **pointer, size_t bytes) {
  if (hipError_t code = failure())
    return code;
  *pointer = heldMemory().add(
      std::aligned_alloc(256, std::max<size_t>(1, (bytes + 255) / 256) * 256), std::free);
  ++state.allocations;
  return hipSuccess;
}
hipError_t hipFree(void *pointer) {
  if (!pointer)
    return hipSuccess;
  if (!heldMemory().release(pointer))
    return hipErrorInvalidValue;
  --state.allocations;
  return hipSuccess;
}
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind) {
  std::memcpy(to, from, bytes);
  return hipSuccess;
}
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t) {
  return hipMemcpy(to, from, bytes, kind);
}
hipError_t hipMemset(void *to, int value, size_t bytes) {
  std::memset(to, value, bytes);
  return hipSuccess;
}
hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t) {
  return hipMemset(to, value, bytes);
}
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned) {
  *stream = newHandle<hipStream_t>();
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  if (!heldHandles().release(stream))
    return hipErrorInvalidHandle;
  ++state.streamsDestroyed;
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) { return failure(); }
hipError_t hipStreamQuery(hipStream_t) { return failure(); }
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) { return hipSuccess; }
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned) {
  *event = newHandle<hipEvent_t>();
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return heldHandles().release(event) ? hipSuccess : hipErrorInvalidHandle;
}
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
hipError_t hipEventQuery(hipEvent_t) { return failure(); }
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t, hipEvent_t) {
  *milliseconds = state.elapsed ? state.elapsed() : 1.5f;
  return hipSuccess;
}
hipError_t hipModuleLoadData(hipModule_t *module, const void *) {
  if (hipError_t code = failure())
    return code;
  std::lock_guard<std::mutex> lock(state.mutex);
  ++state.modulesLoaded;
  auto *fake = new Module;
  loadedModules().insert(fake);
  *module = reinterpret_cast<hipModule_t>(fake);
  return hipSuccess;
}
hipError_t hipModuleUnload(hipModule_t module) {
  auto *fake = reinterpret_cast<Module *>(module);
  std::lock_guard<std::mutex> lock(state.mutex);
  if (!loadedModules().erase(fake))
    return hipErrorInvalidHandle;
  for (Function *function : fake->functions)
    delete function;
  delete fake;
  ++state.modulesUnloaded;
  return hipSuccess;
}
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  auto *made = new Function{name};
  reinterpret_cast<Module *>(module)->functions.push_back(made);
  *function = reinterpret_cast<hipFunction_t>(made);
  return hipSuccess;
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned sharedBytes,
                                 hipStream_t stream, void **, void **extra) {
  if (!state.record)
    return hipSuccess;
  if (hipError_t code = failure())
    return code;
  FakeLaunch launch;
  launch.kernel = reinterpret_cast<Function *>(function)->name;
  launch.device = currentDevice;
  launch.grid[0] = gx, launch.grid[1] = gy, launch.grid[2] = gz;
  launch.block[0] = bx, launch.block[1] = by, launch.block[2] = bz;
  launch.sharedBytes = sharedBytes;
  launch.stream = stream;
  if (extra[0] != HIP_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != HIP_LAUNCH_PARAM_BUFFER_SIZE ||
      extra[4] != HIP_LAUNCH_PARAM_END)
    return hipErrorInvalidValue;
  const auto *bytes = static_cast<const std::byte *>(extra[1]);
  launch.arguments.assign(bytes, bytes + *static_cast<size_t *>(extra[3]));
  std::lock_guard<std::mutex> lock(state.mutex);
  state.launches.push_back(std::move(launch));
  return hipSuccess;
}
}
