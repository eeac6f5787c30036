// The clock of a device, as kernels read it.
#pragma once

#include <flydsl/kernel/numeric.h>

FLYDSL_NAMESPACE_BEGIN

namespace gpu {
/// The ticks of a clock that counts at a constant rate, whatever the device's other clocks do: 100 MHz
/// on AMD's targets (`llvm.readsteadycounter` in LLVM's AMDGPU guide).
FLYDSL_API Int64 steady_clock(Loc loc = Loc::current());
} // namespace gpu

FLYDSL_NAMESPACE_END
