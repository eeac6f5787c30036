// LLVM counts the registers of a kernel by asking for each one, from the last down, whether it or one
// that overlaps it is used, and finds what overlaps a register when it is first asked. For the 600
// registers of a processor that takes a fifth of all that a first compile executes.
#pragma once

#include <functional>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace flydsl::jit {

/// Finds what overlaps each register, for functions without features of their own. May run on another
/// thread as long as no code is generated with the machine.
std::function<void()> findRegisterAliases(llvm::TargetMachine &machine);

} // namespace flydsl::jit
