#include "emulator/hip/report/log.h"

#include "support/env_variables.h"
#include "support/text.h"

#include <cstdio>
#include <exception>

namespace flyemu::hip {
namespace support = flydsl::support;
namespace {

LogLevel shownLevel() {
  static const LogLevel level = [] {
    using support::env::EmulatorLog;
    try {
      switch (support::env::kEmulatorLog.get()) {
      case EmulatorLog::off:
        return LogLevel::Off;
      case EmulatorLog::error:
        return LogLevel::Error;
      case EmulatorLog::notice:
        return LogLevel::Notice;
      case EmulatorLog::info:
        return LogLevel::Info;
      case EmulatorLog::debug:
        return LogLevel::Debug;
      }
    } catch (const std::exception &) {
      // The configuration reports the error, and then there is no device.
    }
    return LogLevel::Notice;
  }();
  return level;
}

} // namespace

bool logs(LogLevel level) { return level <= shownLevel(); }

void log(LogLevel level, const std::string &message) {
  if (!logs(level))
    return;
  const char *name = level == LogLevel::Error ? "error: " : "";
  // The line may hold names and messages of kernels, whose control characters must not reach the
  // terminal.
  const std::string shown = support::printable(message, "\n\t");
  // One write for the line, so that lines of several threads do not mix.
  std::string line = std::string("flydsl emulator: ") + name + shown + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace flyemu::hip
