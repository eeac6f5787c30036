// The emulator's own log: one line on stderr each. What is shown is chosen by FLYDSL_EMULATOR_LOG
// (off, error, notice, info, debug); errors and notices by default.
#pragma once

#include <string>

namespace flyemu::hip {

enum class ReportLevel { Off, Error, Notice, Info, Debug };

/// Whether lines of this level are shown; test it before building a costly message.
bool logs(ReportLevel level);
void log(ReportLevel level, const std::string &message);

} // namespace flyemu::hip
