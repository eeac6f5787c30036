// The steps of a kernel's first launch are ranges in a profiler's timeline, and each launch is one
// where FLYDSL_RUNTIME_ROCTX_LAUNCHES asks for it. Run with a library path on which libroctx64.so
// is the fake one.
#include "scale.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

int main() {
  auto x = flydsl::DeviceArray<float>::random({64}, 1);
  const auto axpy = makeAxpy("axpy_ranges");
  for (int i = 0; i < 2; ++i)
    axpy(x, x, 1.0f).launch({.block = axpyBlock});
  flydsl::Device::current().synchronize();
  void *roctx = dlopen("libroctx64.so", RTLD_NOW | RTLD_NOLOAD);
  auto *record =
      roctx ? reinterpret_cast<const char *(*)()>(dlsym(roctx, "fakeRoctxRecord")) : nullptr;
  const std::string seen = record ? record() : "no roctx";
  std::printf("%s\n", seen.c_str());
  std::string expected = "flydsl trace axpy_ranges;end;flydsl compile axpy_ranges;end;"
                         "flydsl load axpy_ranges;end;";
  if (std::getenv("FLYDSL_RUNTIME_ROCTX_LAUNCHES"))
    for (int i = 0; i < 2; ++i)
      expected += "flydsl launch axpy_ranges;end;";
  return seen != expected;
}
