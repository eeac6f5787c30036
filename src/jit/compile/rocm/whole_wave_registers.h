// Registers whose lanes keep scalars that found no register.
#pragma once

namespace flydsl::jit {

/// Lets LLVM keep as many of these registers as it needs, up to 64. LLVM 22 takes ten of them and no more, and spills the
/// others to memory, where it loses lanes: of 616 scalars of a kernel of gfx1201, 16 were read that nothing had
/// written. Sixty-four have room for 2,048 scalars in waves of 32 lanes, and a kernel that needs fewer
/// reserves no more than it needs. Source: SILowerSGPRSpills.cpp, determineRegsForWWMAllocation.
void keepWholeWaveRegisters();

} // namespace flydsl::jit
