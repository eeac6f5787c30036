// Finds a function of the HIP library that the runtime has loaded (the emulator), for a program
// that calls HIP itself.
#pragma once

#include <catch2/catch.hpp>
#include <hip/hip_runtime_api.h>

#include <dlfcn.h>

template <class F> F *hipFunction(const char *name) {
  void *library = dlopen("libflydsl_emulator.so", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library);
  void *function = dlsym(library, name);
  REQUIRE(function);
  return reinterpret_cast<F *>(function);
}
#define HIP(name) hipFunction<decltype(::name)>(#name)
