// All instructions of a target, by their encodings.
#pragma once

#include "emulator/isa/machine.h"
#include "emulator/isa/mc.h"

#include <array>
#include <cstdint>
#include <functional>

namespace flyemu {

using EncodingWords = std::array<uint32_t, 4>;

/// Gives LLVM's disassembler every opcode of every encoding, each with several fillings of the
/// other fields, and calls `visit` for those that it accepts. Exports, images and parameter
/// interpolation, which compute kernels cannot have, are left out.
void eachEncoding(const Machine &machine, const McTarget &mc,
                  const std::function<void(const EncodingWords &, const McInstruction &)> &visit);

} // namespace flyemu
