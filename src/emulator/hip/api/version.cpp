// Versions, and functions by name.
#include "emulator/hip/device/device.h"
#include "emulator/hip/device/hip_version.h"

#include <dlfcn.h>

using namespace flyemu::hip;

namespace {

/// An exported function of this library; null if there is none of the name.
void *functionNamed(const std::string &name) {
  if (name.rfind("hip", 0) != 0)
    return nullptr; // the libraries that this one stands on are none of HIP's
  Dl_info self;
  if (!dladdr(reinterpret_cast<void *>(&hipDriverGetVersion), &self))
    return nullptr;
  static void *const library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, name.c_str()) : nullptr;
}

hipError_t version(const char *name, int *result) {
  return api(name, [&] {
    require(result, "no place for the result");
    *result = hipVersion();
  });
}

} // namespace

extern "C" {

hipError_t hipDriverGetVersion(int *result) { return version("hipDriverGetVersion", result); }

hipError_t hipRuntimeGetVersion(int *result) { return version("hipRuntimeGetVersion", result); }

// Of HIP 6, whose declaration has an enumeration for the status: 0 for a function, 1 for none.
hipError_t hipGetProcAddress(const char *symbol, void **function, int hipVersion, uint64_t,
                             int *status) {
  return api("hipGetProcAddress", [&] {
    require(symbol && *symbol && function, "no name, or no place for the function");
    std::string name = symbol;
    if (isSinceHip6(hipVersion) && (name == "hipGetDeviceProperties" || name == "hipChooseDevice"))
      name += "R0600";
    *function = functionNamed(name);
    if (status)
      *status = *function ? 0 : 1;
    if (!*function)
      fail(hipErrorInvalidValue, "the emulator has no function " + name);
  });
}

} // extern "C"
