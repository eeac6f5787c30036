// The observer that counts and traces.
#pragma once

#include "emulator/core/observer.h"
#include "emulator/observe/lines/launch_lines.h"

namespace flyemu {

/// `lines`: those of the launch, which its threads share; null: loads come from memory whoever loaded before.
std::unique_ptr<Observer> makeCounting(const Options &options, const Program &program,
                                       const MemoryMap &memory, LaunchLines *lines);

} // namespace flyemu
