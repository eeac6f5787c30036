// Images and files given to HIP that are not what they claim to be: HIP returns an error soon and
// allocates no memory for the claim.
#include "support.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <flydsl/emulator.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

long peakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

struct TemporaryPath {
  std::string path =
      std::filesystem::temp_directory_path() / ("flyemu-image-" + std::to_string(getpid()));
  ~TemporaryPath() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("An image in memory whose header claims gigabytes takes none") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  auto *header = reinterpret_cast<Elf64_Ehdr *>(image.data());
  auto *table = reinterpret_cast<Elf64_Phdr *>(image.data() + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (table[i].p_type == PT_LOAD)
      table[i].p_filesz = table[i].p_memsz = 0xf0000000;
  const long before = peakKilobytes();
  hipModule_t module = nullptr;
  CHECK(hipModuleLoadData(&module, image.data()) == hipErrorInvalidImage);
  CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains("are mapped"));
  CHECK(peakKilobytes() - before < 1 << 19);
  (void)hipGetLastError();
}

TEST_CASE("A pipe, a folder, a device and a sparse terabyte are no code objects") {
  hipModule_t module = nullptr;
  TemporaryPath pipe;
  REQUIRE(mkfifo(pipe.path.c_str(), 0600) == 0);
  for (const std::string &path : {pipe.path, std::string("/"), std::string("/dev/zero")}) {
    INFO(path);
    CHECK(hipModuleLoad(&module, path.c_str()) == hipErrorInvalidImage);
    CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains("is no regular file"));
  }
  std::filesystem::remove(pipe.path);
  const int file = open(pipe.path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(ftruncate(file, off_t(1) << 40) == 0);
  close(file);
  CHECK(hipModuleLoad(&module, pipe.path.c_str()) == hipErrorInvalidImage);
  CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains("more than a code object may have"));
  CHECK(hipModuleLoad(&module, "/nowhere/at/all.co") == hipErrorFileNotFound);
  (void)hipGetLastError();
}
