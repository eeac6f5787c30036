// The checks of a launch, and their names in FLYDSL_EMULATOR_CHECK and fly-emu --check.
#pragma once

#include <optional>
#include <string_view>

namespace flyemu {

/// The checks, as bits.
enum Check : unsigned {
  kCheckNone = 0,
  kCheckMemory = 1, ///< bounds of LDS and scratch, misalignment (global memory is always checked)
  kCheckRace = 2,
  kCheckInit = 4,
  kCheckSync = 8,
  kCheckRaceSame = 16, ///< writes that race and leave the value that was there: harmless, so apart
  kCheckWait = 32,     ///< what is used while a load is under way
  /// operations of streams that touch the same memory and have no order; of HIP programs only
  kCheckStreams = 64,
};

/// The bits of a list such as "memory,race", "all" or "none"; nothing if a word is unknown.
std::optional<unsigned> checksNamed(std::string_view list);

} // namespace flyemu
