// From relocatable objects to shared objects in memory, through the LLD in this library.
#pragma once

#include <flydsl/target.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flydsl::jit {

using Bytes = std::vector<std::uint8_t>;

/// Links an ELF object. LLD is of the LLVM that made the object: the code is the same whatever
/// toolchain a machine has, and nothing is loaded. One link at a time: LLD's state is global.
/// Nothing where LLD has crashed before in this process: its state is not to be trusted then.
/// Throws flydsl::CompileError with the linker's messages.
std::optional<Bytes> linkWithLld(std::span<const char> object, const Target &target);

} // namespace flydsl::jit
