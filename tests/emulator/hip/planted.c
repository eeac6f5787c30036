// One mistake of each kind that the checks find, and correct kernels that resemble mistakes.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
static __attribute__((address_space(3), loader_uninitialized)) int tile[256];

static inline int id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
static inline int group(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
static inline void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// No barrier between the write and the read of another wave's words.
KERNEL race_lds(GLOBAL int *out) {
  tile[id()] = id(); // race_lds writes
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  out[id()] = tile[255 - id()]; // race_lds reads
}

// Two workgroups write the same words.
KERNEL race_global(GLOBAL int *out) {
  out[id()] = group(); // race_global writes
}

// Bytes of one dword, each workgroup its own: no race.
KERNEL bytes_global(GLOBAL unsigned char *out) { out[id() * 4 + group()] = (unsigned char)id(); }

// The last workgroup adds up what the others wrote; a counter orders them.
KERNEL last_group(GLOBAL int *partial, GLOBAL int *counter, GLOBAL int *out) {
  if (id() == 0) {
    partial[group()] = group() + 1;
    int before = __scoped_atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
    if (before == (int)__builtin_amdgcn_grid_size_x() / 64 - 1) {
      int sum = 0;
      for (int i = 0; i <= before; ++i)
        sum += partial[i];
      *out = sum;
    }
  }
}

KERNEL init_lds(GLOBAL int *out) {
  if (id() < 100)
    tile[id()] = id();
  barrier();
  out[id()] = tile[id()]; // init_lds reads
}

KERNEL init_global(GLOBAL const int *in, GLOBAL int *out) {
  out[id()] = in[id()] + 1; // init_global reads
}

// A register that the compiler believes to be written.
KERNEL init_register(GLOBAL int *out) {
  int x;
  __asm__ volatile("v_mov_b32 %0, v63" : "=v"(x) : : "v63");
  out[id()] = x; // init_register stores
}

// Undefined values that stay in scratch hurt nobody.
KERNEL init_scratch(GLOBAL int *out, int at) {
  volatile int array[8];
  int unset;
  __asm__ volatile("" : "=v"(unset));
  array[at] = unset;
  array[at + 1] = at;
  out[id()] = array[at + 1];
}

KERNEL sync_divergent(GLOBAL int *out) {
  if (id() % 64 < 5)
    __builtin_amdgcn_s_barrier(); // sync_divergent waits
  out[id()] = 1;
}

KERNEL sync_different(GLOBAL int *out) {
  if (__builtin_amdgcn_readfirstlane(id()) == 0) {
    __builtin_amdgcn_s_barrier(); // sync_different waits first
    out[id()] = 1;
  } else {
    __builtin_amdgcn_s_barrier(); // sync_different waits second
    out[id()] = 2;
  }
}

KERNEL memory_lds(GLOBAL int *out, int far) {
  __asm__ volatile("" : : "v"(tile));
  __attribute__((address_space(3))) int *p = tile + id() + far;
  *p = 1; // memory_lds writes
  out[id()] = 1;
}

static inline void store(GLOBAL int *out, int at) {
  out[at] = 7; // memory_global writes
}
KERNEL memory_global(GLOBAL int *out, int far) { store(out, id() + far); }

KERNEL memory_misaligned(GLOBAL int *out, int far) {
  tile[id()] = 1;
  __asm__ volatile("ds_add_rtn_u32 %0, %1, %1\n s_waitcnt lgkmcnt(0)" : "=v"(far) : "v"(id() * 4 + 2)); // memory_misaligned adds
  out[id()] = far;
}

// Scalar registers that the compiler believes to be written.
static inline int scalar(void) {
  int x;
  __asm__ volatile("s_mov_b32 %0, s90" : "=s"(x) : : "s90");
  return x;
}
KERNEL init_scalar_address(GLOBAL int *out) {
  out[(scalar() & 7) * 64 + id()] = 1; // init_scalar_address stores
}
KERNEL init_scalar_data(GLOBAL int *out) {
  out[id()] = scalar() * 3 + id(); // init_scalar_data stores
}
KERNEL init_scalar_branch(GLOBAL int *out) {
  out[id()] = 1;
  if (scalar() > 100) // init_scalar_branch decides
    __builtin_amdgcn_s_sleep(1);
}
KERNEL init_lane_branch(GLOBAL int *out) {
  int x;
  __asm__ volatile("v_mov_b32 %0, v63" : "=v"(x) : : "v63");
  if (x >= 0) // init_lane_branch decides
    out[id()] = 1; // init_lane_branch stores
}

// Bits that was never written, and that a mask hides before anything depends on them.
KERNEL init_scalar_masked(GLOBAL int *out) {
  int x = (scalar() << 8 | 5) & 255;
  if (x == 5)
    out[id() + x] = x;
}

// The last workgroup adds up what the others wrote, as last_group, and the counter orders nothing: it is
// relaxed, or its scope is the workgroup.
#define COUNTS(NAME, ORDER, SCOPE)                                                                                     \
  KERNEL NAME(GLOBAL int *partial, GLOBAL int *counter, GLOBAL int *out) {                                             \
    if (id())                                                                                                          \
      return;                                                                                                          \
    partial[group()] = group() + 1;                                                                                    \
    int before = __scoped_atomic_fetch_add(counter, 1, ORDER, SCOPE);                                                  \
    if (before != (int)__builtin_amdgcn_grid_size_x() / 64 - 1)                                                        \
      return;                                                                                                          \
    int sum = 0;                                                                                                       \
    for (int i = 0; i <= before; ++i)                                                                                  \
      sum += partial[i];                                                                                               \
    *out = sum;                                                                                                        \
  }
COUNTS(race_relaxed, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
COUNTS(race_scope, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP)
COUNTS(race_no_acquire, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE)
COUNTS(race_no_release, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE)

// All work-items add to one word, and one addition is left.
KERNEL race_lanes(GLOBAL int *out) {
  out[0] += id(); // race_lanes adds
}

// The waves of a workgroup read what others of them write.
KERNEL race_waves(GLOBAL int *out) {
  out[id()] = id();                    // race_waves writes
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  out[id() + 256] = out[255 - id()]; // race_waves reads
}

// An atomic operation on memory without a value.
KERNEL init_atomic(GLOBAL int *counter, GLOBAL int *out) {
  __scoped_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); // init_atomic adds
  out[id()] = id();
}

// Loads of scalar memory, whose addresses are the same in all lanes.
static inline int loaded(GLOBAL const int *from) {
  int x;
  __asm__ volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=s"(x) : "s"(from) : "memory");
  return x;
}
KERNEL init_scalar_load(GLOBAL const int *in, GLOBAL int *out) {
  out[id()] = loaded(in); // init_scalar_load reads
}
// The wave's own word is stored before it is read.
KERNEL init_scalar_stored(GLOBAL int *in, GLOBAL int *out) {
  in[id()] = 1;
  barrier();
  out[id()] = loaded(in);
}
// Two dwords. One is written, and that one alone is used.
KERNEL init_scalar_part(GLOBAL int *in, GLOBAL int *out) {
  long x;
  in[0] = 1;
  barrier();
  __asm__ volatile("s_load_dwordx2 %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=s"(x) : "s"(in) : "memory");
  out[id()] = (int)x;
}
// And the other one is used.
KERNEL init_scalar_rest(GLOBAL int *in, GLOBAL int *out) {
  long x;
  in[0] = 1;
  barrier();
  __asm__ volatile("s_load_dwordx2 %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=s"(x) : "s"(in) : "memory");
  out[id()] = (int)(x >> 32); // init_scalar_rest stores
}
// Another wave writes what a wave loads.
KERNEL race_scalar(GLOBAL int *out) {
  if (id() >= 64)
    out[id()] = 1; // race_scalar writes
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  int x = loaded(out + 64); // race_scalar reads
  out[512 + id()] = x;
}
KERNEL ordered_scalar(GLOBAL int *out) {
  if (id() >= 64)
    out[id()] = 1;
  barrier();
  int x = loaded(out + 64);
  out[512 + id()] = x;
}
// The dword around a byte is loaded, whose other bytes the other wave writes.
KERNEL bytes_scalar(GLOBAL unsigned char *out) {
  if (id() == 64)
    out[1] = 1;
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  ((GLOBAL int *)out)[512 + id()] = loaded((GLOBAL const int *)out) & 255;
}
