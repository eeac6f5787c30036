// What processes of a machine know of each other.
#pragma once

#include <cstdint>

namespace flydsl::support {

/// Whether a process of this machine lives, of whatever user.
bool isAlive(int process);

/// A number that no other process draws, as far as the system's randomness goes.
std::uint64_t random64();

} // namespace flydsl::support
