// A HIP C++ program, compiled as such, with host and device code in one file: kernels by <<<>>>,
// variables by symbol. Its exit status is 0 if all results are right.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <flydsl/emulator.h>
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

/// The pattern that a graph's kernel stores.
__global__ void stamp(int *out, int value) { out[__builtin_amdgcn_workitem_id_x()] = value; }

extern "C" hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *symbol); // of HIP 6

namespace {
void expect(bool ok, const char *what) {
  if (ok)
    return;
  std::printf("FAIL: %s (%s)\n", what, hipGetErrorString(hipGetLastError()));
  std::exit(1);
}

/// Graphs and calls that take a kernel, given as HIP programs give it: by its host address.
void kernelsByAddress(int *memory) {
  void *const kernel = reinterpret_cast<void *>(&stamp);
  hipGraph_t graph;
  expect(hipGraphCreate(&graph, 0) == hipSuccess, "a graph");
  int value = 11, seen = 0, factor[4] = {9, 8, 7, 6}, back[4] = {};
  void *arguments[] = {&memory, &value};
  hipKernelNodeParams params = {};
  params.func = kernel;
  params.gridDim = dim3(1);
  params.blockDim = dim3(64);
  params.kernelParams = arguments;
  hipGraphNode_t node, copy, table, whole;
  expect(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params) == hipSuccess, "a kernel node by address");
  expect(hipGraphAddMemcpyNode1D(&copy, graph, &node, 1, &seen, memory + 63, 4, hipMemcpyDeviceToHost) == hipSuccess,
         "a copy after it");
  expect(hipGraphAddMemcpyNodeToSymbol(&table, graph, nullptr, 0, reinterpret_cast<const void *>(&weights), factor, 8, 8,
                                       hipMemcpyHostToDevice) == hipSuccess, "a copy to a symbol");
  expect(hipGraphAddMemcpyNodeFromSymbol(&whole, graph, &table, 1, back, reinterpret_cast<const void *>(&weights), 16, 0,
                                         hipMemcpyDeviceToHost) == hipSuccess, "a copy from a symbol");
  expect(hipGraphAddMemcpyNodeFromSymbol(&whole, graph, &table, 1, back, reinterpret_cast<const void *>(&weights), 16, 1,
                                         hipMemcpyDeviceToHost) == hipErrorInvalidValue, "a copy of more than the symbol");
  hipKernelNodeParams got = {};
  expect(hipGraphKernelNodeGetParams(node, &got) == hipSuccess && got.func == kernel &&
             *static_cast<int *>(got.kernelParams[1]) == 11, "the node's function is the one that was given");
  hipGraphExec_t exec;
  expect(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) == hipSuccess, "instantiation");
  expect(hipGraphLaunch(exec, nullptr) == hipSuccess && hipDeviceSynchronize() == hipSuccess, "a replay");
  expect(seen == 11 && back[0] == 1 && back[1] == -2 && back[2] == 9 && back[3] == 8, "what the replay wrote");
  value = 12;
  expect(hipGraphExecKernelNodeSetParams(exec, node, &params) == hipSuccess, "another value in the executable");
  expect(hipGraphLaunch(exec, nullptr) == hipSuccess && hipDeviceSynchronize() == hipSuccess && seen == 12, "its replay");
  value = 13;
  hipFunction_t handle;
  expect(hipGetFuncBySymbol(&handle, kernel) == hipSuccess, "the handle of a kernel");
  params.func = reinterpret_cast<void *>(handle);
  expect(hipGraphKernelNodeSetParams(node, &params) == hipSuccess && hipGraphKernelNodeGetParams(node, &got) == hipSuccess &&
             got.func == params.func, "the same by its handle");
  params.func = reinterpret_cast<void *>(&expect);
  expect(hipGraphKernelNodeSetParams(node, &params) == hipErrorInvalidDeviceFunction &&
             hipGetLastError() == hipErrorInvalidDeviceFunction, "a host function is no kernel");
  params.func = nullptr;
  expect(hipGraphExecKernelNodeSetParams(exec, node, &params) == hipErrorInvalidDeviceFunction, "nor is nothing");
  expect(hipGraphExecDestroy(exec) == hipSuccess && hipGraphDestroy(graph) == hipSuccess, "the end of the graph");

  // A captured launch tells its kernel as the program names it.
  hipStream_t stream;
  expect(hipStreamCreate(&stream) == hipSuccess && hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) == hipSuccess,
         "a capture");
  stamp<<<dim3(1), dim3(64), 0, stream>>>(memory, 21);
  value = 22;
  expect(hipLaunchCooperativeKernel(kernel, dim3(1), dim3(64), arguments, 0, stream) == hipSuccess, "a cooperative launch");
  value = 23;
  expect(hipExtLaunchKernel(kernel, dim3(1), dim3(64), arguments, 0, stream, nullptr, nullptr, 0) == hipSuccess,
         "an extended launch");
  expect(hipStreamEndCapture(stream, &graph) == hipSuccess, "the capture's end");
  hipGraphNode_t nodes[3];
  size_t count = 3;
  expect(hipGraphGetNodes(graph, nodes, &count) == hipSuccess && count == 3, "three launches");
  for (int i = 0; i < 3; ++i)
    expect(hipGraphKernelNodeGetParams(nodes[i], &got) == hipSuccess && got.func == kernel &&
               *static_cast<int *>(got.kernelParams[1]) == 21 + i, "each by the kernel's address");
  expect(hipGraphDestroy(graph) == hipSuccess && hipStreamDestroy(stream) == hipSuccess, "the end of the capture");

  int blocks = 0, grid = 0, block = 0, threads = 0;
  expect(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0) == hipSuccess && blocks > 0, "occupancy");
  expect(hipOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 256) == hipSuccess && block <= 256 && block > 0,
         "a block");
  expect(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 65536) == hipSuccess, "an attribute");
  expect(hipFuncSetAttribute(kernel, static_cast<hipFuncAttribute>(77), 1) == hipErrorInvalidValue, "an unknown attribute");
  expect(hipFuncSetCacheConfig(kernel, hipFuncCachePreferShared) == hipSuccess, "caches");
  expect(hipFuncSetCacheConfig(&grid, hipFuncCachePreferShared) == hipErrorInvalidDeviceFunction, "caches of no kernel");
  expect(hipFuncGetAttribute(&threads, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle) == hipSuccess && threads == 1024,
         "an attribute by handle");
  // What takes a handle refuses the address and says how to get the handle.
  expect(hipModuleLaunchKernel(reinterpret_cast<hipFunction_t>(kernel), 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) ==
             hipErrorInvalidHandle, "a module's launch by address");
  expect(std::strstr(flydslEmulatorErrorText(), "host address of kernel _Z5stampPii") &&
             std::strstr(flydslEmulatorErrorText(), "hipGetFuncBySymbol"), flydslEmulatorErrorText());
  (void)hipGetLastError();
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
  kernelsByAddress(din);
  std::printf("PASS\n");
  return 0;
}
