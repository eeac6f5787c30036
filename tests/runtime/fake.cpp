#include "fake.h"

#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>

namespace {
struct Choose {
  Choose() {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", FAKE_HIP_LIBRARY, 1);
    for (const char *name : {"ARCH", "FLYDSL_GPU_ARCH", "HSA_OVERRIDE_GFX_VERSION", "COMPILE_ONLY"})
      unsetenv(name);
  }
} choose;
} // namespace

FakeHip &fake() {
  static FakeHip *state = [] {
    void *library = dlopen(FAKE_HIP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw std::runtime_error(dlerror());
    return reinterpret_cast<decltype(&fake_hip_state)>(dlsym(library, "fake_hip_state"))();
  }();
  return *state;
}
