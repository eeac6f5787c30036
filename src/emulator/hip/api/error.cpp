// hipGetLastError and its kin; initialization.
#include "emulator/hip/device/device.h"

#include <flydsl/emulator.h>

using namespace flyemu::hip;

extern "C" {

hipError_t hipGetLastError() { return takeLastError(); }

hipError_t hipPeekAtLastError() { return peekLastError(); }

const char *hipGetErrorName(hipError_t status) { return statusName(status); }

const char *hipGetErrorString(hipError_t status) { return statusText(status); }

const char *flydslEmulatorErrorText(void) { return lastErrorText(); }

hipError_t hipInit(unsigned flags) {
  return api("hipInit", [&] {
    require(flags == 0, "flags must be zero");
    Runtime::get().device(0);
  });
}

hipError_t hipProfilerStart() { return hipSuccess; }
hipError_t hipProfilerStop() { return hipSuccess; }

} // extern "C"
