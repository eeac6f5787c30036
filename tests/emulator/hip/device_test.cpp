// Devices: count, properties in both layouts, attributes, current device per thread, peers.
#include "support.h"

#include <cstring>
#include <thread>

namespace {
// Two devices, and an early end for endless kernels; set before the first HIP call reads the
// environment.
const bool twoDevices = [] {
  setenv("FLYDSL_EMULATOR_INSTRUCTION_LIMIT", "20000000", 1);
  return setenv("FLYDSL_EMULATOR_DEVICES", "2", 1) == 0;
}();
} // namespace

extern "C" hipError_t hipGetDevicePropertiesR0600(void *, int);

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
