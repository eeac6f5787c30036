#include "emulator/hip/log.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace flyemu::hip {
namespace {

LogLevel shownLevel() {
  static const LogLevel level = [] {
    const char *text = std::getenv("FLYDSL_EMULATOR_LOG");
    std::string_view value = text ? text : "";
    if (value == "off")
      return LogLevel::Off;
    if (value == "info")
      return LogLevel::Info;
    if (value == "debug")
      return LogLevel::Debug;
    return value == "error" ? LogLevel::Error : LogLevel::Notice;
  }();
  return level;
}

} // namespace

bool logs(LogLevel level) { return level <= shownLevel(); }

void log(LogLevel level, const std::string &message) {
  if (!logs(level))
    return;
  const char *name = level == LogLevel::Error ? "error: " : "";
  // One write for the line, so that lines of several threads do not mix.
  std::string line = std::string("flydsl emulator: ") + name + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace flyemu::hip
