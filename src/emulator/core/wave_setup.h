// The state of a wave when it starts.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/core/group.h"

namespace flyemu {

/// Sets scalar and vector registers, EXEC, MODE and the program counter of wave `index` of a
/// workgroup as the kernel descriptor asks (LLVM AMDGPUUsage, "Initial Kernel Execution State").
/// `packet` is the dispatch packet's address. Throws WaveFault for a descriptor that cannot be
/// honoured.
void setupWave(Wave &w, const Dispatch &d, const std::array<uint32_t, 3> &group, unsigned index,
               uint64_t packet);

/// Lanes of the kernel's waves.
unsigned waveLanes(const KernelCode &kernel);

} // namespace flyemu
