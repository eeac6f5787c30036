// The library's only logger, `flydsl`. Its level is FLYDSL_DEBUG_LOG_LEVEL (off, error, warn, info,
// debug, trace).
#pragma once

#include <spdlog/logger.h>

namespace flydsl::support {

/// The logger. It writes to stderr, is made on first use, and may be called from any thread.
spdlog::logger &log();

} // namespace flydsl::support
