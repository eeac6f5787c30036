// Launches: arguments in both forms, geometry, limits, and faults that remain until a reset.
#include "support.h"

TEST_CASE("Arguments of every size arrive, as pointers and as a packed buffer") {
  TestModule module;
  DeviceBuffer<int64_t> out(6);
  struct __attribute__((packed)) {
    int64_t *out;
    char c;
    char pad0;
    short s;
    int i;
    int64_t l;
    float f;
    int pad1;
    double d;
  } packed = {out.data, -5, 0, -300, -70000, -5000000000, 1.5f, 0, 2e9};
  size_t size = sizeof(packed);
  std::vector<int64_t> expected = {-5, -300, -70000, -5000000000, 1, 2000000000};

  HIP_OK(launch1D(module.function("mixed"), 1, 1, nullptr, packed.out, packed.c, packed.s, packed.i,
                  packed.l, packed.f, packed.d));
  CHECK(out.read() == expected);

  HIP_OK(hipMemset(out.data, 0, 48));
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP_OK(hipModuleLaunchKernel(module.function("mixed"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                               extra));
  CHECK(out.read() == expected);
}

TEST_CASE("Arguments are read at the call") {
  TestModule module;
  DeviceBuffer<int> out(64);
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  int value = 1, count = 64;
  void *arguments[] = {&out.data, &value, &count};
  HIP_OK(hipModuleLaunchKernel(module.function("fill"), 1, 1, 1, 64, 1, 1, 0, stream, arguments,
                               nullptr));
  value = 2;
  HIP_OK(hipStreamSynchronize(stream));
  CHECK(out.read() == std::vector<int>(64, 1));
  HIP_OK(hipStreamDestroy(stream));
}

TEST_CASE("A packed buffer of the wrong size, and missing arguments, are refused") {
  TestModule module;
  hipFunction_t fill = module.function("fill");
  char buffer[512] = {};
  for (size_t size : {size_t(0), size_t(12), size_t(15), size_t(512)}) {
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra) ==
          hipErrorInvalidValue);
  }
  void *unended[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER,
                     buffer,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr};
  CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, unended) ==
        hipErrorInvalidValue);
  CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr) ==
        hipErrorInvalidValue);
  void *holes[] = {buffer, nullptr, buffer};
  CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, holes, nullptr) ==
        hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("The kernel sees its geometry in three dimensions") {
  TestModule module;
  DeviceBuffer<int> out(7);
  void *arguments[] = {&out.data};
  HIP_OK(hipModuleLaunchKernel(module.function("geometry"), 3, 4, 5, 4, 5, 6, 0, nullptr, arguments,
                               nullptr));
  CHECK(out.read() == std::vector<int>{4, 5, 6, 3, 4, 5, 1});
}

TEST_CASE("Geometry that cannot be is refused at the call") {
  TestModule module;
  DeviceBuffer<int> out(64);
  hipFunction_t fill = module.function("fill");
  CHECK(launch1D(fill, 0, 64, nullptr, out.data, 1, 64) == hipErrorInvalidConfiguration);
  CHECK(launch1D(fill, 1, 0, nullptr, out.data, 1, 64) == hipErrorInvalidConfiguration);
  CHECK(launch1D(fill, 1, 1025, nullptr, out.data, 1, 64) == hipErrorInvalidConfiguration);
  CHECK(launch1D(fill, 0x80000000u, 1024, nullptr, out.data, 1, 64) ==
        hipErrorInvalidConfiguration);
  CHECK(launch1D(module.function("only64"), 1, 32, nullptr, out.data) ==
        hipErrorInvalidConfiguration);
  void *arguments[] = {&out.data, &out.data, &out.data};
  CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 65537, nullptr, arguments, nullptr) ==
        hipErrorLaunchOutOfResources);
  CHECK(hipModuleLaunchKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) ==
        hipErrorInvalidHandle);
  HIP_OK(launch1D(module.function("only64"), 1, 64, nullptr, out.data));
  std::vector<int> expected;
  for (int i = 63; i >= 0; --i)
    expected.push_back(i);
  CHECK(out.read() == expected);
  (void)hipGetLastError();
}

