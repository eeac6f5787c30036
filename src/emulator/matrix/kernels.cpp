#include "emulator/matrix/kernels.h"

#include <cstdlib>
#include <string_view>

namespace flyemu::matrix {

extern const Kernels kernels_plain, kernels_avx2, kernels_avx512;

static const Kernels &choose() {
  const char *asked = std::getenv("FLYDSL_EMULATOR_SIMD");
  std::string_view level = asked ? asked : "avx512";
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (level == "avx512" && avx512)
    return kernels_avx512;
  if (level != "plain" && avx2)
    return kernels_avx2;
  return kernels_plain;
}

const Kernels &kernels() {
  static const Kernels &chosen = choose();
  return chosen;
}

} // namespace flyemu::matrix
