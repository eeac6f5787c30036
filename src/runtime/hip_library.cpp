#include "runtime/hip_functions.h"

#include "support/env_check.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/fork.h"
#include "support/log.h"

#include <flydsl/error.h>

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

namespace flydsl::runtime {
namespace {

constexpr const char *hipNames[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                    "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"};
constexpr const char *emulatorName = "libflydsl_emulator.so";

/// What was tried and why it did not do, for the error.
struct Attempts {
  std::string text;
  void add(const std::string &what) { text += "\n  " + what; }
};

std::string fileOf(void *address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
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
    missing += std::string(missing.empty() ? "" : ", ") + #function;
  FLYDSL_HIP_REQUIRED(FLYDSL_BIND_REQUIRED)
  FLYDSL_BIND_REQUIRED(hipMalloc)
  FLYDSL_HIP_OPTIONAL(FLYDSL_BIND)
  FLYDSL_HIP_EMULATOR(FLYDSL_BIND)
#undef FLYDSL_BIND_REQUIRED
#undef FLYDSL_BIND
  table->propertiesOfHip6 = reinterpret_cast<decltype(table->propertiesOfHip6)>(
      dlsym(library, "hipGetDevicePropertiesR0600"));
  table->propertiesOfHip5 =
      reinterpret_cast<decltype(table->propertiesOfHip5)>(dlsym(library, "hipGetDeviceProperties"));
  if (!table->propertiesOfHip6 && !table->propertiesOfHip5)
    missing += std::string(missing.empty() ? "" : ", ") + "hipGetDeviceProperties";
  if (!missing.empty()) {
    attempts.add(name + ": lacks " + missing);
    return nullptr;
  }
  table->streamGetDevice =
      reinterpret_cast<decltype(table->streamGetDevice)>(dlsym(library, "hipStreamGetDevice"));
  table->path = fileOf(reinterpret_cast<void *>(table->hipModuleLaunchKernel));
  table->isEmulator =
      std::filesystem::path(table->path).filename().string().starts_with("libflydsl_emulator");

  int count = 0;
  hipError_t code = table->hipGetDeviceCount(&count);
  if (code != hipSuccess || count < 1) {
    attempts.add(
        name + ": reports no device" +
        (code == hipSuccess ? "" : std::string(" (") + table->hipGetErrorName(code) + ")"));
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

std::unique_ptr<HipFunctions> openHip(Attempts &attempts) {
  // A program that links HIP, or runs on the emulator by LD_PRELOAD, has its library already.
  if (dlsym(RTLD_DEFAULT, "hipModuleLaunchKernel"))
    if (auto table = bind(RTLD_DEFAULT, "the HIP functions of this process", attempts))
      return table;
  for (const char *name : hipNames)
    if (auto table = open(name, attempts))
      return table;
  return nullptr;
}

std::unique_ptr<HipFunctions> openEmulator(Attempts &attempts) {
  if (auto path = support::env::emulatorLibrary.get())
    return open(*path, attempts);
  // Beside the library (or the program) that this code is in; in a build tree and an installation
  // alike.
  std::filesystem::path self = fileOf(reinterpret_cast<void *>(&hip));
  for (std::filesystem::path folder : {self.parent_path(), self.parent_path() / ".." / "lib"}) {
    std::filesystem::path candidate = folder / emulatorName;
    std::error_code ignored;
    if (!std::filesystem::exists(candidate, ignored)) {
      attempts.add(candidate.string() + ": no such file");
      continue;
    }
    if (auto table = open(candidate.string(), attempts))
      return table;
  }
  return open(emulatorName, attempts);
}

std::unique_ptr<HipFunctions> load() {
  using Kind = support::env::RuntimeKind;
  support::checkEnvironment();
  const Kind kind = support::env::runtimeKind.get();
  Attempts attempts;
  std::unique_ptr<HipFunctions> table;
  const char *why = "FLYDSL_RUNTIME_KIND asks for it";
  if (kind == Kind::emulator) {
    table = openEmulator(attempts);
  } else {
    table = openHip(attempts);
    if (kind == Kind::any)
      why = "it reports a device";
    if (!table && kind == Kind::any) {
      table = openEmulator(attempts);
      why = "no HIP library reports a device";
    }
  }
  if (!table)
    throw RuntimeError(std::string("no device to run on") +
                       (kind == Kind::any ? ""
                        : kind == Kind::hip ? " (FLYDSL_RUNTIME_KIND=hip)"
                                            : " (FLYDSL_RUNTIME_KIND=emulator)") +
                       "; tried:" + attempts.text);
  support::log().info("runtime: {} {} with {} device{}, as {}",
                      table->isEmulator ? "emulator" : "HIP", table->path, table->deviceCount,
                      table->deviceCount == 1 ? "" : "s", why);
  return table;
}

std::atomic<const HipFunctions *> loadedTable{nullptr};
std::atomic<bool> forkedFromHip{false};

/// HIP's runtime has threads and queues of a process, and its driver knows the process: a child has
/// none of it. The emulator's library starts its threads again.
void surviveFork() {
  const HipFunctions *table = loadedTable.load(std::memory_order_relaxed);
  if (!table || table->isEmulator)
    return;
  forkedFromHip.store(true);
  loadedTable.store(nullptr);
}

} // namespace

const HipFunctions &hip() {
  if (const HipFunctions *table = loadedTable.load(std::memory_order_acquire))
    return *table;
  static std::mutex &mutex = *[] {
    auto *made = new std::mutex;
    support::holdAtFork(*made);
    support::atFork(support::ForkOrder::tables, {nullptr, nullptr, surviveFork});
    return made;
  }();
  if (forkedFromHip)
    throw RuntimeError("this process was forked after its parent had used HIP: devices, memory, "
                       "streams and kernels can't be used in it; fork before the first use of a "
                       "device, or execute a program in the child");
  std::lock_guard<std::mutex> lock(mutex);
  if (const HipFunctions *table = loadedTable.load(std::memory_order_relaxed))
    return *table;
  // Lives as long as the process: objects with static storage may still call HIP when they die.
  const HipFunctions *table = load().release();
  loadedTable.store(table, std::memory_order_release);
  return *table;
}

const HipFunctions *hipToLetGo() {
  return forkedFromHip || support::exiting() ? nullptr : &hip();
}

bool hipLoaded() { return loadedTable.load(std::memory_order_acquire) != nullptr; }

} // namespace flydsl::runtime
