// The observer that counts and traces.
#pragma once

#include "emulator/core/observer.h"

namespace flyemu {

std::unique_ptr<Observer> makeCounting(const Options &options, const Program &program,
                                       const MemoryMap &memory);

} // namespace flyemu
