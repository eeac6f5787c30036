#include "support/log.h"

#include "support/env_variables.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace flydsl::support {

static spdlog::level::level_enum levelFromEnv() {
  switch (env::kLogLevel.get()) {
  case env::LogLevel::off:
    return spdlog::level::off;
  case env::LogLevel::error:
    return spdlog::level::err;
  case env::LogLevel::warn:
    return spdlog::level::warn;
  case env::LogLevel::info:
    return spdlog::level::info;
  case env::LogLevel::debug:
    return spdlog::level::debug;
  case env::LogLevel::trace:
    return spdlog::level::trace;
  }
  return spdlog::level::warn;
}

namespace {

/// Makes each line printable, because lines contain names of kernels, paths and texts from files,
/// which must not move the cursor.
class PrintableFormatter final : public spdlog::formatter {
public:
  void format(const spdlog::details::log_msg &message, spdlog::memory_buf_t &into) override {
    const std::string clean = printable({message.payload.data(), message.payload.size()}, "\n\t");
    spdlog::details::log_msg shown = message;
    shown.payload = clean;
    pattern_.format(shown, into);
  }
  std::unique_ptr<formatter> clone() const override {
    return std::make_unique<PrintableFormatter>();
  }

private:
  spdlog::pattern_formatter pattern_;
};

} // namespace

/// The logger is never destroyed, because other threads may write while the process exits.
static spdlog::logger *makeLog() {
  auto *log = new spdlog::logger("flydsl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_formatter(std::make_unique<PrintableFormatter>());
  try {
    log->set_level(levelFromEnv());
  } catch (const Error &error) {
    // Logging must not throw. `checkEnvironment` refuses the level before anything is built.
    log->set_level(spdlog::level::warn);
    log->error("{}", error.what());
  }
  return log;
}

spdlog::logger &log() {
  static spdlog::logger *const made = makeLog();
  return *made;
}

} // namespace flydsl::support
