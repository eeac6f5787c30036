// Copies and fills that the emulated program asked for. Two of them may be at the same memory at the
// same time, which is the program's race (the checks look for it); ThreadSanitizer knows it by this
// file's name (cmake/sanitizer_defaults.cpp).
#pragma once

#include <cstdint>

namespace flyemu {

/// The places may overlap.
void moveForProgram(uint8_t *to, const uint8_t *from, uint64_t bytes);
/// Writes the low \p elementSize bytes of \p value, \p count times.
void fillForProgram(uint8_t *to, uint32_t value, uint64_t elementSize, uint64_t count);

} // namespace flyemu
