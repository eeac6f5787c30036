// HIP as a driver: a GPU's library, or the emulator's, which has the same functions.
#pragma once

#include "runtime/driver/driver.h"

#include <memory>

namespace flydsl::runtime {

/// Null, with a line in `attempts` for each file that was tried, where none reports a device. One
/// process uses one HIP library: a driver that was opened is the last one.
std::unique_ptr<Driver> openHipDriver(Attempts &attempts);
std::unique_ptr<Driver> openEmulatorDriver(Attempts &attempts);

} // namespace flydsl::runtime
