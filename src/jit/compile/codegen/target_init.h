// LLVM's AMDGPU target, registered once.
#pragma once

namespace flydsl::jit {

/// Code generator, assembler and disassembler. Safe from any thread, any number of times.
void initializeAmdgpu();

} // namespace flydsl::jit
