// Devices: which there are, what they are, which is current.
#include "emulator/hip/device/properties.h"
#include "emulator/hip/graph/capture.h"

#include <cstdio>
#include <cstring>

using namespace flyemu::hip;

extern "C" {

hipError_t hipGetDeviceCount(int *count) {
  return api("hipGetDeviceCount", [&] {
    require(count, "no place for the result");
    *count = Runtime::get().deviceCount();
    Runtime::get().requireDevices();
  });
}

hipError_t hipSetDevice(int index) {
  return api("hipSetDevice", [&] {
    Runtime::get().device(index);
    setCurrentDeviceIndex(index);
  });
}

hipError_t hipGetDevice(int *index) {
  return api("hipGetDevice", [&] {
    require(index, "no place for the result");
    *index = Runtime::get().currentDevice().index();
  });
}

hipError_t hipDeviceGet(hipDevice_t *device, int ordinal) {
  return api("hipDeviceGet", [&] {
    require(device, "no place for the result");
    *device = Runtime::get().device(ordinal).index();
  });
}

// The 5.2 header gives this name the old layout; newer headers rename it to the symbol below.
hipError_t hipGetDeviceProperties(hipDeviceProp_t *result, int index) {
  return api("hipGetDeviceProperties", [&] {
    require(result, "no place for the result");
    fillProperties(Runtime::get().device(index), *result);
  });
}

// Declared as its callers do, who have no name for the newer layout with this header.
hipError_t hipGetDevicePropertiesR0600(void *result, int index) {
  return api("hipGetDevicePropertiesR0600", [&] {
    require(result, "no place for the result");
    fillProperties(Runtime::get().device(index), *static_cast<PropertiesR0600 *>(result));
  });
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int index) {
  return api("hipDeviceGetAttribute", [&] {
    require(value, "no place for the result");
    *value = deviceAttribute(Runtime::get().device(index), attribute);
  });
}

hipError_t hipDeviceGetName(char *name, int length, hipDevice_t index) {
  return api("hipDeviceGetName", [&] {
    require(name && length > 0, "no place for the result");
    hipDeviceProp_t properties;
    fillProperties(Runtime::get().device(index), properties);
    std::snprintf(name, length, "%s", properties.name);
  });
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t index) {
  return api("hipDeviceComputeCapability", [&] {
    require(major && minor, "no place for the result");
    const DeviceFigures &info = Runtime::get().device(index).figures();
    *major = info.major;
    *minor = info.minor;
  });
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t index) {
  return api("hipDeviceTotalMem", [&] {
    require(bytes, "no place for the result");
    *bytes = Runtime::get().device(index).space().capacity();
  });
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t index) {
  return api("hipDeviceGetUuid", [&] {
    require(uuid, "no place for the result");
    Device &device = Runtime::get().device(index);
    std::memset(uuid, 0, sizeof(*uuid));
    std::snprintf(uuid->bytes, sizeof(uuid->bytes), "flyemu%d", device.index());
  });
}

hipError_t hipDeviceGetPCIBusId(char *text, int length, int index) {
  return api("hipDeviceGetPCIBusId", [&] {
    require(text && length >= 13, "the text needs 13 bytes");
    std::snprintf(text, length, "0000:%02x:00.0", 1 + Runtime::get().device(index).index());
  });
}

hipError_t hipDeviceGetByPCIBusId(int *index, const char *text) {
  return api("hipDeviceGetByPCIBusId", [&] {
    require(index && text, "a pointer is null");
    unsigned domain, bus, device;
    require(std::sscanf(text, "%x:%x:%x", &domain, &bus, &device) == 3, "not a PCI address");
    if (domain || device || bus < 1 || static_cast<int>(bus) > Runtime::get().deviceCount())
      fail(hipErrorInvalidDevice, std::string("no device at ") + text);
    *index = static_cast<int>(bus) - 1;
  });
}

hipError_t hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr attribute, int from, int to) {
  return api("hipDeviceGetP2PAttribute", [&] {
    require(value, "no place for the result");
    require(from != to, "source and target are the same device");
    Runtime::get().device(from);
    Runtime::get().device(to);
    switch (attribute) {
    case hipDevP2PAttrPerformanceRank:
    case hipDevP2PAttrHipArrayAccessSupported:
      *value = 0;
      break;
    case hipDevP2PAttrAccessSupported:
    case hipDevP2PAttrNativeAtomicSupported:
      *value = 1;
      break;
    default:
      fail(hipErrorInvalidValue, "unknown attribute");
    }
  });
}

