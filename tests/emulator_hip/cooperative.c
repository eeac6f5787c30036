// Workgroups that wait for each other.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))

static inline int id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
static inline int group(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }

// Returns when `groups` workgroups have come here `turn` times.
static inline void grid_barrier(GLOBAL int *arrived, int groups, int turn) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  if (id() == 0) {
    __scoped_atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(arrived, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < groups * turn)
      ;
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Each workgroup writes its word, then adds up all words, three times.
KERNEL all_sums(GLOBAL int *arrived, GLOBAL int *data, GLOBAL int *out, int groups) {
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (id() == 0)
      data[group()] = (group() + 1) * (round + 1);
    grid_barrier(arrived, groups, 2 * round + 1);
    for (int i = 0; i < groups; ++i)
      sum += data[i];
    grid_barrier(arrived, groups, 2 * round + 2);
  }
  if (id() == 0)
    out[group()] = sum;
}

// Counts its own word up, each time waiting until the other's has come as far.
KERNEL ping_pong(GLOBAL int *mine, GLOBAL int *other, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    __scoped_atomic_store_n(mine, i, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(other, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < i)
      ;
  }
}
