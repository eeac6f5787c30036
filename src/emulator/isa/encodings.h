// All instructions of a target, by their encodings.
#pragma once

#include "emulator/isa/machine.h"
#include "emulator/isa/mc.h"

#include <array>
#include <cstdint>
#include <functional>

namespace flyemu {

using EncodingWords = std::array<uint32_t, 4>;

/// Puts every opcode field of every encoding to LLVM's disassembler, each with several fillings of
/// its other fields, and calls `visit` for what it accepts. Exports, images and parameter
/// interpolation, which compute kernels cannot have, are not among them.
void eachEncoding(const Machine &machine, const McTarget &mc,
                  const std::function<void(const EncodingWords &, const McInstruction &)> &visit);

} // namespace flyemu
