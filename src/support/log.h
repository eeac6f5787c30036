// The one logger, `flydsl`; its level is FLYDSL_DEBUG_LOG_LEVEL (off, error, warn, info, debug, trace).
#pragma once

#include <spdlog/logger.h>

namespace flydsl::support {

/// Writes to stderr. Created on first use; safe from any thread.
spdlog::logger &log();

} // namespace flydsl::support
