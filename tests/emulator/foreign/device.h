/* The device functions that kernels in plain C need. */
#ifndef FOREIGN_DEVICE_H
#define FOREIGN_DEVICE_H

#include "functions.h"

#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))

/* The number of lanes of a wave for which clang compiles by default. */
#ifdef __GFX9__
#define WAVE 64
#else
#define WAVE 32
#endif

INLINE int local_id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
INLINE int group_id(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
INLINE int group_size(void) { return (int)__builtin_amdgcn_workgroup_size_x(); }
INLINE int global_id(void) { return group_id() * group_size() + local_id(); }
/* The bits of a lane mask that belong to lanes before this one. */
INLINE int lanes_before(u64 mask) {
#if WAVE == 64
  return (int)__builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, 0));
#else
  return (int)__builtin_amdgcn_mbcnt_lo((u32)mask, 0);
#endif
}
INLINE int lane_id(void) { return lanes_before(~0ull); }
INLINE u64 ballot(int condition) {
#if WAVE == 64
  return __builtin_amdgcn_ballot_w64(condition);
#else
  return __builtin_amdgcn_ballot_w32(condition);
#endif
}
INLINE void group_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif
