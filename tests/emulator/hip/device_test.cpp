// Devices: count, properties in both layouts, attributes, current device per thread, peers.
#include "support.h"

#include <cstring>
#include <thread>

namespace {
// Two devices, and an early end for endless kernels; set before the first HIP call reads the
// environment.
const bool twoDevices = [] {
  setenv("FLYDSL_EMULATOR_INSTRUCTION_LIMIT", "20000000", 0); // a test may have a lower one
  return setenv("FLYDSL_EMULATOR_DEVICES", "2", 1) == 0;
}();
} // namespace

extern "C" hipError_t hipGetDevicePropertiesR0600(void *, int);
extern "C" hipError_t hipGetProcAddress(const char *, void **, int, uint64_t, int *);

TEST_CASE("There are as many devices as the environment asks for") {
  REQUIRE(twoDevices);
  int count = 0;
  HIP_OK(hipInit(0));
  HIP_OK(hipGetDeviceCount(&count));
  CHECK(count == 2);
  CHECK(hipSetDevice(2) == hipErrorInvalidDevice);
  CHECK(hipSetDevice(-1) == hipErrorInvalidDevice);
  (void)hipGetLastError();
}

TEST_CASE("Properties name the emulator and its target") {
  hipDeviceProp_t p;
  HIP_OK(hipGetDeviceProperties(&p, 0));
  CHECK(std::string(p.name).find("emulator") != std::string::npos);
  CHECK(std::string(p.gcnArchName) == "gfx942:sramecc+:xnack-");
  CHECK(p.warpSize == 64);
  CHECK(p.sharedMemPerBlock == 65536);
  CHECK(p.maxThreadsPerBlock == 1024);
  CHECK(p.multiProcessorCount == 304);
  CHECK(hipGetDeviceProperties(&p, 7) == hipErrorInvalidDevice);
  CHECK(hipGetDeviceProperties(nullptr, 0) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("The newer layout of properties has its name and offsets") {
  std::vector<char> bytes(4096, 0x55);
  HIP_OK(hipGetDevicePropertiesR0600(bytes.data(), 1));
  CHECK(std::string(bytes.data() + 1160) == "gfx942:sramecc+:xnack-");
  CHECK(static_cast<unsigned char>(bytes[1472]) == 0x55); // nothing is written past the struct
  int warpSize;
  std::memcpy(&warpSize, bytes.data() + 308, sizeof(warpSize));
  CHECK(warpSize == 64);
}

TEST_CASE("Functions are found by name, properties in the layout of the version") {
  void *found = nullptr;
  int status = -1;
  HIP_OK(hipGetProcAddress("hipStreamCreate", &found, 50200000, 0, &status));
  CHECK(found == reinterpret_cast<void *>(&hipStreamCreate));
  CHECK(status == 0);
  HIP_OK(hipGetProcAddress("hipGetDeviceProperties", &found, 50200000, 0, nullptr));
  CHECK(found == reinterpret_cast<void *>(&hipGetDeviceProperties));
  for (int version : {600, 60000000, 70100000}) {
    HIP_OK(hipGetProcAddress("hipGetDeviceProperties", &found, version, 0, nullptr));
    CHECK(found == reinterpret_cast<void *>(&hipGetDevicePropertiesR0600));
  }
  for (const char *none : {"hipLaunchKernelExC", "hipNothing", "malloc"}) {
    CHECK(hipGetProcAddress(none, &found, 60000000, 0, &status) == hipErrorInvalidValue);
    CHECK(found == nullptr);
    CHECK(status == 1);
  }
  CHECK(hipGetProcAddress("", &found, 60000000, 0, &status) == hipErrorInvalidValue);
  CHECK(hipGetProcAddress("hipMalloc", nullptr, 60000000, 0, &status) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("A program of HIP 5 is answered as by 5.2") {
  int version = 0;
  HIP_OK(hipDriverGetVersion(&version));
  CHECK(version == HIP_VERSION);
}

// With FLYDSL_EMULATOR_HIP=7. The numbers are those of HIP 6's and 7's headers.
TEST_CASE("A program of HIP 7 is answered by its numbers", "[.hip7]") {
  int version = 0;
  HIP_OK(hipDriverGetVersion(&version));
  CHECK(version == 70100000);
  HIP_OK(hipRuntimeGetVersion(&version));
  CHECK(version == 70100000);

  auto typeOf = [](const void *pointer) {
    hipPointerAttribute_t attributes = {};
    HIP_OK(hipPointerGetAttributes(&attributes, pointer));
    return static_cast<int>(attributes.memoryType);
  };
  void *memory = nullptr;
  int own = 0;
  CHECK(typeOf(&own) == 0);
  HIP_OK(hipHostMalloc(&memory, 64, 0));
  CHECK(typeOf(memory) == 1);
  HIP_OK(hipHostFree(memory));
  HIP_OK(hipMalloc(&memory, 64));
  CHECK(typeOf(memory) == 2);
  HIP_OK(hipFree(memory));
  HIP_OK(hipMallocManaged(&memory, 64, hipMemAttachGlobal));
  CHECK(typeOf(memory) == 3);
  HIP_OK(hipFree(memory));

  hipGraph_t graph;
  hipGraphNode_t node;
  hipGraphNodeType type;
  HIP_OK(hipGraphCreate(&graph, 0));
  HIP_OK(hipGraphAddEmptyNode(&node, graph, nullptr, 0));
  HIP_OK(hipGraphNodeGetType(node, &type));
  CHECK(static_cast<int>(type) == 5);
  hipHostNodeParams host = {[](void *) {}, nullptr};
  HIP_OK(hipGraphAddHostNode(&node, graph, nullptr, 0, &host));
  HIP_OK(hipGraphNodeGetType(node, &type));
  CHECK(static_cast<int>(type) == 3);
  HIP_OK(hipGraphDestroy(graph));
}

TEST_CASE("Attributes agree with the properties; unknown ones are refused") {
  int value = 0;
  HIP_OK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  CHECK(value == 64);
  HIP_OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
  CHECK(value == 65536);
  CHECK(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(9000), 0) ==
        hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("The current device belongs to the thread") {
  HIP_OK(hipSetDevice(1));
  int other = -1;
  std::thread([&] { (void)hipGetDevice(&other); }).join();
  int here = -1;
  HIP_OK(hipGetDevice(&here));
  CHECK(here == 1);
  CHECK(other == 0);
  HIP_OK(hipSetDevice(0));
}

TEST_CASE("A kernel sees a peer's memory only after access was enabled") {
  int can = 0;
  HIP_OK(hipDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  HIP_OK(hipSetDevice(1));
  DeviceBuffer<int> far(64);
  HIP_OK(hipSetDevice(0));
  TestModule module;
  hipFunction_t fill = module.function("fill");

  HIP_OK(launch1D(fill, 1, 64, nullptr, far.data, 5, 64));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();

  HIP_OK(hipDeviceEnablePeerAccess(1, 0));
  CHECK(hipDeviceEnablePeerAccess(1, 0) == hipErrorPeerAccessAlreadyEnabled);
  CHECK(hipGetLastError() == hipErrorPeerAccessAlreadyEnabled);
  HIP_OK(launch1D(fill, 1, 64, nullptr, far.data, 5, 64));
  HIP_OK(hipDeviceSynchronize());
  CHECK(far.read() == std::vector<int>(64, 5));
  HIP_OK(hipDeviceDisablePeerAccess(1));
  CHECK(hipDeviceDisablePeerAccess(1) == hipErrorPeerAccessNotEnabled);
  CHECK(hipDeviceEnablePeerAccess(0, 0) == hipErrorInvalidDevice);
  (void)hipGetLastError();
}

TEST_CASE("The last error is kept until it is taken, over calls that succeed") {
  (void)hipGetLastError();
  int count;
  CHECK(hipSetDevice(99) == hipErrorInvalidDevice);
  HIP_OK(hipGetDeviceCount(&count));
  CHECK(hipPeekAtLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipSuccess);
}

TEST_CASE("Errors have HIP's names") {
  CHECK(std::string(hipGetErrorName(hipErrorNoBinaryForGpu)) == "hipErrorNoBinaryForGpu");
  CHECK(std::string(hipGetErrorName(hipErrorLaunchFailure)) == "hipErrorLaunchFailure");
  CHECK(std::string(hipGetErrorString(hipSuccess)) == "no error");
  CHECK(std::string(hipGetErrorName(static_cast<hipError_t>(12345))) == "hipErrorUnknown");
}
