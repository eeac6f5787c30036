// The checks of a launch: memory, race, init, sync (Options::checks).
#pragma once

#include "emulator/exec/observer.h"

namespace flyemu {

/// The checks of a launch, which runs on one thread, one workgroup after another. Findings go to
/// the launch's result in the order in which they were made, one for each instruction and kind.
std::unique_ptr<Observer> makeChecks(unsigned checks, const Program &program,
                                     const std::string &kernel);

} // namespace flyemu
