// Which of the host's instruction sets the emulator uses: one answer for all that is compiled
// several times.
#pragma once

#include <string>

namespace flyemu {

enum class SimdLevel { Base, Avx2, Avx512 };

/// The level that FLYDSL_EMULATOR_SIMD (base, avx2, avx512) asks for, or the best that the host
/// has. `error` is not empty if the variable asks for a level that does not exist.
struct SimdChoice {
  SimdLevel level = SimdLevel::Base;
  std::string error;
};

/// The choice for a value of the variable; null: it is not set.
SimdChoice chooseSimd(const char *asked);

/// The choice of this process, made once.
const SimdChoice &simdChoice();

/// Its level. Throws std::invalid_argument where there is an error.
SimdLevel simdLevel();

} // namespace flyemu