hipError_t hipDeviceSynchronize() {
  return api("hipDeviceSynchronize", [&] {
    Device &device = Runtime::get().currentDevice();
    for (const StreamRef &stream : device.streams())
      forbidInCapture(*stream);
    device.synchronize();
    device.requireHealthy();
  });
}

hipError_t hipDeviceReset() {
  return api("hipDeviceReset", [&] { Runtime::get().currentDevice().reset(); });
}

hipError_t hipSetDeviceFlags(unsigned flags) {
  return api("hipSetDeviceFlags", [&] {
    require((flags & ~(hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax)) == 0,
            "unknown flags");
    Runtime::get().currentDevice().flags = flags;
  });
}

hipError_t hipGetDeviceFlags(unsigned *flags) {
  return api("hipGetDeviceFlags", [&] {
    require(flags, "no place for the result");
    *flags = Runtime::get().currentDevice().flags;
  });
}

hipError_t hipChooseDevice(int *index, const hipDeviceProp_t *wanted) {
  return api("hipChooseDevice", [&] {
    require(index && wanted, "a pointer is null");
    *index = Runtime::get().device(0).index(); // all devices are alike
  });
}

// With the newer layout, which HIP 6's header means by the name above.
hipError_t hipChooseDeviceR0600(int *index, const void *wanted) {
  return api("hipChooseDeviceR0600", [&] {
    require(index && wanted, "a pointer is null");
    *index = Runtime::get().device(0).index();
  });
}

hipError_t hipDeviceGetLimit(size_t *value, enum hipLimit_t limit) {
  return api("hipDeviceGetLimit", [&] {
    require(value, "no place for the result");
    Device &device = Runtime::get().currentDevice();
    if (limit != hipLimitMallocHeapSize)
      fail(hipErrorUnsupportedLimit, "only the heap's size is known");
    *value = device.space().capacity(); // malloc in kernels takes what the device has left
  });
}

// The caches of a GPU are not modelled: preferences are accepted and have no effect.
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) { return hipSuccess; }
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *config) {
  return api("hipDeviceGetCacheConfig", [&] {
    require(config, "no place for the result");
    *config = hipFuncCachePreferNone;
  });
}
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig) { return hipSuccess; }
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *config) {
  return api("hipDeviceGetSharedMemConfig", [&] {
    require(config, "no place for the result");
    *config = hipSharedMemBankSizeFourByte;
  });
}

hipError_t hipDeviceCanAccessPeer(int *can, int from, int to) {
  return api("hipDeviceCanAccessPeer", [&] {
    require(can, "no place for the result");
    Runtime::get().device(from);
    Runtime::get().device(to);
    *can = from != to;
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api("hipDeviceEnablePeerAccess", [&]() -> hipError_t {
    require(flags == 0, "flags must be zero");
    Device &device = Runtime::get().currentDevice();
    Runtime::get().device(peer);
    if (peer == device.index())
      fail(hipErrorInvalidDevice, "a device is no peer of itself");
    // A program can only find out by asking again: this is an answer, and no line says it.
    if (!device.space().enablePeer(device.index(), peer))
      return hipErrorPeerAccessAlreadyEnabled;
    return hipSuccess;
  });
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  return api("hipDeviceDisablePeerAccess", [&] {
    Device &device = Runtime::get().currentDevice();
    Runtime::get().device(peer);
    if (!device.space().disablePeer(device.index(), peer))
      fail(hipErrorPeerAccessNotEnabled, "peer access was not enabled");
  });
}

} // extern "C"
