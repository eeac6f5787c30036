#include "emulator/matrix/kernels.h"

namespace flyemu::matrix {

extern const Kernels kernels_plain, kernels_avx2, kernels_avx512;

const Kernels &kernels(SimdLevel level) {
  switch (level) {
  case SimdLevel::Avx512:
    return kernels_avx512;
  case SimdLevel::Avx2:
    return kernels_avx2;
  case SimdLevel::Base:
    break;
  }
  return kernels_plain;
}

const Kernels &kernels() {
  static const Kernels &chosen = kernels(simdLevel());
  return chosen;
}

} // namespace flyemu::matrix
