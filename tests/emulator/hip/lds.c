// A kernel in plain C that declares LDS.
static __attribute__((address_space(3), loader_uninitialized)) int lds[64];

__attribute__((amdgpu_kernel)) void reverse(__attribute__((address_space(1))) int *out) {
  int lane = __builtin_amdgcn_workitem_id_x();
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + lane;
  lds[lane] = i;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[i] = lds[63 - lane];
}

__attribute__((amdgpu_kernel)) void trap(void) { __builtin_trap(); }
