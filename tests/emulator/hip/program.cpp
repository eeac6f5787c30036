// An ordinary HIP program: it includes HIP's header and links HIP's library. Its test starts it
// with the emulator's library preloaded, and it must run as before. Its exit status is 0 if all
// results are right.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <hip/hip_runtime_api.h>
#include <iterator>
#include <vector>

namespace {

void check(hipError_t status, const char *call, int line) {
  if (status == hipSuccess)
    return;
  std::printf("line %d: %s: %s\n", line, call, hipGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

void expect(bool ok, const char *what) {
  if (ok)
    return;
  std::printf("FAIL: %s\n", what);
  std::exit(1);
}

constexpr int Count = 1000;
constexpr unsigned Grid = 4, Block = 256;

} // namespace

int main(int argc, char **argv) {
  expect(argc == 2, "usage: program code-object");
  CHECK(hipInit(0));
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  expect(devices >= 1, "a device");
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::printf("device: %s (%s)\n", properties.name, properties.gcnArchName);

  // Module from memory.
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<char> image((std::istreambuf_iterator<char>(file)), {});
  expect(!image.empty(), "the code object can be read");
  hipModule_t module;
  CHECK(hipModuleLoadData(&module, image.data()));
  hipFunction_t add, fill;
  CHECK(hipModuleGetFunction(&add, module, "add"));
  CHECK(hipModuleGetFunction(&fill, module, "fill"));

  // Memory, a stream, a launch with parameters.
  std::vector<int> a(Count), b(Count), c(Count);
  for (int i = 0; i < Count; ++i) {
    a[i] = i * 3;
    b[i] = 1000000 - i;
  }
  int *da, *db, *dc;
  CHECK(hipMalloc(&da, Count * sizeof(int)));
  CHECK(hipMalloc(&db, Count * sizeof(int)));
  CHECK(hipMalloc(&dc, Count * sizeof(int)));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMemcpyAsync(da, a.data(), Count * sizeof(int), hipMemcpyHostToDevice, stream));
  CHECK(hipMemcpyAsync(db, b.data(), Count * sizeof(int), hipMemcpyHostToDevice, stream));
  CHECK(hipMemsetAsync(dc, 0xFF, Count * sizeof(int), stream));
  int count = Count;
  void *parameters[] = {&da, &db, &dc, &count};
  CHECK(hipModuleLaunchKernel(add, Grid, 1, 1, Block, 1, 1, 0, stream, parameters, nullptr));
  CHECK(hipMemcpyAsync(c.data(), dc, Count * sizeof(int), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < Count; ++i)
    expect(c[i] == a[i] + b[i], "sum of a launch with parameters");

  // The same with a packed buffer; timed by events.
  struct {
    int *out;
    int value;
    int count;
  } packed = {dc, 77, Count};
  size_t size = sizeof(packed);
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  hipEvent_t start, stop;
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  CHECK(hipEventRecord(start, stream));
  CHECK(hipModuleLaunchKernel(fill, Grid, 1, 1, Block, 1, 1, 0, stream, nullptr, extra));
  CHECK(hipEventRecord(stop, stream));
  CHECK(hipEventSynchronize(stop));
  float milliseconds = -1;
  CHECK(hipEventElapsedTime(&milliseconds, start, stop));
  expect(milliseconds >= 0, "time between events");
  CHECK(hipMemcpy(c.data(), dc, Count * sizeof(int), hipMemcpyDeviceToHost));
  expect(c[0] == 77 && c[Count - 1] == 77, "result of a launch with a packed buffer");

  // A second stream that waits for the first.
  hipStream_t second;
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipEventRecord(start, stream));
  CHECK(hipStreamWaitEvent(second, start, 0));
  CHECK(hipStreamSynchronize(second));

  // A graph, captured and replayed.
  hipGraph_t graph;
  hipGraphExec_t exec;
  CHECK(hipStreamBeginCapture(second, hipStreamCaptureModeGlobal));
  void *accumulate[] = {&da, &dc, &dc, &count};
  CHECK(hipModuleLaunchKernel(add, Grid, 1, 1, Block, 1, 1, 0, second, accumulate, nullptr));
  CHECK(hipStreamEndCapture(second, &graph));
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i)
    CHECK(hipGraphLaunch(exec, second));
  CHECK(hipStreamSynchronize(second));
  CHECK(hipMemcpy(c.data(), dc, Count * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < Count; ++i)
    expect(c[i] == 77 + 3 * a[i], "result of a graph run three times");

  // A second device: its memory is copied to, and seen by kernels of
  // the first once that is allowed.
  if (devices > 1) {
    int can = 0;
    CHECK(hipDeviceCanAccessPeer(&can, 0, 1));
    expect(can == 1, "peer access is possible");
    int *other;
    CHECK(hipSetDevice(1));
    CHECK(hipMalloc(&other, Count * sizeof(int)));
    CHECK(hipSetDevice(0));
    CHECK(hipMemcpyPeer(other, 1, da, 0, Count * sizeof(int)));
    CHECK(hipDeviceEnablePeerAccess(1, 0));
    void *across[] = {&other, &db, &dc, &count};
    CHECK(hipModuleLaunchKernel(add, Grid, 1, 1, Block, 1, 1, 0, stream, across, nullptr));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpy(c.data(), dc, Count * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < Count; ++i)
      expect(c[i] == a[i] + b[i], "sum of memory of two devices");
    hipPointerAttribute_t peer;
    CHECK(hipPointerGetAttributes(&peer, other));
    expect(peer.device == 1, "the device of a pointer");
    CHECK(hipDeviceDisablePeerAccess(1));
    CHECK(hipFree(other));
  }

  // Pointers, errors.
  hipPointerAttribute_t attributes;
  CHECK(hipPointerGetAttributes(&attributes, da));
  expect(attributes.memoryType == hipMemoryTypeDevice && attributes.devicePointer == da,
         "pointer attributes");
  expect(hipSetDevice(1000) == hipErrorInvalidDevice, "an invalid device is refused");
  expect(hipGetLastError() == hipErrorInvalidDevice, "the error is kept");
  expect(hipGetLastError() == hipSuccess, "and taken");
  expect(std::strcmp(hipGetErrorName(hipErrorInvalidDevice), "hipErrorInvalidDevice") == 0,
         "an error's name");

  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipEventDestroy(start));
  CHECK(hipEventDestroy(stop));
  CHECK(hipStreamDestroy(second));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(da));
  CHECK(hipFree(db));
  CHECK(hipFree(dc));
  CHECK(hipModuleUnload(module));
  std::printf("PASS\n");
  return 0;
}
