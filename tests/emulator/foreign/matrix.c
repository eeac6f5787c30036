/* Matrix products: plain, tiled through LDS, and by matrix instructions. */
#include "device.h"

KERNEL matmul_plain(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, int m, int n, int k) {
  int i = global_id() / n, j = global_id() % n;
  if (i >= m)
    return;
  float sum = 0;
  for (int l = 0; l < k; ++l)
    sum = __builtin_fmaf(a[i * k + l], b[l * n + j], sum);
  c[i * n + j] = sum;
}

SHARED float ta[16][17], tb[16][17];
KERNEL matmul_tiled(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, int m, int n, int k) {
  int tx = local_id() & 15, ty = local_id() >> 4;
  int tiles = (n + 15) / 16;
  int i = group_id() / tiles * 16 + ty, j = group_id() % tiles * 16 + tx;
  float sum = 0;
  for (int l = 0; l < k; l += 16) {
    ta[ty][tx] = i < m && l + tx < k ? a[i * k + l + tx] : 0;
    tb[ty][tx] = l + ty < k && j < n ? b[(l + ty) * n + j] : 0;
    group_barrier();
    for (int x = 0; x < 16; ++x)
      sum = __builtin_fmaf(ta[ty][x], tb[x][tx], sum);
    group_barrier();
  }
  if (i < m && j < n)
    c[i * n + j] = sum;
}

#ifdef __GFX9__
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef short i16x4 __attribute__((ext_vector_type(4)));

/* One wave, 16 x 16 = (16 x k) (k x 16), both operands row by row. Lane l holds row (or column) l % 16 and
   the k's that belong to l / 16; result register r is row 4 * (l / 16) + r, column l % 16. */
KERNEL mfma_f32(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, int k) {
  int row = lane_id() & 15, block = lane_id() >> 4;
  f32x4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; l += 4)
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[row * k + l + block], b[(l + block) * 16 + row], sum, 0, 0, 0);
  for (int r = 0; r < 4; ++r)
    c[(block * 4 + r) * 16 + row] = sum[r];
}

/* 32 x 32: result register r is row 8 * (r / 4) + 4 * (l / 32) + r % 4. */
KERNEL mfma_f32_wide(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, int k) {
  int row = lane_id() & 31, block = lane_id() >> 5;
  f32x16 sum = 0;
  for (int l = 0; l < k; l += 2)
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[row * k + l + block], b[(l + block) * 32 + row], sum, 0, 0, 0);
  for (int r = 0; r < 16; ++r)
    c[(8 * (r / 4) + 4 * block + r % 4) * 32 + row] = sum[r];
}

KERNEL mfma_f16(GLOBAL const _Float16 *a, GLOBAL const _Float16 *b, GLOBAL float *c, int k) {
  int row = lane_id() & 15, block = lane_id() >> 4;
  f32x4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; l += 16) {
    f16x4 x, y;
    for (int e = 0; e < 4; ++e) {
      x[e] = a[row * k + l + block * 4 + e];
      y[e] = b[(l + block * 4 + e) * 16 + row];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r)
    c[(block * 4 + r) * 16 + row] = sum[r];
}

/* bfloat16 operands come as their bits. */
KERNEL mfma_bf16(GLOBAL const short *a, GLOBAL const short *b, GLOBAL float *c, int k) {
  int row = lane_id() & 15, block = lane_id() >> 4;
  f32x4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; l += 16) {
    i16x4 x, y;
    for (int e = 0; e < 4; ++e) {
      x[e] = a[row * k + l + block * 4 + e];
      y[e] = b[(l + block * 4 + e) * 16 + row];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r)
    c[(block * 4 + r) * 16 + row] = sum[r];
}

#ifndef __gfx90a__ /* which has the product of bytes in other shapes */
KERNEL mfma_i8(GLOBAL const signed char *a, GLOBAL const signed char *b, GLOBAL int *c, int k) {
  int row = lane_id() & 15, block = lane_id() >> 4;
  i32x4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; l += 32) {
    u64 x = 0, y = 0;
    for (int e = 0; e < 8; ++e) {
      x |= (u64)(u8)a[row * k + l + block * 8 + e] << (8 * e);
      y |= (u64)(u8)b[(l + block * 8 + e) * 16 + row] << (8 * e);
    }
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8((i64)x, (i64)y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r)
    c[(block * 4 + r) * 16 + row] = sum[r];
}
#endif

