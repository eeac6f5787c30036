// The mark of registers that a kernel has not written.
#pragma once

#include <cstdint>

namespace flydsl::support {

/// What registers that only some paths of a kernel write begin with, where the kernel is compiled for
/// the emulator's check of values that no instruction wrote: after `v_mov_b32 v, kUnwrittenWord`, v
/// has no value. The word is a NaN as an f32, as a half of an f64, and as a pair of f16 or bf16. It
/// is no limit, mask or pair of limits that a program might move into a register for itself.
inline constexpr std::uint32_t kUnwrittenWord = 0x7fe57fd9;

} // namespace flydsl::support
