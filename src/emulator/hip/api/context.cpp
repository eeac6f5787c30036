// Contexts: each device has its primary one, which is the device itself.
#include "emulator/hip/device/device.h"

#include <vector>

using namespace flyemu::hip;

namespace {

hipCtx_t contextOf(Device &device) { return reinterpret_cast<hipCtx_t>(&device); }

Device &deviceOf(hipCtx_t context) {
  Runtime &runtime = Runtime::get();
  for (int i = 0; i < runtime.deviceCount(); ++i)
    if (contextOf(runtime.device(i)) == context)
      return runtime.device(i);
  fail(hipErrorInvalidContext, "not a context of this process");
}

thread_local std::vector<int> contextStack;

} // namespace

extern "C" {

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t index) {
  return api("hipDevicePrimaryCtxRetain", [&] {
    require(context, "no place for the result");
    *context = contextOf(Runtime::get().device(index));
  });
}
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t index) {
  return api("hipDevicePrimaryCtxRelease", [&] { Runtime::get().device(index); });
}
hipError_t hipDevicePrimaryCtxReset(hipDevice_t index) {
  return api("hipDevicePrimaryCtxReset", [&] { Runtime::get().device(index).reset(); });
}
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t index, unsigned flags) {
  return api("hipDevicePrimaryCtxSetFlags", [&] { Runtime::get().device(index).flags = flags; });
}
hipError_t hipDevicePrimaryCtxGetState(hipDevice_t index, unsigned *flags, int *active) {
  return api("hipDevicePrimaryCtxGetState", [&] {
    require(flags && active, "no place for the result");
    *flags = Runtime::get().device(index).flags;
    *active = currentDeviceIndex() == index;
  });
}

hipError_t hipCtxCreate(hipCtx_t *context, unsigned, hipDevice_t index) {
  return api("hipCtxCreate", [&] {
    require(context, "no place for the result");
    *context = contextOf(Runtime::get().device(index));
    contextStack.push_back(currentDeviceIndex());
    setCurrentDeviceIndex(index);
  });
}
hipError_t hipCtxDestroy(hipCtx_t context) {
  return api("hipCtxDestroy", [&] { deviceOf(context); });
}
hipError_t hipCtxGetCurrent(hipCtx_t *context) {
  return api("hipCtxGetCurrent", [&] {
    require(context, "no place for the result");
    *context = contextOf(Runtime::get().currentDevice());
  });
}
hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return api("hipCtxSetCurrent", [&] {
    if (context)
      setCurrentDeviceIndex(deviceOf(context).index());
  });
}
hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return api("hipCtxPushCurrent", [&] {
    int index = deviceOf(context).index();
    contextStack.push_back(currentDeviceIndex());
    setCurrentDeviceIndex(index);
  });
}
hipError_t hipCtxPopCurrent(hipCtx_t *context) {
  return api("hipCtxPopCurrent", [&] {
    if (contextStack.empty())
      fail(hipErrorInvalidContext, "nothing was pushed");
    if (context)
      *context = contextOf(Runtime::get().currentDevice());
    setCurrentDeviceIndex(contextStack.back());
    contextStack.pop_back();
  });
}
hipError_t hipCtxGetDevice(hipDevice_t *index) {
  return api("hipCtxGetDevice", [&] {
    require(index, "no place for the result");
    *index = Runtime::get().currentDevice().index();
  });
}
hipError_t hipCtxGetApiVersion(hipCtx_t, int *version) {
  return api("hipCtxGetApiVersion", [&] {
    require(version, "no place for the result");
    *version = 4;
  });
}
hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }
hipError_t hipCtxGetFlags(unsigned *flags) { return hipGetDeviceFlags(flags); }

} // extern "C"
