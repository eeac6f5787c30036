// A kernel with each mistake that the emulator names, and the same kernel without it: NAME_wrong and
// NAME_right. Each takes three arrays of words: `out` and `zeros`, which the host has filled with
// zeros, and `unset`, which it has not written. mistakes_test.cpp has a row for each.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define SHARED static LDS __attribute__((loader_uninitialized))
#define PARAMETERS GLOBAL int *out, GLOBAL int *unset, GLOBAL int *zeros
#define MISTAKE(NAME)                                                                                                  \
  static inline __attribute__((always_inline)) void NAME(PARAMETERS, const int right);                                 \
  KERNEL NAME##_wrong(PARAMETERS) { NAME(out, unset, zeros, 0); }                                                      \
  KERNEL NAME##_right(PARAMETERS) { NAME(out, unset, zeros, 1); }                                                      \
  static inline __attribute__((always_inline)) void NAME(PARAMETERS, const int right)

#if defined(__gfx1200__) || defined(__gfx1201__) || defined(__gfx1250__)
#define WAIT_LOADS "s_wait_loadcnt 0x0\n"
#define WAIT_LDS "s_wait_dscnt 0x0\n"
#define WAIT_SCALAR "s_wait_kmcnt 0x0\n"
#else
#define WAIT_LOADS "s_waitcnt vmcnt(0)\n"
#define WAIT_LDS "s_waitcnt lgkmcnt(0)\n"
#define WAIT_SCALAR "s_waitcnt lgkmcnt(0)\n"
#endif
#ifdef __GFX9__
#define LOAD "global_load_dword"
#define SCALAR_LOAD "s_load_dword"
#else
#define LOAD "global_load_b32"
#define SCALAR_LOAD "s_load_b32"
#endif

SHARED int tile[256];
extern LDS int dynamic[];

