// What a program sees of the version of HIP that the emulator answers as, FLYDSL_EMULATOR_HIP. HIP
// 6 gave several enumerations other numbers under the names of 5 (hip_runtime_api.h of both).
#pragma once

#include <hip/hip_runtime_api.h>

namespace flyemu::hip {

/// As hipDriverGetVersion tells it: 10^7 times the major version and 10^5 times the minor one.
int hipVersion();

/// True for a version since which properties of devices have their newer layout. \p version is as
/// hipGetProcAddress gets it: in full, or 100 times the major version and the minor one.
bool isSinceHip6(int version);

/// True if the emulator answers as HIP 6 or later.
bool answersAsHip6();

/// Where memory lies: numbers of HIP 6 have a member for managed memory.
enum class MemoryPlace { Unknown, Host, Device, Managed };

/// The number of hipMemoryType for a place, which is not Unknown before HIP 6.
hipMemoryType memoryTypeOf(MemoryPlace place);

/// The number of hipGraphNodeType that \p type, as in this build's header, has for the program.
hipGraphNodeType graphNodeTypeOf(hipGraphNodeType type);

} // namespace flyemu::hip
