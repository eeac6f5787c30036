// From the bytes of a code segment to instructions with the operations that execute them.
#pragma once

#include "emulator/core/program.h"

#include <string_view>

namespace flyemu {

/// Decodes an executable segment, loaded at the host address `code` (where it must stay while the
/// program lives). Bytes that are no instruction become a fault only when a wave gets there. Throws
/// std::invalid_argument for an unsupported target or a segment whose address or size is no
/// multiple of 4.
std::shared_ptr<const Program> decodeProgram(std::string_view target, const void *code,
                                             size_t size);

} // namespace flyemu
