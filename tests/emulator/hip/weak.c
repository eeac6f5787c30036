// What workgroups tell each other through memory, right with its fences and wrong without one of
// them. The argument `fences` of each kernel says which there are: bit 0 the release of what was
// written, bit 1 the acquire before reading. The compiler reorders nothing around either.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
#define FENCE(BIT, ORDER)                                                                                              \
  do {                                                                                                                 \
    __asm__ volatile("" ::: "memory");                                                                                 \
    if (fences & BIT)                                                                                                  \
      __builtin_amdgcn_fence(ORDER, "agent");                                                                          \
    __asm__ volatile("" ::: "memory");                                                                                 \
  } while (0)
#define RELEASE() FENCE(1, __ATOMIC_RELEASE)
#define ACQUIRE() FENCE(2, __ATOMIC_ACQUIRE)

static inline int id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
static inline int group(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
static inline int add(GLOBAL int *p) {
  return __scoped_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
// Returns when *p is at least `least`.
static inline void await(GLOBAL int *p, int least) {
  while (__scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) < least)
    __builtin_amdgcn_s_sleep(1);
  __asm__ volatile("" ::: "memory");
}
// Words that are a cache line apart.
enum { kLine = 32 };
// 0 in a vector register, so that what it indexes is not read by scalar loads, which have a cache of
// their own.
static inline int zero(void) {
  int x;
  __asm__ volatile("v_mov_b32 %0, 0" : "=v"(x));
  return x;
}

// Words of all workgroups: their sum, and reading them so that the caches of the device have them.
static inline int sum_of(GLOBAL int *words, int groups) {
  int sum = 0;
  for (int i = 0; i < groups; ++i)
    sum += words[i * kLine];
  return sum;
}
static inline void look_at(GLOBAL int *words, int groups) {
  for (int i = 0; i < groups; ++i)
    __asm__ volatile("" ::"v"(words[i * kLine]));
}

// Workgroup 1 sets the flag by a store, which looks like a plain one on gfx90a and gfx11. The others wait
// for it.
KERNEL stored_flag(GLOBAL int *flag) {
  if (id())
    return;
  flag += zero();
  if (group() == 1)
    __scoped_atomic_store_n(flag, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  else
    await(flag, 1);
}

// Workgroup 0 reads the data, waits for the flag and reads the data again, which is out[0];
// workgroup 1 writes the data and sets the flag.
KERNEL message(GLOBAL int *flag, GLOBAL int *data, GLOBAL int *out, int fences) {
  if (id())
    return;
  data += zero();
  if (group() == 0) {
    const int before = *data;
    await(flag, 1);
    ACQUIRE();
    out[0] = *data - before;
  } else {
    *data = 42;
    RELEASE();
    add(flag);
  }
}

// Each workgroup has one part of a sum; the one that comes last adds up all. All have read the
// parts before anybody writes, so that their caches have them.
KERNEL split(GLOBAL int *arrived, GLOBAL int *parts, GLOBAL int *out, int fences, int groups) {
  if (id())
    return;
  parts += zero();
  look_at(parts, groups);
  add(arrived + kLine);
  await(arrived + kLine, groups);
  parts[group() * kLine] = group() + 1;
  RELEASE();
  if (add(arrived) != groups - 1)
    return;
  ACQUIRE();
  out[0] = sum_of(parts, groups);
}

// All workgroups write a word and read all words, three times, with barriers of the grid between.
KERNEL phases(GLOBAL int *arrived, GLOBAL int *words, GLOBAL int *out, int fences, int groups) {
  if (id())
    return;
  words += zero();
  int sum = 0;
  for (int turn = 1; turn <= 6; ++turn) {
    if (turn % 2)
      words[group() * kLine] = turn * (group() + 1);
    else
      sum += sum_of(words, groups);
    RELEASE();
    add(arrived);
    await(arrived, groups * turn);
    ACQUIRE();
  }
  out[group()] = sum;
}

// Between devices a fence has system scope. Bit 0 says that there is a release, bit 1 an acquire, bit 2 that either has the
// scope of the device alone, which is too little.
#define SYSTEM_FENCE(BITS, BIT, ORDER)                                                                                 \
  do {                                                                                                                 \
    __asm__ volatile("" ::: "memory");                                                                                 \
    if ((BITS & BIT) && (BITS & 4))                                                                                    \
      __builtin_amdgcn_fence(ORDER, "agent");                                                                          \
    else if (BITS & BIT)                                                                                               \
      __builtin_amdgcn_fence(ORDER, "");                                                                               \
    __asm__ volatile("" ::: "memory");                                                                                 \
  } while (0)
// Says that this device has come to `turn`, and waits for the other one.
static inline void tell(GLOBAL int *own_flag, int turn) {
  __scoped_atomic_store_n(own_flag, turn, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}
static inline void hear(GLOBAL int *other_flag, int turn) {
  while (__scoped_atomic_load_n(other_flag, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM) < turn)
    __builtin_amdgcn_s_sleep(1);
}

// The same across devices, by one workgroup on each of two, at system scope: each writes its word
// and its flag, waits for the other's flag and adds the other's word, three times.
KERNEL all_reduce(GLOBAL int *own, GLOBAL int *other, GLOBAL int *own_flag, GLOBAL int *other_flag, GLOBAL int *out,
                  int fences, int value) {
  if (id())
    return;
  own += zero();
  other += zero();
  int sum = 0;
  for (int turn = 1; turn <= 6; ++turn) {
    if (turn % 2)
      own[0] = turn * value;
    else
      sum += own[0] + other[0];
    SYSTEM_FENCE(fences, 1, __ATOMIC_RELEASE);
    tell(own_flag, turn);
    hear(other_flag, turn);
    SYSTEM_FENCE(fences, 2, __ATOMIC_ACQUIRE);
  }
  out[0] = sum;
}

// Both kinds together: the workgroups of a device write a part each; the one that comes last adds
// them up, tells the other device and adds what that has. Bits 0 and 1 of `fences` are those within
// the device, bits 2 to 4 those of SYSTEM_FENCE between the devices. Before that, the caches of a
// device get to know all parts and the other's word.
KERNEL all_reduce_parts(GLOBAL int *own, GLOBAL int *other, GLOBAL int *own_flag, GLOBAL int *other_flag, GLOBAL int *out,
                        int fences, int value, GLOBAL int *parts, GLOBAL int *arrived, int groups) {
  if (id())
    return;
  own += zero();
  other += zero();
  parts += zero();
  look_at(parts, groups);
  if (group() == 0) {
    __asm__ volatile("" ::"v"(other[0]));
    tell(own_flag, 1);
    hear(other_flag, 1);
  }
  add(arrived + kLine);
  await(arrived + kLine, groups);
  parts[group() * kLine] = value * (group() + 1);
  RELEASE();
  if (add(arrived) != groups - 1)
    return;
  ACQUIRE();
  own[0] = sum_of(parts, groups);
  SYSTEM_FENCE((fences >> 2), 1, __ATOMIC_RELEASE);
  tell(own_flag, 2);
  hear(other_flag, 2);
  SYSTEM_FENCE((fences >> 2), 2, __ATOMIC_ACQUIRE);
  out[0] = own[0] + other[0];
  // The end of a launch writes everything back, which would do for a fence.
  __asm__ volatile("" ::: "memory");
  tell(own_flag, 3);
  hear(other_flag, 3);
}
