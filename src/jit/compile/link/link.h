// From a relocatable AMDGPU object to a code object that HIP loads, in memory.
#pragma once

#include <flydsl/target.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flydsl::jit {

using Bytes = std::vector<std::uint8_t>;

/// Links through the LLD in this library, which is of the LLVM that made the object: the code is
/// the same whatever ROCm a machine has, and nothing is loaded. Where LLD is out of use, through
/// comgr. Throws flydsl::CompileError with the linker's messages.
Bytes link(std::span<const char> object, const Target &target);

/// One link at a time: LLD's state is global. Nothing where LLD has crashed before in this process:
/// its state is not to be trusted then.
std::optional<Bytes> linkWithLld(std::span<const char> object, const Target &target);

/// Nothing where comgr is not installed, does not list the target's ISA or fails; why is logged at
/// debug level.
std::optional<Bytes> linkWithComgr(std::span<const char> object, const Target &target);

} // namespace flydsl::jit
