// HIP's half precision, from the HIP that is installed. HIP 5.2's header calls two device functions
// that its own headers no longer declare for compilers since Clang 16.
#pragma once

#if defined(__HIP__) && defined(__clang__)
typedef _Float16 flydsl_hip_half2 __attribute__((ext_vector_type(2)));
static inline __attribute__((device, always_inline)) _Float16 __llvm_amdgcn_rcp_f16(_Float16 x) {
  return static_cast<_Float16>(__builtin_amdgcn_rcph(x));
}
static inline __attribute__((device, always_inline)) flydsl_hip_half2
__llvm_amdgcn_rcp_2f16(flydsl_hip_half2 x) {
  return {static_cast<_Float16>(__builtin_amdgcn_rcph(x.x)),
          static_cast<_Float16>(__builtin_amdgcn_rcph(x.y))};
}
#endif

#include_next <hip/hip_fp16.h>
