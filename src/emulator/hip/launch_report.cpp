#include "emulator/hip/launch_report.h"

#include "emulator/hip/counter_list.h"
#include "emulator/hip/log.h"

#include <sstream>

namespace flyemu::hip {
namespace {

std::string dimensions(const std::array<uint32_t, 3> &value) {
  return std::to_string(value[0]) + "x" + std::to_string(value[1]) + "x" + std::to_string(value[2]);
}

} // namespace

hipError_t reportLaunch(const Dispatch &dispatch, const DispatchResult &result,
                        const Options &options) {
  for (const Finding &finding : result.findings)
    log(LogLevel::Error, "check: " + finding.message);
  if (!result.ok) {
    log(LogLevel::Error, result.fault.message);
    return result.fault.address ? hipErrorIllegalAddress : hipErrorLaunchFailure;
  }
  if (options.counters) {
    std::ostringstream text;
    text << "counters of " << dispatch.kernel->name << " grid " << dimensions(dispatch.grid)
         << " block " << dimensions(dispatch.block) << ":";
    forEachCounter(result.counters, [&](const char *name, uint64_t value) {
      if (value)
        text << " " << name << "=" << value;
    });
    log(LogLevel::Error, text.str());
  } else if (logs(LogLevel::Debug)) {
    log(LogLevel::Debug, "ran " + dispatch.kernel->name + " grid " + dimensions(dispatch.grid) +
                             " block " + dimensions(dispatch.block));
  }
  return hipSuccess;
}

} // namespace flyemu::hip
