/* Kernels whose work-items cooperate: LDS, barriers, cross-lane operations, atomics. */
#include "device.h"

SHARED int tree[256];
KERNEL reduce_lds(GLOBAL const int *in, GLOBAL int *out) {
  int i = local_id();
  tree[i] = in[global_id()];
  group_barrier();
  for (int step = 128; step > 0; step /= 2) {
    if (i < step)
      tree[i] += tree[i + step];
    group_barrier();
  }
  if (i == 0)
    out[group_id()] = tree[0];
}

KERNEL reduce_bpermute(GLOBAL const int *in, GLOBAL int *out) {
  int lane = lane_id(), sum = in[global_id()];
  for (int step = 1; step < WAVE; step *= 2)
    sum += __builtin_amdgcn_ds_bpermute((lane ^ step) * 4, sum);
  out[global_id()] = sum;
}

/* Inclusive scan of a wave by data-parallel primitives: within rows of 16 lanes, then from row to row. */
KERNEL scan_dpp(GLOBAL const int *in, GLOBAL int *out) {
  int x = in[global_id()];
  x += __builtin_amdgcn_update_dpp(0, x, 0x111, 0xF, 0xF, 0); /* row_shr:1 */
  x += __builtin_amdgcn_update_dpp(0, x, 0x112, 0xF, 0xF, 0);
  x += __builtin_amdgcn_update_dpp(0, x, 0x114, 0xF, 0xF, 0);
  x += __builtin_amdgcn_update_dpp(0, x, 0x118, 0xF, 0xF, 0);
#if WAVE == 64
  x += __builtin_amdgcn_update_dpp(0, x, 0x142, 0xA, 0xF, 0); /* row_bcast:15 into rows 1 and 3 */
  x += __builtin_amdgcn_update_dpp(0, x, 0x143, 0xC, 0xF, 0); /* row_bcast:31 into rows 2 and 3 */
#else
  /* No broadcasts between rows: every lane takes lane 15 of the other row, and the second row adds it. */
  int other = __builtin_amdgcn_permlanex16(0, x, ~0u, ~0u, 0, 0);
  if (lane_id() >= 16)
    x += other;
#endif
  out[global_id()] = x;
}

SHARED int scan[2][256];
KERNEL scan_lds(GLOBAL const int *in, GLOBAL int *out) {
  int i = local_id(), from = 0;
  scan[0][i] = in[global_id()];
  for (int step = 1; step < 256; step *= 2) {
    group_barrier();
    scan[1 - from][i] = scan[from][i] + (i >= step ? scan[from][i - step] : 0);
    from = 1 - from;
  }
  group_barrier();
  out[global_id()] = scan[from][i];
}

/* Keeps odd values, in order, by a ballot and a count of the lanes before. */
KERNEL compact_ballot(GLOBAL const int *in, GLOBAL int *out, GLOBAL int *counts) {
  int x = in[global_id()];
  u64 mask = ballot(x & 1);
  if (x & 1)
    out[group_id() * WAVE + lanes_before(mask)] = x;
  if (lane_id() == 0)
    counts[group_id()] = __builtin_popcountll(mask);
}

KERNEL lane_moves(GLOBAL const int *in, GLOBAL int *out) {
  int x = in[global_id()], base = global_id() * 5;
  out[base] = __builtin_amdgcn_readfirstlane(x);
  out[base + 1] = __builtin_amdgcn_readlane(x, 17);
  out[base + 2] = __builtin_amdgcn_ds_swizzle(x, 0x041F);           /* lane ^ 1 */
  out[base + 3] = __builtin_amdgcn_mov_dpp(x, 0x140, 0xF, 0xF, 1);   /* row_mirror */
  out[base + 4] = __builtin_amdgcn_ds_permute(((lane_id() + 3) & (WAVE - 1)) * 4, x);
}

