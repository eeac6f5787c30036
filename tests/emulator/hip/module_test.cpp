// Modules: valid and invalid ones, functions, variables, attributes, occupancy.
#include "support.h"

#include <cstring>
#include <sys/mman.h>

TEST_CASE("Code objects of versions 4, 5 and 6 and generic ones load") {
  for (const char *name :
       {"kernels.gfx942.co", "kernels.v4.co", "kernels.v6.co", "kernels.generic.co"}) {
    INFO(name);
    TestModule module(name);
    CHECK(module.function("fill") != nullptr);
  }
}

TEST_CASE("A module loads from a file too") {
  hipModule_t module;
  HIP_OK(hipModuleLoad(&module, EMULATOR_KERNELS "/kernels.gfx942.co"));
  HIP_OK(hipModuleUnload(module));
  CHECK(hipModuleLoad(&module, "/nonexistent.co") == hipErrorFileNotFound);
  (void)hipGetLastError();
}

TEST_CASE("Code for another target is refused, and says so in its status") {
  hipModule_t module = nullptr;
  for (const char *name : {"kernels.gfx1100.co", "kernels.xnack.co"}) {
    std::vector<char> image = readImage(name);
    CHECK(hipModuleLoadData(&module, image.data()) == hipErrorNoBinaryForGpu);
    CHECK(module == nullptr);
  }
  (void)hipGetLastError();
}

TEST_CASE("What is no code object is refused") {
  hipModule_t module = nullptr;
  std::vector<char> junk(4096, 'x');
  CHECK(hipModuleLoadData(&module, junk.data()) == hipErrorInvalidImage);
  CHECK(hipModuleLoadData(&module, nullptr) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("An image that claims more bytes than are mapped is refused without a crash") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  size_t kept = 4096;
  REQUIRE(image.size() > kept);
  char *pages = static_cast<char *>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(munmap(pages + 4096, 4096) == 0);
  std::memcpy(pages, image.data(), kept);
  hipModule_t module = nullptr;
  CHECK(hipModuleLoadData(&module, pages) == hipErrorInvalidImage);
  munmap(pages, 4096);
  (void)hipGetLastError();
}

TEST_CASE("An offload bundle gives the entry that fits") {
  std::vector<char> right = readImage("kernels.gfx942.co"), wrong = readImage("kernels.gfx1100.co");
  auto bundle = [&](std::vector<std::pair<std::string, std::vector<char>>> entries) {
    std::string bytes = "__CLANG_OFFLOAD_BUNDLE__";
    auto put = [&](uint64_t value) { bytes.append(reinterpret_cast<char *>(&value), 8); };
    put(entries.size());
    uint64_t at = 4096;
    for (auto &[id, image] : entries) {
      put(at);
      put(image.size());
      put(id.size());
      bytes += id;
      at += (image.size() + 4095) / 4096 * 4096;
    }
    for (auto &[id, image] : entries) {
      bytes.resize((bytes.size() + 4095) / 4096 * 4096);
      bytes.append(image.begin(), image.end());
    }
    return bytes;
  };
  hipModule_t module;
  std::string good = bundle({{"host-x86_64-unknown-linux--", {}},
                             {"hipv4-amdgcn-amd-amdhsa--gfx1100", wrong},
                             {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack-", right}});
  HIP_OK(hipModuleLoadData(&module, good.data()));
  HIP_OK(hipModuleUnload(module));
  std::string bad = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", wrong}});
  CHECK(hipModuleLoadData(&module, bad.data()) == hipErrorNoBinaryForGpu);
  std::string damaged = good.substr(0, 40) + std::string(4096, '\xff');
  CHECK(hipModuleLoadData(&module, damaged.data()) == hipErrorInvalidImage);
  (void)hipGetLastError();
}

TEST_CASE("Functions: the same handle each time, unknown names, use after unload") {
  hipFunction_t first = nullptr;
  DeviceBuffer<int> out(64);
  {
    TestModule module;
    first = module.function("fill");
    CHECK(first == module.function("fill"));
    hipFunction_t missing;
    CHECK(hipModuleGetFunction(&missing, module.handle, "no_such_kernel") == hipErrorNotFound);
  }
  CHECK(launch1D(first, 1, 64, nullptr, out.data, 1, 64) == hipErrorInvalidHandle);
  (void)hipGetLastError();
}

TEST_CASE("Variables of a module are device memory and keep their values") {
  TestModule module;
  hipDeviceptr_t counter = 0, table = 0;
  size_t size = 0;
  HIP_OK(hipModuleGetGlobal(&counter, &size, module.handle, "counter"));
  CHECK(size == 4);
  int value = -1;
  HIP_OK(hipMemcpyDtoH(&value, counter, 4));
  CHECK(value == 0);
  DeviceBuffer<int> seen(1);
  for (int i = 0; i < 3; ++i)
    HIP_OK(launch1D(module.function("count_up"), 1, 64, nullptr, seen.data));
  HIP_OK(hipMemcpyDtoH(&value, counter, 4));
  CHECK(value == 3);
  CHECK(seen.read()[0] == 3 + 40);
  value = 100;
  HIP_OK(hipMemcpyHtoD(counter, &value, 4));
  HIP_OK(launch1D(module.function("count_up"), 1, 64, nullptr, seen.data));
  CHECK(seen.read()[0] == 101 + 20);
  CHECK(hipModuleGetGlobal(&table, &size, module.handle, "no_such_variable") == hipErrorNotFound);
  (void)hipGetLastError();
}

TEST_CASE("Function attributes come from the code object") {
  TestModule module, lds("lds.gfx942.co");
  int value = -1;
  HIP_OK(
      hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, lds.function("reverse")));
  CHECK(value == 256);
  HIP_OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                             module.function("only64")));
  CHECK(value == 64);
  HIP_OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, module.function("fill")));
  CHECK(value > 0);
  CHECK(value < 64);
}

TEST_CASE("Occupancy follows LDS and the workgroup's size") {
  TestModule module;
  int blocks = 0, fewer = 0, grid = 0, block = 0;
  hipFunction_t fill = module.function("fill");
  HIP_OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 64, 0));
  CHECK(blocks == 32); // 8 waves on each of 4 SIMDs
  HIP_OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, fill, 64, 32768));
  CHECK(fewer == 2);
  HIP_OK(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 256));
  CHECK(block % 64 == 0);
  CHECK(block <= 256);
  CHECK(grid % 304 == 0);
}
