// The function under fuzzing: it takes bytes as a code object or an offload bundle through the
// loader, the decoder and the first instructions of each kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flyemu::fuzz {

/// Loads the bytes for gfx942; where they load, asks for source lines, decodes, and launches each
/// kernel with a kernarg segment of zeros and nothing else mapped, under a small limit. Anything
/// but a result or a LoadError is left to escape. Returns how many kernels were launched.
unsigned runCodeObject(const uint8_t *data, size_t size);

} // namespace flyemu::fuzz
