// Workgroups that wait for each other.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))

static inline int id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
static inline int group(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }

// A release of device scope, or an acquire as well, with the wait for the write-back of a cache that clang 22 leaves out where
// the wave has nothing else under way (llvm/llvm-project #178316): s_waitcnt vmcnt(0).
static inline void written_back(void) {
#ifdef __GFX9__
  __builtin_amdgcn_s_waitcnt(0x0f70);
#endif
}
static inline void release(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  written_back();
}
static inline void order_all(void) {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  written_back();
}

// Returns when `groups` workgroups have come here `turn` times.
static inline void grid_barrier(GLOBAL int *arrived, int groups, int turn) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  if (id() == 0) {
    release();
    __scoped_atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(arrived, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < groups * turn)
      ;
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The same by the barrier that the hardware has for a cooperative launch, as device libraries up to gfx90a use it.
static inline void gws_barrier(int groups) {
  order_all();
  __builtin_amdgcn_s_barrier();
  if (id() == 0)
    __builtin_amdgcn_ds_gws_barrier(groups - 1, 0);
  __builtin_amdgcn_s_barrier();
}

// By the words that the runtime gives a cooperative launch, as device libraries use them from gfx942 on: one to arrive at,
// and the number of workgroups. Their address is a hidden argument, 88 bytes behind the others.
static inline void words_barrier(void) {
  __attribute__((address_space(4))) char *hidden = __builtin_amdgcn_implicitarg_ptr();
  GLOBAL unsigned *words = *(GLOBAL unsigned *__attribute__((address_space(4))) *)(hidden + 88);
  order_all();
  __builtin_amdgcn_s_barrier();
  if (id() == 0) {
    release();
    unsigned count = words[10], before = __scoped_atomic_fetch_add(&words[8], 1, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(&words[8], __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) / count == before / count)
      __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_s_barrier();
}

// Each workgroup writes its word, then adds up all words, three times.
#define ALL_SUMS(NAME, BARRIER)                                                                                        \
  KERNEL NAME(GLOBAL int *arrived, GLOBAL int *data, GLOBAL int *out, int groups) {                                    \
    int sum = 0;                                                                                                       \
    for (int round = 0; round < 3; ++round) {                                                                          \
      if (id() == 0)                                                                                                   \
        data[group()] = (group() + 1) * (round + 1);                                                                   \
      BARRIER(2 * round + 1);                                                                                          \
      for (int i = 0; i < groups; ++i)                                                                                 \
        sum += data[i];                                                                                                \
      BARRIER(2 * round + 2);                                                                                          \
    }                                                                                                                  \
    if (id() == 0)                                                                                                     \
      out[group()] = sum;                                                                                              \
  }
#define BY_HAND(TURN) grid_barrier(arrived, groups, TURN)
#define BY_GWS(TURN) gws_barrier(groups)
#define BY_WORDS(TURN) words_barrier()
ALL_SUMS(all_sums, BY_HAND)
ALL_SUMS(gws_sums, BY_GWS)
ALL_SUMS(words_sums, BY_WORDS)

// One workgroup does not come.
KERNEL gws_alone(int groups) {
  if (group() != 0)
    gws_barrier(groups);
}

// Counts its own word up, each time waiting until the other's has come as far.
KERNEL ping_pong(GLOBAL int *mine, GLOBAL int *other, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    __scoped_atomic_store_n(mine, i, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(other, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < i)
      ;
  }
}
