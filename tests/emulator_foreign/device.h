/* What a kernel in plain C needs of the device. */
#ifndef FOREIGN_DEVICE_H
#define FOREIGN_DEVICE_H

#include "functions.h"

#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))

INLINE int local_id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
INLINE int group_id(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
INLINE int group_size(void) { return (int)__builtin_amdgcn_workgroup_size_x(); }
INLINE int global_id(void) { return group_id() * group_size() + local_id(); }
INLINE int lane_id(void) {
  return (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
INLINE void group_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif
