#include "emulator/hip/report/log.h"

#include "support/env_variables.h"
#include "support/text.h"

#include <cstdio>
#include <exception>

namespace flyemu::hip {
namespace support = flydsl::support;
namespace {

ReportLevel shownLevel() {
  static const ReportLevel level = [] {
    using support::env::EmulatorLog;
    try {
      switch (support::env::kEmulatorLog.get()) {
      case EmulatorLog::off:
        return ReportLevel::Off;
      case EmulatorLog::error:
        return ReportLevel::Error;
      case EmulatorLog::notice:
        return ReportLevel::Notice;
      case EmulatorLog::info:
        return ReportLevel::Info;
      case EmulatorLog::debug:
        return ReportLevel::Debug;
      }
    } catch (const std::exception &) {
      // The configuration reports the error, and then there is no device.
    }
    return ReportLevel::Notice;
  }();
  return level;
}

} // namespace

bool logs(ReportLevel level) { return level <= shownLevel(); }

void log(ReportLevel level, const std::string &message) {
  if (!logs(level))
    return;
  const char *name = level == ReportLevel::Error ? "error: " : "";
  // The line may hold names and messages of kernels, whose control characters must not reach the
  // terminal.
  const std::string shown = support::printable(message, "\n\t");
  // One write for the line, so that lines of several threads do not mix.
  std::string line = std::string("flydsl emulator: ") + name + shown + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace flyemu::hip
