// A named target comes first, then the environment's, then the device's.
#include "jit/launch/choose_target.h"

#include "runtime/device_info.h"
#include "support/log.h"
#include "target/from_environment.h"

#include <flydsl/host/device.h>

namespace flydsl::jit {

Target chooseTarget(const std::string &arch, const std::source_location &where) {
  if (!arch.empty())
    return Target::parse(arch);
  if (auto named = detail::targetFromEnvironment())
    return *named;
  std::optional<std::string> device;
  try {
    device = runtime::deviceInfo(Device::current(where).ordinal()).archFull;
  } catch (const RuntimeError &noDevice) {
    support::log().info("no device to take the target from: {}", noDevice.what());
  }
  return detail::resolveTarget(device);
}

} // namespace flydsl::jit
