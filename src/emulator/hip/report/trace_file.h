// The file of FLYDSL_EMULATOR_TRACE.
#pragma once

#include "emulator/core/dispatch.h"

#include <string>

namespace flyemu::hip {

/// Adds a launch's timeline to the file, which the process's first launch makes anew. After each
/// call it is a whole JSON array. A file that is called ".svg" is a picture of the last launch
/// instead. Returns why it cannot be written, or an empty string.
std::string addToTraceFile(const std::string &path, const DispatchResult &result,
                           const KernelCode &kernel);

} // namespace flyemu::hip
