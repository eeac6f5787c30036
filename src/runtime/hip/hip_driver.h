// HIP as a driver: a GPU's library, or the emulator's, which has the same functions.
#pragma once

#include "runtime/driver/driver.h"

#include <memory>

namespace flydsl::runtime {

/// When the HIP library of a GPU is opened: always, or where the machine may have a GPU. A HIP that
/// the process has already is asked in both cases.
enum class HipWanted { always, whereGpuMayBe };

/// Null, with a line in `attempts` for each file that was tried, where none reports a device. One
/// process uses one HIP library: a driver that was opened is the last one.
std::unique_ptr<Driver> openHipDriver(HipWanted wanted, Attempts &attempts);
std::unique_ptr<Driver> openEmulatorDriver(Attempts &attempts);

} // namespace flydsl::runtime
