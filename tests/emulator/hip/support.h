// Helpers that the tests of the HIP functions share.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <hip/hip_runtime_api.h>
#include <iterator>
#include <string>
#include <vector>

#define HIP_OK(call) REQUIRE((call) == hipSuccess)

/// The bytes of a code object that the build made.
inline std::vector<char> readImage(const std::string &name) {
  std::ifstream file(std::string(EMULATOR_KERNELS) + "/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A loaded module, unloaded at the end.
struct TestModule {
  hipModule_t handle = nullptr;
  explicit TestModule(const std::string &name = "kernels.gfx942.co") {
    std::vector<char> image = readImage(name);
    HIP_OK(hipModuleLoadData(&handle, image.data()));
  }
  ~TestModule() { (void)hipModuleUnload(handle); }
  hipFunction_t function(const char *name) const {
    hipFunction_t result = nullptr;
    HIP_OK(hipModuleGetFunction(&result, handle, name));
    return result;
  }
};

/// A typed array in device memory, freed at the end.
template <typename T> struct DeviceBuffer {
  T *data = nullptr;
  size_t count;
  explicit DeviceBuffer(size_t count) : count(count) {
    HIP_OK(hipMalloc(reinterpret_cast<void **>(&data), count * sizeof(T)));
    HIP_OK(hipMemset(data, 0xEE, count * sizeof(T)));
  }
  ~DeviceBuffer() { (void)hipFree(data); }
  DeviceBuffer(const DeviceBuffer &) = delete;
  std::vector<T> read() const {
    std::vector<T> result(count);
    HIP_OK(hipMemcpy(result.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
    return result;
  }
  void write(const std::vector<T> &values) {
    REQUIRE(values.size() == count);
    HIP_OK(hipMemcpy(data, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
  }
};

/// Launches with one work-item axis; arguments by value.
template <typename... Arguments>
hipError_t launch1D(hipFunction_t function, unsigned grid, unsigned block, hipStream_t stream,
                    Arguments... arguments) {
  void *pointers[] = {&arguments..., nullptr};
  return hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, pointers, nullptr);
}