SHARED int bins[16];
KERNEL histogram(GLOBAL const int *in, GLOBAL int *out) {
  int i = local_id();
  if (i < 16)
    bins[i] = 0;
  group_barrier();
  __scoped_atomic_fetch_add(&bins[in[global_id()] & 15], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  group_barrier();
  if (i < 16)
    __scoped_atomic_fetch_add(&out[i], bins[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

KERNEL atomic_integers(GLOBAL const int *in, GLOBAL int *words, GLOBAL u64 *longs) {
  int x = in[global_id()];
  __scoped_atomic_fetch_min(&words[0], x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_max(&words[1], x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_xor(&words[2], x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_or((GLOBAL u32 *)&words[3], (u32)x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_and((GLOBAL u32 *)&words[4], (u32)x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_sub(&words[5], x, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
  __scoped_atomic_fetch_add(&longs[0], (u64)(i64)x * 1000003ull, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_max(&longs[1], (u64)(u32)x << 16, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* Every work-item draws a ticket and writes itself there: a permutation comes out. */
KERNEL tickets(GLOBAL int *counter, GLOBAL int *out) {
  int ticket = __scoped_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  out[ticket] = global_id();
}

/* Floating-point sums by compare-and-swap and by the atomic instruction; values that add exactly. */
KERNEL atomic_floats(GLOBAL const float *in, GLOBAL float *sums, GLOBAL double *wide) {
  float x = in[global_id()];
  u32 seen = __scoped_atomic_load_n((GLOBAL u32 *)&sums[0], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE), next;
  do {
    float sum;
    __builtin_memcpy(&sum, &seen, 4);
    sum += x;
    __builtin_memcpy(&next, &sum, 4);
  } while (!__scoped_atomic_compare_exchange_n((GLOBAL u32 *)&sums[0], &seen, next, 0, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
  __scoped_atomic_fetch_add(&sums[1], x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_add(&wide[0], (double)x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

SHARED float tile[32][33];
KERNEL transpose(GLOBAL const float *in, GLOBAL float *out, int rows, int columns) {
  int tx = local_id() & 31, ty = local_id() >> 5;
  int bx = group_id() % ((columns + 31) / 32) * 32, by = group_id() / ((columns + 31) / 32) * 32;
  for (int j = ty; j < 32; j += 8)
    if (by + j < rows && bx + tx < columns)
      tile[j][tx] = in[(by + j) * columns + bx + tx];
  group_barrier();
  for (int j = ty; j < 32; j += 8)
    if (bx + j < columns && by + tx < rows)
      out[(bx + j) * rows + by + tx] = tile[tx][j];
}

/* A double-precision dot product: each work-item a strided part, then a tree in LDS. */
SHARED double partial[128];
KERNEL dot_double(GLOBAL const double *a, GLOBAL const double *b, GLOBAL double *out, int count) {
  int i = local_id();
  double sum = 0;
  for (int k = i; k < count; k += 128)
    sum = __builtin_fma(a[k], b[k], sum);
  partial[i] = sum;
  group_barrier();
  for (int step = 64; step > 0; step /= 2) {
    if (i < step)
      partial[i] += partial[i + step];
    group_barrier();
  }
  if (i == 0)
    out[0] = partial[0];
}

/* A private table filled at run time and read by data: scratch memory. */
KERNEL scratch_table(GLOBAL const int *in, GLOBAL int *out, int rounds) {
  int table[32];
  for (int i = 0; i < 32; ++i)
    table[i] = i * i - local_id();
  int x = in[global_id()];
  for (int r = 0; r < rounds; ++r) {
    table[x & 31] += x;
    x = x * 5 + table[(x >> 5) & 31];
  }
  for (int i = 0; i < 32; ++i)
    x ^= table[i] << (i & 7);
  out[global_id()] = x;
}

/* Bytes, half words and unaligned words through generic pointers, which point to global memory or LDS. */
SHARED u8 bytes[64];
NOINLINE u32 gather(const u8 *p, int at) {
  u32 word;
  __builtin_memcpy(&word, p + at, 4);
  u16 half;
  __builtin_memcpy(&half, p + at + 1, 2);
  return word * 3 + half + p[at];
}
KERNEL generic_pointers(GLOBAL const u8 *in, GLOBAL u32 *out) {
  int i = local_id();
  bytes[i] = (u8)(in[i] * 3);
  group_barrier();
  const u8 *p = i & 1 ? (const u8 *)in : (const u8 *)bytes;
  out[i] = gather(p, i % 59);
}
