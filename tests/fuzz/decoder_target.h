// The function under fuzzing: it decodes machine code and runs it on a small device.
#pragma once

#include "emulated_targets.h"

#include <cstddef>
#include <cstdint>

namespace flyemu::fuzz {

/// Decodes and runs `size` bytes as a kernel. The first byte chooses the processor, the rest is
/// code. Throws std::logic_error where the emulator breaks its promise: a launch ends well, or with
/// a fault that says why.
void runCode(const uint8_t *data, size_t size);

/// The processors that the first byte chooses from.
inline constexpr auto &kTargets = kAllTargets;

} // namespace flyemu::fuzz
