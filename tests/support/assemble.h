// LLVM's assembler for tests of instructions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flyemu::test {

/// The bytes of the .text section of `text`. Throws std::runtime_error with the assembler's
/// messages.
std::vector<uint32_t> assemble(std::string_view cpu, std::string_view text);

/// The code of each snippet by itself; empty for those that the assembler refuses. On RDNA, 16-bit
/// operands may be written either way that LLVM knows: v1.l and v1.h, or v1.
std::vector<std::vector<uint32_t>> assembleEach(std::string_view cpu,
                                                const std::vector<std::string> &texts);

} // namespace flyemu::test
