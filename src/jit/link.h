// From a relocatable AMDGPU object to a code object that HIP loads, in memory.
#pragma once

#include "jit/target.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flydsl::jit {

using Bytes = std::vector<std::uint8_t>;

/// Links through comgr where the installed comgr lists the target's ISA, else (or if comgr can't
/// read the object) through the LLD in this library. Throws flydsl::CompileError with the linker's
/// messages.
Bytes link(std::span<const char> object, const Target &target);

/// Nothing where comgr is not installed, does not list the ISA or fails; why is logged at debug
/// level.
std::optional<Bytes> linkWithComgr(std::span<const char> object, const Target &target);
/// Starts loading comgr, so that it is there when the first kernel is to be linked. Returns at
/// once.
void beginLoadingComgr();

/// One link at a time: LLD's state is global.
Bytes linkWithLld(std::span<const char> object, const Target &target);

} // namespace flydsl::jit
