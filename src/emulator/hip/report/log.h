// The emulator's own log: one line on stderr each. What is shown is chosen by FLYDSL_EMULATOR_LOG
// (off, error, notice, info, debug); errors and notices by default.
#pragma once

#include <string>

namespace flyemu::hip {

enum class LogLevel { Off, Error, Notice, Info, Debug };

/// Whether lines of this level are shown; test it before building a costly message.
bool logs(LogLevel level);
void log(LogLevel level, const std::string &message);

} // namespace flyemu::hip
