#include "support/log.h"

#include "support/env.h"

#include <spdlog/sinks/stdout_sinks.h>

namespace flydsl::support {

static spdlog::level::level_enum levelFromEnv() {
  std::optional<std::string> value = env("FLYDSL_DEBUG_LOG_LEVEL");
  if (!value)
    return spdlog::level::warn;
  for (char &c : *value)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return spdlog::level::from_str(*value == "warning" ? "warn" : *value);
}

spdlog::logger &log() {
  static spdlog::logger logger = [] {
    spdlog::logger made("flydsl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_level(levelFromEnv());
    return made;
  }();
  return logger;
}

} // namespace flydsl::support
