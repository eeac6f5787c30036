// Numbers that are part of an instruction.
#pragma once

#include <flydsl/detail/handle.h>
#include <flydsl/error.h>

#include <string>

namespace flydsl::builder {

/// The number, which the instruction's field holds; a TraceError where it is not 0 to `most`, for
/// the hardware would take its low bits.
inline int immediate(const char *name, int value, int most, Loc loc) {
  if (value < 0 || value > most)
    throw TraceError(std::string(name) + " is 0 to " + std::to_string(most) + " here, not " +
                         std::to_string(value),
                     loc);
  return value;
}

} // namespace flydsl::builder
