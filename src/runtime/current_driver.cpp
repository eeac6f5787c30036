// The choice of a driver, and what a fork leaves of it.
#include "runtime/current_driver.h"

#include "runtime/hip/hip_driver.h"
#include "support/env_check.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/fork.h"
#include "support/log.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace flydsl::runtime {
namespace {

std::atomic<const Driver *> loadedDriver{nullptr};
/// The name of the driver that the parent of this forked process had used and that this process
/// can't use; null otherwise.
std::atomic<const char *> lostByFork{nullptr};

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

/// A GPU's driver has threads and queues of a process, and the kernel's part of it knows the
/// process: a child has none of it. The emulator's library starts its threads again.
void surviveFork() {
  if (!opened || opened->isUsableInFork)
    return;
  lostByFork.store(opened->name.c_str());
  loadedDriver.store(nullptr);
}

/// At the load of the library: a child of a thread that forks during the first use of a device must
/// not find `loading` locked.
[[gnu::constructor]] void holdDriverAtFork() {
  support::holdAtFork(loading);
  support::atFork(support::ForkOrder::tables, {nullptr, nullptr, surviveFork});
}

} // namespace

const Driver &driver() {
  if (const Driver *loaded = loadedDriver.load(std::memory_order_acquire))
    return *loaded;
  if (const char *lost = lostByFork)
    throw RuntimeError(std::string("this process was forked after its parent had used ") + lost +
                       ": devices, memory, streams and kernels can't be used in it; fork before "
                       "the first use of a device, or execute a program in the child");
  const Driver *loaded = nullptr;
  {
    std::lock_guard<std::mutex> lock(loading);
    // It lives as long as the process: objects with static storage may still call it when they die.
    if (!opened)
      opened = load().release();
    loaded = opened;
  }
  // A fork that began before the driver's library was loaded does not wait for threads inside it.
  support::waitForFork();
  loadedDriver.store(loaded, std::memory_order_release);
  return *loaded;
}

const Driver *driverToLetGo() { return lostByFork || support::exiting() ? nullptr : &driver(); }

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
