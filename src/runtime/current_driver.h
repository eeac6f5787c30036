// The driver of this process: which one it is, and its errors as exceptions.
#pragma once

#include "runtime/driver/driver.h"

#include <memory>
#include <string_view>

namespace flydsl::runtime {

/// The driver of this process. The first call loads it; throws RuntimeError, saying what was tried,
/// where no driver has a device. Drivers that were registered are asked first; then
/// FLYDSL_RUNTIME_KIND decides: "hip", "emulator", or unset: HIP if it reports a device, else the
/// emulator. The log says which and why. Throws RuntimeError in a child that was forked after its
/// parent's first use of the library.
const Driver &driver();

/// For destructors, whose object exists because `driver()` had succeeded: null in such a
/// child, where there is nothing to let go, and while the process exits, when threads may still use
/// the driver and it may be gone.
const Driver *driverToLetGo();

/// Opens one kind of driver: null, with a line in `attempts`, where it has no device.
using OpenDriver = std::unique_ptr<Driver> (*)(Attempts &attempts);

/// Adds a kind of driver, which is asked before the built-in ones where FLYDSL_RUNTIME_KIND is
/// unset. To be called before the first use of a device; throws RuntimeError afterwards.
void registerDriver(OpenDriver open);

/// Throws the RuntimeError of `status`, which the thread's last call of the driver returned: what
/// was being done, and the driver's name and text of the status.
[[noreturn]] void throwDriverError(Status status, std::string_view doing,
                                   const SourceLocation &where = {});

/// Does nothing for success.
inline void check(Status status, std::string_view doing, const SourceLocation &where = {}) {
  if (status != 0) [[unlikely]]
    throwDriverError(status, doing, where);
}

} // namespace flydsl::runtime