TEST_CASE("A workgroup exchanges values through LDS") {
  TestModule module("lds.gfx942.co");
  DeviceBuffer<int> out(256);
  HIP_OK(launch1D(module.function("reverse"), 4, 64, nullptr, out.data));
  std::vector<int> expected;
  for (int group = 0; group < 4; ++group)
    for (int i = 63; i >= 0; --i)
      expected.push_back(group * 64 + i);
  CHECK(out.read() == expected);
}

TEST_CASE("A wild store fails the launch, not the process, and the fault stays until a reset") {
  TestModule module;
  DeviceBuffer<int> out(64), witness(64);
  HIP_OK(launch1D(module.function("wild_store"), 1, 64, nullptr, out.data, int64_t(64)));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  CHECK(launch1D(module.function("fill"), 1, 64, nullptr, out.data, 1, 64) ==
        hipErrorIllegalAddress);
  int back;
  CHECK(hipMemcpy(&back, out.data, 4, hipMemcpyDeviceToHost) == hipErrorIllegalAddress);
  HIP_OK(hipDeviceReset());
  CHECK(hipGetLastError() == hipErrorIllegalAddress);
  DeviceBuffer<int> fresh(64);
  HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, fresh.data, 1, 64));
  CHECK(fresh.read() == std::vector<int>(64, 1));
  (void)hipGetLastError();
}

TEST_CASE("A store near a null pointer is an illegal address") {
  TestModule module;
  int *nearNull = reinterpret_cast<int *>(16);
  HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, nearNull, 1, 64));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("A store to address 0 is an illegal address, too") {
  TestModule module;
  int *null = nullptr;
  HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, null, 1, 64));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("A kernel that does not end is stopped by the limit") {
  TestModule module;
  DeviceBuffer<int> flag(64);
  HIP_OK(hipMemset(flag.data, 0, 256));
  HIP_OK(launch1D(module.function("endless"), 1, 64, nullptr, flag.data));
  CHECK(hipDeviceSynchronize() == hipErrorLaunchTimeOut);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("A trap in a kernel is a launch failure") {
  TestModule module("lds.gfx942.co");
  HIP_OK(launch1D(module.function("trap"), 1, 64, nullptr));
  CHECK(hipDeviceSynchronize() == hipErrorLaunchFailure);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("A kernel that uses freed memory fails") {
  TestModule module;
  int *p;
  HIP_OK(hipMalloc(reinterpret_cast<void **>(&p), 256));
  HIP_OK(hipFree(p));
  HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, p, 1, 64));
  CHECK(hipStreamSynchronize(nullptr) == hipErrorIllegalAddress);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("Work-item sized launches carry events") {
  TestModule module;
  DeviceBuffer<int> out(128);
  hipEvent_t start, stop;
  HIP_OK(hipEventCreate(&start));
  HIP_OK(hipEventCreate(&stop));
  int value = 4, count = 128;
  void *arguments[] = {&out.data, &value, &count};
  extern hipError_t extLaunch(hipFunction_t, uint32_t, uint32_t, void **, hipEvent_t, hipEvent_t);
  HIP_OK(extLaunch(module.function("fill"), 128, 64, arguments, start, stop));
  HIP_OK(hipEventSynchronize(stop));
  float ms = -1;
  HIP_OK(hipEventElapsedTime(&ms, start, stop));
  CHECK(ms >= 0);
  CHECK(out.read() == std::vector<int>(128, 4));
  CHECK(extLaunch(module.function("fill"), 100, 64, arguments, nullptr, nullptr) ==
        hipErrorInvalidConfiguration);
  HIP_OK(hipEventDestroy(start));
  HIP_OK(hipEventDestroy(stop));
  (void)hipGetLastError();
}

extern "C" hipError_t hipExtModuleLaunchKernel(hipFunction_t, uint32_t, uint32_t, uint32_t,
                                               uint32_t, uint32_t, uint32_t, size_t, hipStream_t,
                                               void **, void **, hipEvent_t, hipEvent_t, uint32_t);

hipError_t extLaunch(hipFunction_t function, uint32_t global, uint32_t block, void **arguments,
                     hipEvent_t start, hipEvent_t stop) {
  return hipExtModuleLaunchKernel(function, global, 1, 1, block, 1, 1, 0, nullptr, arguments,
                                  nullptr, start, stop, 0);
}
