// Loading, launching and buffers for the foreign kernels, by plain HIP.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <hip/hip_runtime_api.h>
#include <string>
#include <vector>

namespace foreign {

#define HIP_OK(call) REQUIRE((call) == hipSuccess)

/// A module compiled at one optimization level.
class Module {
public:
  Module(const std::string &source, const std::string &level) {
    hipDeviceProp_t properties;
    HIP_OK(hipGetDeviceProperties(&properties, 0));
    std::string target = properties.gcnArchName;
    std::string path = std::string(FOREIGN_KERNELS) + "/" + target.substr(0, target.find(':')) +
                       "/" + source + "." + level + ".co";
    HIP_OK(hipModuleLoad(&module_, path.c_str()));
  }
  ~Module() { (void)hipModuleUnload(module_); }
  Module(const Module &) = delete;

  /// Runs a kernel to its end and reports its fault, if any.
  template <typename... Arguments>
  void run(const char *kernel, unsigned grid, unsigned block, Arguments... arguments) {
    INFO("kernel " << kernel);
    hipFunction_t function;
    HIP_OK(hipModuleGetFunction(&function, module_, kernel));
    void *pointers[] = {&arguments...};
    HIP_OK(hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, nullptr, pointers, nullptr));
    hipError_t status = hipDeviceSynchronize();
    if (status != hipSuccess)
      (void)hipDeviceReset();
    REQUIRE(status == hipSuccess);
  }

private:
  hipModule_t module_ = nullptr;
};

/// A device array; the output kind is poisoned first.
template <typename T> class Array {
public:
  explicit Array(const std::vector<T> &values) : size_(values.size()) {
    HIP_OK(hipMalloc(reinterpret_cast<void **>(&data_), bytes()));
    HIP_OK(hipMemcpy(data_, values.data(), bytes(), hipMemcpyHostToDevice));
  }
  explicit Array(size_t size) : size_(size) {
    HIP_OK(hipMalloc(reinterpret_cast<void **>(&data_), bytes()));
    HIP_OK(hipMemset(data_, 0xA5, bytes()));
  }
  ~Array() { (void)hipFree(data_); }
  Array(const Array &) = delete;

  T *data() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    HIP_OK(hipMemcpy(values.data(), data_, bytes(), hipMemcpyDeviceToHost));
    return values;
  }

private:
  size_t bytes() const { return size_ * sizeof(T); }
  T *data_ = nullptr;
  size_t size_;
};

/// Lanes of the device's waves.
inline int waveSize() {
  int size = 0;
  HIP_OK(hipDeviceGetAttribute(&size, hipDeviceAttributeWarpSize, 0));
  return size;
}

/// Every kernel is run at both levels.
#define FOREIGN_LEVEL GENERATE(as<std::string>(), "O0", "O3")

} // namespace foreign
