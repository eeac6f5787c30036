// A HIP C++ program, compiled as such, with host and device code in one file: kernels by <<<>>>,
// variables by symbol. Its exit status is 0 if all results are right.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime_api.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

__device__ int total;
__constant__ int weights[4];

__global__ void weigh(const int *in, int *out, int count) {
  __shared__ int tile[128];
  int lane = __builtin_amdgcn_workitem_id_x();
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + lane;
  tile[lane] = i < count ? in[i] * weights[i & 3] : 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (i < count)
    out[i] = tile[lane ^ 1];
  __scoped_atomic_fetch_add(&total, tile[lane], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

template <typename T> __global__ void scale(T *data, T factor) {
  data[__builtin_amdgcn_workitem_id_x()] *= factor;
}

namespace {
void expect(bool ok, const char *what) {
  if (ok)
    return;
  std::printf("FAIL: %s (%s)\n", what, hipGetErrorString(hipGetLastError()));
  std::exit(1);
}
} // namespace

int main() {
  constexpr int count = 300;
  int in[count], out[count], sum = 0, zero = 0, expectedSum = 0;
  const int table[4] = {1, -2, 3, 5};
  for (int i = 0; i < count; ++i) {
    in[i] = i * 7 - 100;
    expectedSum += in[i] * table[i & 3];
  }
  int *din, *dout;
  expect(hipMalloc(reinterpret_cast<void **>(&din), sizeof(in)) == hipSuccess, "malloc");
  expect(hipMalloc(reinterpret_cast<void **>(&dout), sizeof(out)) == hipSuccess, "malloc");
  expect(hipMemcpy(din, in, sizeof(in), hipMemcpyHostToDevice) == hipSuccess, "copy in");
  expect(hipMemcpyToSymbol(reinterpret_cast<const void *>(&weights), table, sizeof(table), 0, hipMemcpyHostToDevice) ==
             hipSuccess, "write constants");
  expect(hipMemcpyToSymbol(reinterpret_cast<const void *>(&total), &zero, 4, 0, hipMemcpyHostToDevice) == hipSuccess, "write a variable");
  weigh<<<dim3(3), dim3(128)>>>(din, dout, count);
  expect(hipDeviceSynchronize() == hipSuccess, "launch");
  expect(hipMemcpy(out, dout, sizeof(out), hipMemcpyDeviceToHost) == hipSuccess, "copy out");
  expect(hipMemcpyFromSymbol(&sum, reinterpret_cast<const void *>(&total), 4, 0, hipMemcpyDeviceToHost) == hipSuccess, "read a variable");
  for (int i = 0; i < count; ++i)
    expect(out[i] == in[i ^ 1] * table[(i ^ 1) & 3], "an element");
  expect(sum == expectedSum, "the sum");

  scale<float><<<1, 64>>>(reinterpret_cast<float *>(dout), 0.5f);
  scale<int><<<dim3(1), dim3(32)>>>(din, 3);
  expect(hipMemcpy(out, din, sizeof(out), hipMemcpyDeviceToHost) == hipSuccess, "copy out");
  expect(out[5] == in[5] * 3 && out[40] == in[40], "a template kernel");

  hipFuncAttributes attributes;
  expect(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(&weigh)) == hipSuccess &&
             attributes.sharedSizeBytes == 512, "attributes of a kernel");
  expect(hipLaunchKernel(reinterpret_cast<const void *>(&expect), dim3(1), dim3(1), nullptr, 0, nullptr) ==
             hipErrorInvalidDeviceFunction, "a function that is no kernel");
  expect(hipGetLastError() == hipErrorInvalidDeviceFunction, "its error");
  size_t size = 0;
  expect(hipGetSymbolSize(&size, reinterpret_cast<const void *>(&weights)) == hipSuccess && size == 16, "a symbol's size");
  std::printf("PASS\n");
  return 0;
}
