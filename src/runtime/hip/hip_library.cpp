// Finding and binding a HIP library. The emulator's is one as well, with a few functions more.
#include "runtime/hip/hip_functions.h"

#include "support/env_variables.h"
#include "support/log.h"
#include "support/text.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace flydsl::runtime {
namespace {

constexpr const char *kHipNames[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                     "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"};
constexpr const char *kEmulatorName = "libflydsl_emulator.so";
/// What HIP opens to reach a GPU: the kernel driver's interface and its render nodes ("Accessing
/// GPUs in containers",
/// https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html), and Windows'
/// interface in its subsystem for Linux (ROCm's librocdxg). With none of them there is no GPU,
/// which is known without the 30 ms that loading HIP and its compiler takes.
constexpr const char *kDeviceFiles[] = {"kfd", "dri", "dxg"};

std::string fileOf(void *address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

bool isEmulator(const std::filesystem::path &library) {
  return library.filename().string().starts_with("libflydsl_emulator");
}

/// The HIP library that the program has by itself, linked or loaded; empty where it has none, or
/// the emulator's. It is looked for once, before this file loads any. The driver's lock guards it.
std::optional<std::string> hipOfProgram;

void lookForHipOfProgram() {
  if (hipOfProgram)
    return;
  void *function = dlsym(RTLD_DEFAULT, "hipModuleLaunchKernel");
  for (const char *name : kHipNames)
    if (void *library = function ? nullptr : dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {
      function = dlsym(library, "hipModuleLaunchKernel");
      dlclose(library);
    }
  const std::string path = function ? fileOf(function) : "";
  hipOfProgram = isEmulator(path) ? "" : path;
}

template <class Function> void bindAs(void *library, const char *name, Function &into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
}

/// The emulator's own functions; a GPU's library has none of them.
void bindEmulator(void *library, HipFunctions &table) {
  bindAs(library, "flydslEmulatorErrorText", table.emulatorErrorText);
  bindAs(library, "flydslEmulatorCounterName", table.emulator.counterName);
  bindAs(library, "flydslEmulatorCountLaunches", table.emulator.countLaunches);
  bindAs(library, "flydslEmulatorCountedLaunches", table.emulator.countedLaunches);
  bindAs(library, "flydslEmulatorGetLaunch", table.emulator.getLaunch);
  bindAs(library, "flydslEmulatorFindings", table.emulator.findings);
}

/// Fills the table from a library (or from the whole process for RTLD_DEFAULT). Null, with a line
/// in `attempts`, where a required function is missing or no device is reported.
std::unique_ptr<HipFunctions> bind(void *library, const std::string &name, Attempts &attempts) {
  auto table = std::make_unique<HipFunctions>();
  std::string missing;
#define FLYDSL_BIND(function)                                                                      \
  table->function = reinterpret_cast<decltype(table->function)>(dlsym(library, #function));
#define FLYDSL_BIND_REQUIRED(function)                                                             \
  FLYDSL_BIND(function)                                                                            \
  if (!table->function)                                                                            \
    support::appendItem(missing, #function);
  FLYDSL_HIP_REQUIRED(FLYDSL_BIND_REQUIRED)
  FLYDSL_BIND_REQUIRED(hipMalloc)
  FLYDSL_HIP_OPTIONAL(FLYDSL_BIND)
#undef FLYDSL_BIND_REQUIRED
#undef FLYDSL_BIND
  bindEmulator(library, *table);
  bindAs(library, "hipGetDevicePropertiesR0600", table->propertiesOfHip6);
  bindAs(library, "hipGetDeviceProperties", table->propertiesOfHip5);
  if (!table->propertiesOfHip6 && !table->propertiesOfHip5)
    support::appendItem(missing, "hipGetDeviceProperties");
  if (!missing.empty()) {
    attempts.add(name + ": lacks " + missing);
    return nullptr;
  }
  bindAs(library, "hipDrvLaunchKernelEx", table->launchKernelEx);
  bindAs(library, "hipStreamGetDevice", table->streamGetDevice);
  bindAs(library, "hipHostMalloc", table->hostMalloc);
  table->path = fileOf(reinterpret_cast<void *>(table->hipModuleLaunchKernel));
  table->isEmulator = isEmulator(table->path);

  int count = 0;
  hipError_t code = table->hipGetDeviceCount(&count);
  if (code != hipSuccess || count < 1) {
    std::string why = code == hipSuccess ? "" : table->hipGetErrorName(code);
    if (const char *more = table->emulatorErrorText ? table->emulatorErrorText() : nullptr;
        code != hipSuccess && more && *more)
      why += std::string(": ") + more;
    attempts.add(name + ": reports no device" + (why.empty() ? "" : " (" + why + ")"));
    return nullptr;
  }
  table->deviceCount = count;
  return table;
}

std::unique_ptr<HipFunctions> open(const std::string &path, Attempts &attempts) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    attempts.add(dlerror());
    return nullptr;
  }
  std::unique_ptr<HipFunctions> table = bind(library, path, attempts);
  if (!table)
    dlclose(library);
  return table; // a library in use is never unloaded
}

std::unique_ptr<HipFunctions> findEmulator(Attempts &attempts) {
  if (auto path = support::env::kEmulatorLibrary.get())
    return open(*path, attempts);
  // Beside the library (or the program) that this code is in; in a build tree and an installation
  // alike.
  const std::filesystem::path self =
      std::filesystem::path(fileOf(reinterpret_cast<void *>(&openHip))).lexically_normal();
  std::filesystem::path last;
  for (const std::filesystem::path &folder :
       {self.parent_path(), self.parent_path().parent_path() / "lib"}) {
    const std::filesystem::path candidate = folder / kEmulatorName;
    if (std::exchange(last, candidate) == candidate)
      continue; // one file, whose answer is known
    std::error_code ignored;
    if (!std::filesystem::exists(candidate, ignored)) {
      attempts.add(candidate.string() + ": no such file");
      continue;
    }
    return open(candidate.string(), attempts); // another one would have the same environment
  }
  return open(kEmulatorName, attempts);
}

} // namespace

bool hasDeviceFiles(const std::filesystem::path &folder) {
  return std::any_of(std::begin(kDeviceFiles), std::end(kDeviceFiles), [&](const char *name) {
    std::error_code ignored;
    return std::filesystem::exists(folder / name, ignored);
  });
}

std::unique_ptr<HipFunctions> openHip(HipWanted wanted, Attempts &attempts) {
  lookForHipOfProgram();
  // A program that links HIP, or runs on the emulator by LD_PRELOAD, has its library already.
  if (dlsym(RTLD_DEFAULT, "hipModuleLaunchKernel"))
    if (auto table = bind(RTLD_DEFAULT, "the HIP functions of this process", attempts))
      return table;
  if (wanted == HipWanted::whereGpuMayBe && hipOfProgram->empty() && !hasDeviceFiles("/dev")) {
    attempts.add("HIP: not opened, because there is no /dev/kfd, /dev/dri or /dev/dxg "
                 "(FLYDSL_RUNTIME_KIND=hip opens it nevertheless)");
    return nullptr;
  }
  for (const char *name : kHipNames)
    if (auto table = open(name, attempts))
      return table;
  return nullptr;
}

std::unique_ptr<HipFunctions> openEmulator(Attempts &attempts) {
  lookForHipOfProgram();
  std::unique_ptr<HipFunctions> table = findEmulator(attempts);
  if (table && !hipOfProgram->empty())
    support::log().warn(
        "runtime: kernels run on the emulator, but this program has a HIP of its "
        "own, {}, whose memory, streams and events the emulator does not know. Link "
        "the program with flydsl::emulated_hip in place of HIP, or start it with "
        "LD_PRELOAD={} (docs/emulator.md)",
        *hipOfProgram, table->path);
  return table;
}

} // namespace flydsl::runtime
