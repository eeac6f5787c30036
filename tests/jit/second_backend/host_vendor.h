// A made-up vendor whose processor is the CPU of this machine: a backend and a driver, registered
// as another vendor's would be. A launch runs one work-item after another, so kernels have no
// barriers.
#pragma once

#include "jit/compile/codegen/backend.h"
#include "runtime/driver/driver.h"

#include <memory>
#include <string>

namespace host_vendor {

/// The name of the one processor.
inline constexpr char kProcessor[] = "host1";

/// Adds the processor's row to the table of targets; false where it is there.
bool addProcessor();

/// Compiles for the processor: an x86 object, linked by LLD to a shared object.
const flydsl::jit::Backend &backend();

/// Opens the driver, which has one device.
std::unique_ptr<flydsl::runtime::Driver> openDriver(flydsl::runtime::Attempts &attempts);

/// The number of work-items that the driver has run.
unsigned long workItemsRun();

} // namespace host_vendor
