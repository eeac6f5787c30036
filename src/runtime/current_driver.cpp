// The choice of a driver.
#include "runtime/current_driver.h"

#include "runtime/hip/hip_driver.h"
#include "support/env_check.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/log.h"
#include "support/process_use.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace flydsl::runtime {
namespace {

std::atomic<const Driver *> loadedDriver{nullptr};

/// The kinds that were registered, in order. Never destroyed: registration may come from objects
/// with static storage.
std::vector<OpenDriver> &registered() {
  static auto *const all = new std::vector<OpenDriver>;
  return *all;
}

std::unique_ptr<Driver> load() {
  using Kind = support::env::RuntimeKind;
  support::checkEnvironment();
  const Kind kind = support::env::kRuntimeKind.get();
  Attempts attempts;
  std::unique_ptr<Driver> opened;
  const char *why = "FLYDSL_RUNTIME_KIND asks for it";
  if (kind == Kind::emulator) {
    opened = openEmulatorDriver(attempts);
  } else {
    if (kind == Kind::any)
      for (OpenDriver open : registered())
        if ((opened = open(attempts)))
          break;
    if (!opened)
      opened =
          openHipDriver(kind == Kind::any ? HipWanted::whereGpuMayBe : HipWanted::always, attempts);
    if (kind == Kind::any)
      why = "it reports a device";
    if (!opened && kind == Kind::any) {
      opened = openEmulatorDriver(attempts);
      why = "no GPU was found";
    }
  }
  if (!opened)
    throw RuntimeError(std::string("no device to run on") +
                       (kind == Kind::any   ? ""
                        : kind == Kind::hip ? " (FLYDSL_RUNTIME_KIND=hip)"
                                            : " (FLYDSL_RUNTIME_KIND=emulator)") +
                       "; tried:" + attempts.text);
  if (opened->deviceCount > kMaxDevices) {
    support::log().warn("runtime: of {} devices the first {} can be used", opened->deviceCount,
                        kMaxDevices);
    opened->deviceCount = kMaxDevices;
  }
  support::log().info("runtime: {} {} with {} device{}, as {}", opened->name, opened->path,
                      opened->deviceCount, opened->deviceCount == 1 ? "" : "s", why);
  return opened;
}

/// The driver that `load` made, before other threads may see it.
const Driver *opened = nullptr;
/// Held while a driver is loaded. It guards `opened` and what is registered.
constinit std::mutex loading;

} // namespace

const Driver &driver() {
  support::enterLibrary();
  if (const Driver *loaded = loadedDriver.load(std::memory_order_acquire))
    return *loaded;
  const Driver *loaded = nullptr;
  {
    std::lock_guard<std::mutex> lock(loading);
    // It lives as long as the process: objects with static storage may still call it when they die.
    if (!opened)
      opened = load().release();
    loaded = opened;
  }
  loadedDriver.store(loaded, std::memory_order_release);
  return *loaded;
}

const Driver *driverToLetGo() {
  return support::lostByFork() || support::exiting() ? nullptr : &driver();
}

void registerDriver(OpenDriver open) {
  std::lock_guard<std::mutex> lock(loading);
  if (opened)
    throw RuntimeError("a driver is registered after a device was used; it would never be asked");
  registered().push_back(open);
}

void throwDriverError(Status status, std::string_view doing, const SourceLocation &where) {
  throw RuntimeError(std::string(doing) + ": " + driver().errorText(status), status, where);
}

} // namespace flydsl::runtime