static inline int id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
static inline int group(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
static inline int wave_begins_with_0(void) { return __builtin_amdgcn_readfirstlane(id()) == 0; }
static inline void fence(void) { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"); }
static inline void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// A number that the compiler does not know.
static inline int hidden(int x) {
  __asm__ volatile("" : "+v"(x));
  return x;
}

MISTAKE(lds_without_barrier) {
  tile[id()] = id();
  if (right)
    barrier();
  else
    fence();
  out[id()] = tile[255 - id()];
}
// The second phase writes while other waves still read the first one's values.
MISTAKE(lds_overwritten) {
  tile[id()] = id();
  barrier();
  const int x = tile[255 - id()];
  if (right)
    barrier();
  else
    fence();
  tile[id()] = x;
  barrier();
  out[id()] = tile[255 - id()];
}
MISTAKE(global_without_barrier) {
  out[id()] = id();
  if (right)
    barrier();
  else
    fence();
  out[id() + 256] = out[255 - id()];
}
MISTAKE(lanes_add_to_one_word) {
  if (right)
    __scoped_atomic_fetch_add(out, id(), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  else
    out[0] += id();
}
MISTAKE(groups_write_one_word) { out[right ? group() * 64 + id() : id()] = group(); }

// Each workgroup writes its part and counts itself; the last one adds up the parts of all.
#define SPLIT_K(NAME, ORDER, SCOPE)                                                                                    \
  MISTAKE(NAME) {                                                                                                      \
    if (id())                                                                                                          \
      return;                                                                                                          \
    out[1 + group()] = group() + 1;                                                                                    \
    const int before = right ? __scoped_atomic_fetch_add(zeros, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE)            \
                             : __scoped_atomic_fetch_add(zeros, 1, ORDER, SCOPE);                                      \
    if (before != 7)                                                                                                   \
      return;                                                                                                          \
    int sum = 0;                                                                                                       \
    for (int i = 1; i <= 8; ++i)                                                                                       \
      sum += out[i];                                                                                                   \
    out[0] = sum;                                                                                                      \
  }
SPLIT_K(split_k_without_fence, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
SPLIT_K(split_k_of_small_scope, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP)
SPLIT_K(split_k_without_acquire, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE)
SPLIT_K(split_k_without_release, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE)

// Workgroup 1 leaves a word and sets a flag, for which workgroup 0 waits.
MISTAKE(flag_without_fence) {
  if (id())
    return;
  if (group() == 0) {
    while (__scoped_atomic_load_n(zeros, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 0)
      __builtin_amdgcn_s_sleep(1);
    if (right)
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    out[0] = out[hidden(1)];
  } else {
    out[1] = 42;
    if (right)
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __scoped_atomic_fetch_add(zeros, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  }
}

MISTAKE(lds_never_written) {
  if (right || id() < 100)
    tile[id()] = id();
  barrier();
  out[id()] = tile[id()];
}
MISTAKE(memory_never_written) { out[id()] = (right ? zeros : unset)[id()] + 1; }
MISTAKE(atomic_on_memory_never_written) {
  __scoped_atomic_fetch_add(right ? zeros : unset, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
MISTAKE(register_never_written) {
  int x;
  if (right)
    __asm__ volatile("v_mov_b32 %0, 7" : "=v"(x));
  else
    __asm__ volatile("v_mov_b32 %0, v63" : "=v"(x) : : "v63");
  out[id()] = x;
}
MISTAKE(branch_never_decided) {
  int x;
  if (right)
    __asm__ volatile("s_mov_b32 %0, 7" : "=s"(x));
  else
    __asm__ volatile("s_mov_b32 %0, s90" : "=s"(x) : : "s90");
  if (x > 100)
    __builtin_amdgcn_s_sleep(1);
}

MISTAKE(barrier_in_a_branch) {
  if (right || id() % 32 < 5)
    __builtin_amdgcn_s_barrier();
  out[id()] = 1;
}
MISTAKE(different_barriers) {
  if (right) {
    __builtin_amdgcn_s_barrier();
    out[id()] = 1;
  } else if (wave_begins_with_0()) {
    __builtin_amdgcn_s_barrier();
    out[id()] = 1;
  } else {
    __builtin_amdgcn_s_barrier();
    out[id()] = 2;
  }
}
MISTAKE(wave_that_ends_before_a_barrier) {
  if (!right && wave_begins_with_0())
    return;
  __builtin_amdgcn_s_barrier();
  out[id()] = 1;
}

MISTAKE(load_without_wait) {
  int x;
  if (right)
    __asm__ volatile(LOAD " %0, %1, off\n" WAIT_LOADS : "=&v"(x) : "v"(zeros + id()) : "memory");
  else
    __asm__ volatile(LOAD " %0, %1, off" : "=&v"(x) : "v"(zeros + id()) : "memory");
  out[id()] = x;
}
#if defined(__gfx942__) || defined(__gfx950__)
MISTAKE(load_to_lds_without_wait) {
  __asm__ volatile("s_mov_b32 m0, 0\n global_load_lds_dword %0, off" : : "v"(zeros + id()), "r"(tile) : "memory");
  if (right)
    __asm__ volatile(WAIT_LOADS : : : "memory");
  int x;
  __asm__ volatile("ds_read_b32 %0, %1\n" WAIT_LDS : "=v"(x) : "v"(id() * 4) : "memory");
  out[id()] = x;
}
#endif

MISTAKE(lds_past_its_end) { tile[hidden(id() + (right ? 192 : 193))] = 1; }
MISTAKE(dynamic_lds_past_its_end) { dynamic[hidden(id() + (right ? 0 : 1))] = 1; }
// An array of 64 words and its red zone, as a kernel of this library has them that is compiled for the
// check.
MISTAKE(lds_neighbour) {
  SHARED struct {
    int values[64], zone[16], next[64];
  } shared;
  int none;
  __asm__ volatile("s_mul_i32 %0, %1, 0x7fe5a0c9\n s_mov_b32 %0, 256\n s_mov_b32 %0, 64"
                   : "=s"(none)
                   : "s"((unsigned)(unsigned long)(LDS void *)&shared));
  shared.next[id()] = 0;
  ((LDS int *)&shared)[hidden(id() + (right ? 0 : 1))] = 1;
}
MISTAKE(misaligned_lds_atomic) {
  int x;
  tile[id()] = 1;
  barrier();
  __asm__ volatile("ds_add_rtn_u32 %0, %1, %1\n" WAIT_LDS : "=&v"(x) : "v"(id() * 4 + (right ? 0 : 2)) : "memory");
  out[id()] = x;
}
MISTAKE(misaligned_scalar_load) {
  int x;
  const GLOBAL char *from = (const GLOBAL char *)zeros + (right ? 0 : 2);
  __asm__ volatile(SCALAR_LOAD " %0, %1, 0x0\n" WAIT_SCALAR : "=s"(x) : "s"(from) : "memory");
  out[id()] = x;
}

MISTAKE(memory_past_its_end) { out[hidden(id() + (right ? 0 : 2048 - 63))] = 1; }
MISTAKE(misaligned_atomic) {
  GLOBAL int *to = (GLOBAL int *)((GLOBAL char *)out + hidden(right ? 4 : 2));
  __scoped_atomic_fetch_add(to, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
// A buffer that says of itself that it is larger than its memory. What lies past a buffer's own end
// reads as zero by the hardware's rule, and is no mistake.
MISTAKE(buffer_larger_than_its_memory) {
  __amdgpu_buffer_rsrc_t buffer =
      __builtin_amdgcn_make_buffer_rsrc((void *)zeros, 0, right ? 4096 : 8192, 0x00020000);
  out[id()] = (int)__builtin_amdgcn_raw_buffer_load_b32(buffer, hidden(id() * 4 + 4096 - 128), 0, 0);
}

// Writes where the host says, for the mistakes that the host makes.
KERNEL write_at(PARAMETERS, int at) { out[at + id()] = 1; }
KERNEL copy_words(PARAMETERS) { out[id()] = zeros[id()]; }
