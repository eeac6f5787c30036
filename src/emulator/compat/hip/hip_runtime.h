// HIP's runtime, from the HIP that is installed, and what HIP 6 and 7 have beside it: wave functions
// with a mask, and functions of the host that HIP 5.2 does not declare.
#pragma once

#include_next <hip/hip_runtime.h>

#include <hip/hip_version.h>

#if HIP_VERSION_MAJOR < 6

#ifdef __cplusplus
extern "C" {
#endif
/* The handle of the kernel whose host address is given, on the current device. */
hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *symbol);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gridX, unsigned gridY,
                                            unsigned gridZ, unsigned blockX, unsigned blockY,
                                            unsigned blockZ, unsigned sharedBytes,
                                            hipStream_t stream, void **values);
#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__HIP__) && defined(__clang__)
/// What HIP 5.2's fences and __syncthreads call in a part of the device library that compilers since
/// Clang 16 no longer link.
#define FLYDSL_FENCE(scope)                                                                        \
  order == __memory_order_release   ? __builtin_amdgcn_fence(__ATOMIC_RELEASE, scope)              \
  : order == __memory_order_acquire ? __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, scope)              \
                                    : __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, scope)
extern "C" inline __device__ __attribute__((always_inline)) void
__atomic_work_item_fence(__cl_mem_fence_flags, __memory_order order, __memory_scope scope) {
  switch (scope) {
  case __memory_scope_work_item:
    return;
  case __memory_scope_sub_group:
    return FLYDSL_FENCE("wavefront");
  case __memory_scope_work_group:
    return FLYDSL_FENCE("workgroup");
  case __memory_scope_device:
    return FLYDSL_FENCE("agent");
  case __memory_scope_all_svm_devices:
    return FLYDSL_FENCE("");
  }
}
#undef FLYDSL_FENCE

/// Functions of a wave with the mask of the lanes that take part (HIP 6.2 on, "Warp cross-lane
/// functions"). The mask has 64 bits, as HIP demands. A lane outside of it that calls is a mistake
/// of the program, which traps, as HIP's own check does.
#define FLYDSL_WAVE template <class Mask> static inline __device__
namespace flydsl_hip {
template <class Mask> static inline __device__ void checkMask(Mask mask) {
  static_assert(__is_integral(Mask) && sizeof(Mask) == 8, "the mask of a wave has 64 bits");
  const unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  if (!(static_cast<unsigned long long>(mask) >> lane & 1))
    __builtin_trap();
}
} // namespace flydsl_hip
FLYDSL_WAVE unsigned long long __ballot_sync(Mask mask, int predicate) {
  flydsl_hip::checkMask(mask);
  return __ballot(predicate) & static_cast<unsigned long long>(mask);
}
FLYDSL_WAVE int __any_sync(Mask mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
FLYDSL_WAVE int __all_sync(Mask mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
static inline __device__ unsigned long long __activemask() { return __ballot(1); }
template <class Mask, class T>
static inline __device__ T __shfl_sync(Mask mask, T value, int lane,
                                       int width = __builtin_amdgcn_wavefrontsize()) {
  flydsl_hip::checkMask(mask);
  return __shfl(value, lane, width);
}
template <class Mask, class T>
static inline __device__ T __shfl_up_sync(Mask mask, T value, unsigned delta,
                                          int width = __builtin_amdgcn_wavefrontsize()) {
  flydsl_hip::checkMask(mask);
  return __shfl_up(value, delta, width);
}
template <class Mask, class T>
static inline __device__ T __shfl_down_sync(Mask mask, T value, unsigned delta,
                                            int width = __builtin_amdgcn_wavefrontsize()) {
  flydsl_hip::checkMask(mask);
  return __shfl_down(value, delta, width);
}
template <class Mask, class T>
static inline __device__ T __shfl_xor_sync(Mask mask, T value, int lanes,
                                           int width = __builtin_amdgcn_wavefrontsize()) {
  flydsl_hip::checkMask(mask);
  return __shfl_xor(value, lanes, width);
}
static inline __device__ void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
FLYDSL_WAVE void __syncwarp(Mask mask) {
  flydsl_hip::checkMask(mask);
  __syncwarp();
}
#undef FLYDSL_WAVE
#endif

#endif
