// The function under fuzzing: it decodes machine code and runs it on a small device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flyemu::fuzz {

/// Decodes and runs `size` bytes as a kernel. The first byte chooses the processor, the rest is
/// code. Throws std::logic_error where the emulator breaks its promise: a launch ends well, or with
/// a fault that says why.
void runCode(const uint8_t *data, size_t size);

constexpr const char *kTargets[] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};

} // namespace flyemu::fuzz
