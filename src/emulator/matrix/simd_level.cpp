#include "emulator/matrix/simd_level.h"

#include "support/text.h"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace flyemu {

namespace {
struct Named {
  std::string_view name;
  SimdLevel level;
};
constexpr Named kLevels[] = {
    {"base", SimdLevel::Base}, {"avx2", SimdLevel::Avx2}, {"avx512", SimdLevel::Avx512}};

/// Returns the best level whose instructions the host has. Lane operations and matrix kernels are
/// compiled for the same ones.
SimdLevel hostLevel() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c"))
    return SimdLevel::Base;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? SimdLevel::Avx512
             : SimdLevel::Avx2;
}
} // namespace

SimdChoice chooseSimd(const char *asked) {
  const SimdLevel host = hostLevel();
  if (!asked || !*asked)
    return {host, {}};
  std::string has;
  for (const Named &l : kLevels)
    if (l.level <= host) {
      if (asked == l.name)
        return {l.level, {}};
      flydsl::support::appendItem(has, l.name);
    }
  return {host, std::string("FLYDSL_EMULATOR_SIMD=") + asked + ": this host has " + has};
}

const SimdChoice &simdChoice() {
  static const SimdChoice choice = chooseSimd(std::getenv("FLYDSL_EMULATOR_SIMD"));
  return choice;
}

SimdLevel simdLevel() {
  const SimdChoice &choice = simdChoice();
  if (!choice.error.empty())
    throw std::invalid_argument(choice.error);
  return choice.level;
}

} // namespace flyemu