/* Double precision: result register r is row 4 * r + l / 16. */
KERNEL mfma_f64(GLOBAL const double *a, GLOBAL const double *b, GLOBAL double *c, int k) {
  int row = lane_id() & 15, block = lane_id() >> 4;
  f64x4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; l += 4)
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[row * k + l + block], b[(l + block) * 16 + row], sum, 0, 0, 0);
  for (int r = 0; r < 4; ++r)
    c[(r * 4 + block) * 16 + row] = sum[r];
}

#ifdef __gfx950__
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));

/* The wide form: eight k's for each lane. */
KERNEL mfma_f16_deep(GLOBAL const _Float16 *a, GLOBAL const _Float16 *b, GLOBAL float *c, int k) {
  int row = lane_id() & 15, block = lane_id() >> 4;
  f32x4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; l += 32) {
    f16x8 x, y;
    for (int e = 0; e < 8; ++e) {
      x[e] = a[row * k + l + block * 8 + e];
      y[e] = b[(l + block * 8 + e) * 16 + row];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x32_f16(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r)
    c[(block * 4 + r) * 16 + row] = sum[r];
}
#endif

#elif !defined(__gfx1250__) /* RDNA; gfx1250 has products of other shapes */

/* One wave of 32, 16 x 16 = (16 x k) (k x 16). Lane l holds row (or column) l % 16. On gfx11 both halves of the
   wave hold all sixteen k's, on gfx12 each half its eight; the result's rows lie differently, too. */
#ifdef __GFX12__
#define KS 8
#define FIRST_K (lane_id() / 16 * 8)
#define RESULT_ROW(r) ((r) + lane_id() / 16 * 8)
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
#else
#define KS 16
#define FIRST_K 0
#define RESULT_ROW(r) (2 * (r) + lane_id() / 16)
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32
#endif
typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16s __attribute__((ext_vector_type(KS)));
typedef short i16s __attribute__((ext_vector_type(KS)));
typedef int bytes_of __attribute__((ext_vector_type(KS / 4)));

KERNEL wmma_f16(GLOBAL const _Float16 *a, GLOBAL const _Float16 *b, GLOBAL float *c, int k) {
  int row = lane_id() & 15;
  f32x8 sum = 0;
  for (int l = 0; l < k; l += 16) {
    f16s x, y;
    for (int e = 0; e < KS; ++e) {
      x[e] = a[row * k + l + FIRST_K + e];
      y[e] = b[(l + FIRST_K + e) * 16 + row];
    }
    sum = WMMA(f32_16x16x16_f16)(x, y, sum);
  }
  for (int r = 0; r < 8; ++r)
    c[RESULT_ROW(r) * 16 + row] = sum[r];
}

KERNEL wmma_bf16(GLOBAL const short *a, GLOBAL const short *b, GLOBAL float *c, int k) {
  int row = lane_id() & 15;
  f32x8 sum = 0;
  for (int l = 0; l < k; l += 16) {
    i16s x, y;
    for (int e = 0; e < KS; ++e) {
      x[e] = a[row * k + l + FIRST_K + e];
      y[e] = b[(l + FIRST_K + e) * 16 + row];
    }
    sum = WMMA(f32_16x16x16_bf16)(x, y, sum);
  }
  for (int r = 0; r < 8; ++r)
    c[RESULT_ROW(r) * 16 + row] = sum[r];
}

KERNEL wmma_i8(GLOBAL const signed char *a, GLOBAL const signed char *b, GLOBAL int *c, int k) {
  int row = lane_id() & 15;
  i32x8 sum = 0;
  for (int l = 0; l < k; l += 16) {
    bytes_of x = 0, y = 0;
    for (int e = 0; e < KS; ++e) {
      x[e / 4] |= (int)((u32)(u8)a[row * k + l + FIRST_K + e] << (8 * (e % 4)));
      y[e / 4] |= (int)((u32)(u8)b[(l + FIRST_K + e) * 16 + row] << (8 * (e % 4)));
    }
    sum = WMMA(i32_16x16x16_iu8)(1, x, 1, y, sum, 0);
  }
  for (int r = 0; r < 8; ++r)
    c[RESULT_ROW(r) * 16 + row] = sum[r];
}
#endif
