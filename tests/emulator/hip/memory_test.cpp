// Memory: allocation, copies of every kind and shape, fills, pinned and managed memory, pointers'
// attributes.
#include "support.h"

#include <flydsl/emulator.h>

#include <numeric>

namespace {
std::vector<int> counting(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}
} // namespace

TEST_CASE("Allocation: alignment, zero sizes, too much, double free") {
  void *a = nullptr, *b = nullptr;
  HIP_OK(hipMalloc(&a, 100));
  HIP_OK(hipMalloc(&b, 100));
  CHECK(reinterpret_cast<uintptr_t>(a) % 256 == 0);
  CHECK(a != b);
  void *none = &none;
  HIP_OK(hipMalloc(&none, 0));
  CHECK(none == nullptr);
  HIP_OK(hipFree(nullptr));
  CHECK(hipMalloc(&none, size_t(1) << 60) == hipErrorOutOfMemory);
  CHECK(hipMalloc(nullptr, 8) == hipErrorInvalidValue);
  CHECK(hipFree(static_cast<char *>(a) + 4) == hipErrorInvalidValue);
  HIP_OK(hipFree(a));
  CHECK(hipFree(a) == hipErrorInvalidValue);
  HIP_OK(hipFree(b));
  int onStack = 0;
  CHECK(hipFree(&onStack) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("Used memory is counted") {
  size_t before = 0, during = 0, after = 0, total = 0;
  HIP_OK(hipMemGetInfo(&before, &total));
  void *p;
  HIP_OK(hipMalloc(&p, 1 << 20));
  HIP_OK(hipMemGetInfo(&during, &total));
  CHECK(before - during == 1 << 20);
  HIP_OK(hipFree(p));
  HIP_OK(hipMemGetInfo(&after, &total));
  CHECK(after == before);
}

TEST_CASE("Copies go both ways and between buffers") {
  std::vector<int> source = counting(1000), back(1000);
  DeviceBuffer<int> a(1000), b(1000);
  a.write(source);
  HIP_OK(hipMemcpy(b.data, a.data, 4000, hipMemcpyDeviceToDevice));
  HIP_OK(hipMemcpy(back.data(), b.data, 4000, hipMemcpyDefault));
  CHECK(back == source);
  HIP_OK(hipMemcpyDtoH(back.data(), reinterpret_cast<hipDeviceptr_t>(a.data + 1), 4));
  CHECK(back[0] == 2);
}

TEST_CASE("A copy past an allocation's end is refused and changes nothing") {
  std::vector<int> source = counting(16);
  DeviceBuffer<int> a(8);
  CHECK(hipMemcpy(a.data, source.data(), 64, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpy(source.data(), a.data + 4, 20, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  CHECK(hipMemcpy(source.data(), a.data, 32, static_cast<hipMemcpyKind>(77)) ==
        hipErrorInvalidMemcpyDirection);
  CHECK(hipMemcpy(nullptr, a.data, 4, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  CHECK(a.read() == std::vector<int>(8, int(0xEEEEEEEE)));
  CHECK(source == counting(16));
  (void)hipGetLastError();
}

TEST_CASE("An asynchronous copy from pageable memory has read it when the call returns") {
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  DeviceBuffer<int> a(4096);
  std::vector<int> source = counting(4096), expected = source;
  HIP_OK(hipMemcpyAsync(a.data, source.data(), 4 * 4096, hipMemcpyHostToDevice, stream));
  std::fill(source.begin(), source.end(), -1);
  HIP_OK(hipStreamSynchronize(stream));
  CHECK(a.read() == expected);
  std::vector<int> back(4096);
  HIP_OK(hipMemcpyAsync(back.data(), a.data, 4 * 4096, hipMemcpyDeviceToHost, stream));
  CHECK(back == expected);
  HIP_OK(hipStreamDestroy(stream));
}

TEST_CASE("Fills write bytes, half words and words") {
  DeviceBuffer<uint32_t> a(8);
  HIP_OK(hipMemset(a.data, 0x1AB, 32));
  CHECK(a.read() == std::vector<uint32_t>(8, 0xABABABAB));
  HIP_OK(hipMemsetD16(reinterpret_cast<hipDeviceptr_t>(a.data), 0x1234, 16));
  CHECK(a.read() == std::vector<uint32_t>(8, 0x12341234));
  HIP_OK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(a.data), int(0xCAFEBABE), 8));
  CHECK(a.read() == std::vector<uint32_t>(8, 0xCAFEBABE));
  HIP_OK(hipMemsetD8(reinterpret_cast<hipDeviceptr_t>(a.data + 1), 1, 4));
  CHECK(a.read()[0] == 0xCAFEBABE);
  CHECK(a.read()[1] == 0x01010101);
  CHECK(a.read()[2] == 0xCAFEBABE);
  CHECK(hipMemset(a.data, 0, 33) == hipErrorInvalidValue);
  CHECK(hipMemset(nullptr, 0, 4) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("Two-dimensional copies and fills respect pitches") {
  void *pitched = nullptr;
  size_t pitch = 0;
  HIP_OK(hipMallocPitch(&pitched, &pitch, 40, 5));
  CHECK(pitch == 256);
  std::vector<int> source = counting(50), back(50, 0);
  HIP_OK(hipMemset2D(pitched, pitch, 0, 40, 5));
  HIP_OK(hipMemcpy2D(pitched, pitch, source.data(), 40, 24, 5, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy2D(back.data(), 40, pitched, pitch, 40, 5, hipMemcpyDeviceToHost));
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 10; ++column)
      CHECK(back[row * 10 + column] == (column < 6 ? source[row * 10 + column] : 0));
  CHECK(hipMemcpy2D(pitched, 8, source.data(), 40, 24, 5, hipMemcpyHostToDevice) ==
        hipErrorInvalidPitchValue);
  CHECK(hipMemcpy2D(pitched, pitch, source.data(), 40, 40, 6, hipMemcpyHostToDevice) ==
        hipErrorInvalidValue);
  HIP_OK(hipFree(pitched));
  (void)hipGetLastError();
}

TEST_CASE("Pinned, registered and managed memory is the kernel's too") {
  TestModule module;
  int *pinned, *managed;
  HIP_OK(hipHostMalloc(reinterpret_cast<void **>(&pinned), 256, hipHostMallocMapped));
  HIP_OK(hipMallocManaged(reinterpret_cast<void **>(&managed), 256, hipMemAttachGlobal));
  std::vector<int> own(64);
  HIP_OK(hipHostRegister(own.data(), 256, hipHostRegisterDefault));
  CHECK(hipHostRegister(own.data() + 1, 16, 0) == hipErrorHostMemoryAlreadyRegistered);
  for (int *target : {pinned, managed, own.data()}) {
    void *onDevice = target;
    if (target != managed)
      HIP_OK(hipHostGetDevicePointer(&onDevice, target, 0));
    HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, onDevice, 9, 64));
    HIP_OK(hipDeviceSynchronize());
    CHECK(std::vector<int>(target, target + 64) == std::vector<int>(64, 9));
  }
  unsigned flags = 0;
  HIP_OK(hipHostGetFlags(&flags, pinned));
  CHECK(flags == hipHostMallocMapped);
  HIP_OK(hipHostUnregister(own.data()));
  CHECK(hipHostUnregister(own.data()) == hipErrorHostMemoryNotRegistered);
  // As HIP does: both free pinned memory, and memory of the device, once.
  HIP_OK(hipFree(pinned));
  CHECK(hipHostFree(pinned) == hipErrorInvalidValue);
  void *onDevice;
  HIP_OK(hipMalloc(&onDevice, 64));
  HIP_OK(hipHostFree(onDevice));
  CHECK(hipFree(onDevice) == hipErrorInvalidValue);
  HIP_OK(hipFree(managed));
  (void)hipGetLastError();
}

TEST_CASE("Pointers tell what they are") {
  DeviceBuffer<int> a(64);
  hipPointerAttribute_t attributes = {};
  HIP_OK(hipPointerGetAttributes(&attributes, a.data + 3));
  CHECK(attributes.memoryType == hipMemoryTypeDevice);
  CHECK(attributes.device == 0);
  CHECK(attributes.devicePointer == a.data + 3);
  CHECK(attributes.hostPointer == nullptr);
  int *pinned;
  HIP_OK(hipHostMalloc(reinterpret_cast<void **>(&pinned), 64, 0));
  HIP_OK(hipPointerGetAttributes(&attributes, pinned));
  CHECK(attributes.memoryType == hipMemoryTypeHost);
  CHECK(attributes.hostPointer == pinned);
  HIP_OK(hipHostFree(pinned));
  int own = 0;
  CHECK(hipPointerGetAttributes(&attributes, &own) == hipErrorInvalidValue);
  hipDeviceptr_t base;
  size_t size;
  HIP_OK(hipMemGetAddressRange(&base, &size, reinterpret_cast<hipDeviceptr_t>(a.data + 5)));
  CHECK(base == reinterpret_cast<hipDeviceptr_t>(a.data));
  CHECK(size == 256);
  (void)hipGetLastError();
}

TEST_CASE("Stream-ordered allocation is freed in order") {
  TestModule module;
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  int *p;
  std::vector<int> back(64);
  HIP_OK(hipMallocAsync(reinterpret_cast<void **>(&p), 256, stream));
  HIP_OK(launch1D(module.function("fill"), 1, 64, stream, p, 3, 64));
  HIP_OK(hipMemcpyAsync(back.data(), p, 256, hipMemcpyDeviceToHost, stream));
  HIP_OK(hipFreeAsync(p, stream));
  HIP_OK(hipStreamSynchronize(stream));
  CHECK(back == std::vector<int>(64, 3));
  CHECK(hipFree(p) == hipErrorInvalidValue);
  HIP_OK(hipStreamDestroy(stream));
  (void)hipGetLastError();
}

namespace {
/// What one thread's store to an address does: the fault's text; empty if there is none.
std::string faultOfStore(TestModule &module, int *out, int64_t offset) {
  HIP_OK(launch1D(module.function("wild_store"), 1, 1, nullptr, out, offset));
  const hipError_t status = hipDeviceSynchronize();
  if (status == hipSuccess)
    return {};
  CHECK(status == hipErrorIllegalAddress);
  std::string text = flydslEmulatorErrorText();
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
  return text;
}
} // namespace

TEST_CASE("An overrun of a stream-ordered allocation into another one's side faults") {
  TestModule module;
  for (const int64_t past : {0, 1, 511, 1023}) {
    int *first, *second;
    HIP_OK(hipMallocAsync(reinterpret_cast<void **>(&first), 256, nullptr));
    HIP_OK(hipMallocAsync(reinterpret_cast<void **>(&second), 256, nullptr));
    CHECK(faultOfStore(module, first, 63).empty());
    CHECK_THAT(faultOfStore(module, first, 64 + past),
               Catch::Contains(std::to_string(4 * past) + " bytes past the end of allocation"));
  }
}

TEST_CASE("Kernels touch of a divided allocation what its allocator gave out, and no more") {
  TestModule module;
  auto divide = [] {
    int *pool;
    HIP_OK(hipMalloc(reinterpret_cast<void **>(&pool), 4096));
    REQUIRE(flydslEmulatorAddSuballocation(pool + 16, 256) == 0);
    REQUIRE(flydslEmulatorAddSuballocation(pool + 96, 64) == 0);
    return pool;
  };
  int *pool = divide();
  for (int64_t inside : {16, 79, 96, 111})
    CHECK(faultOfStore(module, pool, inside).empty());
  CHECK_THAT(faultOfStore(module, pool, 80),
             Catch::Contains(" is 0 bytes past the end of the 256 bytes at ") &&
                 Catch::Contains("gave out of allocation"));
  pool = divide();
  CHECK_THAT(faultOfStore(module, pool, 95), Catch::Contains("60 bytes past the end of the 256"));
  pool = divide();
  CHECK_THAT(faultOfStore(module, pool, 112), Catch::Contains("0 bytes past the end of the 64"));
  pool = divide();
  CHECK_THAT(faultOfStore(module, pool, 15), Catch::Contains("4 bytes before the 256 bytes"));
  pool = divide();
  CHECK_THAT(faultOfStore(module, pool, 1024), Catch::Contains("past the end of allocation"));

  // What was taken back is nobody's, and may be given out again.
  pool = divide();
  CHECK(flydslEmulatorRemoveSuballocation(pool + 16) == 0);
  CHECK(flydslEmulatorRemoveSuballocation(pool + 16) == -1);
  CHECK(flydslEmulatorRemoveSuballocation(pool + 97) == -1);
  CHECK(flydslEmulatorAddSuballocation(pool + 8, 128) == 0);
  CHECK(faultOfStore(module, pool, 39).empty());
  CHECK_THAT(faultOfStore(module, pool, 40), Catch::Contains("past the end of the 128 bytes"));
  pool = divide();
  CHECK(flydslEmulatorRemoveSuballocation(pool + 16) == 0);
  CHECK(flydslEmulatorRemoveSuballocation(pool + 96) == 0);
  CHECK_THAT(faultOfStore(module, pool, 16), Catch::Contains("in nothing that"));

  // Parts lie in an allocation, and apart.
  pool = divide();
  int own = 0;
  CHECK(flydslEmulatorAddSuballocation(&own, 4) == -1);
  CHECK(flydslEmulatorAddSuballocation(pool + 200, 0) == -1);
  CHECK(flydslEmulatorAddSuballocation(pool + 1000, 97) == -1);
  CHECK(flydslEmulatorAddSuballocation(pool + 79, 4) == -1);
  CHECK(flydslEmulatorAddSuballocation(pool + 92, 17) == -1);
  CHECK(flydslEmulatorAddSuballocation(pool + 1000, 96) == 0);
  CHECK(flydslEmulatorAddSuballocation(pool + 80, 64) == 0);
  // Freeing the allocation takes back its parts.
  HIP_OK(hipFree(pool));
  CHECK(flydslEmulatorRemoveSuballocation(pool + 96) == -1);
}

TEST_CASE(
    "Devices that are not there are refused by copies between devices, prefetches and advice") {
  void *managed;
  HIP_OK(hipMallocManaged(&managed, 256, hipMemAttachGlobal));
  CHECK(hipMemcpyPeer(managed, 99, managed, 0, 16) == hipErrorInvalidDevice);
  CHECK(hipMemcpyPeer(managed, 0, managed, -1, 16) == hipErrorInvalidDevice);
  CHECK(hipMemcpyPeerAsync(managed, 0, managed, 99, 16, nullptr) == hipErrorInvalidDevice);
  CHECK(hipMemPrefetchAsync(managed, 256, 99, nullptr) == hipErrorInvalidDevice);
  CHECK(hipMemPrefetchAsync(managed, 0, 0, nullptr) == hipErrorInvalidValue);
  CHECK(hipMemPrefetchAsync(managed, 257, 0, nullptr) == hipErrorInvalidValue);
  CHECK(hipMemAdvise(managed, 256, hipMemAdviseSetPreferredLocation, 99) == hipErrorInvalidDevice);
  HIP_OK(hipMemAdvise(managed, 256, hipMemAdviseSetReadMostly, 99));
  HIP_OK(hipMemPrefetchAsync(managed, 256, hipCpuDeviceId, nullptr));
  HIP_OK(hipFree(managed));
  (void)hipGetLastError();
}

extern "C" hipError_t hipMemset_spt(void *, int, size_t);
extern "C" hipError_t hipMemcpy_spt(void *, const void *, size_t, hipMemcpyKind);
extern "C" hipError_t hipStreamSynchronize_spt(hipStream_t);

TEST_CASE("What a per-thread default stream is compiled to runs in the thread's own stream") {
  DeviceBuffer<unsigned char> bytes(64);
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipMemset_spt(bytes.data, 7, 64));
  unsigned char back[64] = {};
  HIP_OK(hipMemcpy_spt(back, bytes.data, 64, hipMemcpyDeviceToHost));
  CHECK(back[0] == 7);
  CHECK(back[63] == 7);
  HIP_OK(hipStreamSynchronize_spt(nullptr));
  CHECK(hipMemcpy_spt(back, bytes.data, 65, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  (void)hipGetLastError();
}
