/* Plain C functions that both the host and the kernels call. The host's compiler and processor give the
   reference; clang for amdgcn and the emulator give the result under test. No library is used. */
#ifndef FOREIGN_FUNCTIONS_H
#define FOREIGN_FUNCTIONS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#define NOINLINE static __attribute__((noinline, unused))
#define INLINE static inline __attribute__((unused))

INLINE u64 divide_unsigned(u64 a, u64 b) { return b ? (a / b) * 31 + a % b : a; }

INLINE u64 divide_signed(u64 x, u64 y) {
  i64 a = (i64)x, b = (i64)y;
  if (b == 0 || (b == -1 && a == (i64)0x8000000000000000ull))
    return 1;
  return (u64)(a / b) * 31 + (u64)(a % b);
}

INLINE u64 divide_narrow(u64 x, u64 y) {
  u32 a = (u32)x, b = (u32)(y >> 32) | 1;
  i32 c = (i32)(x >> 32), d = (i32)((u32)y | 1);
  u16 e = (u16)x, f = (u16)(y | 1);
  u64 r = (u64)(a / b) ^ ((u64)(a % b) << 32);
  if (d != -1)
    r += (u64)(i64)(c / d) + (u64)(i64)(c % d) * 7;
  return r + e / f + e % f;
}

/* The upper half of a 128-bit product from 32-bit pieces. */
INLINE u64 multiply_high(u64 a, u64 b) {
  u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
  u64 mid = ah * bl + ((al * bl) >> 32);
  u64 mid2 = al * bh + (u32)mid;
  return ah * bh + (mid >> 32) + (mid2 >> 32);
}

INLINE u64 bit_tricks(u64 a, u64 b) {
  u64 r = (u64)__builtin_popcountll(a);
  r = r * 67 + (a ? (u64)__builtin_clzll(a) : 64);
  r = r * 67 + (b ? (u64)__builtin_ctzll(b) : 64);
  r ^= __builtin_bswap64(a) + __builtin_bitreverse64(b);
  r += __builtin_bswap32((u32)b) ^ __builtin_bitreverse32((u32)a);
  return r + (u64)__builtin_popcount((u32)b) + ((u32)a ? (u64)__builtin_clz((u32)a) : 32);
}

INLINE u64 shift_mix(u64 a, u64 b) {
  unsigned s = b & 63, t = b & 31;
  u64 r = (a << s) ^ (a >> s) ^ (u64)((i64)a >> s);
  u32 n = (u32)a;
  r += (u64)(n << t) + (u64)(n >> t) + (u64)(u32)((i32)n >> t);
  return r ^ ((a << 13) | (a >> 51));
}

/* 128-bit addition and subtraction with carries through 64-bit words. */
INLINE u64 carry_chain(u64 a, u64 b) {
  u64 low = a + b, carry = low < a, high = a * 3 + b * 5 + carry;
  u64 difference = a - b, borrow = a < b;
  return high ^ (difference - borrow) ^ (low >> 1);
}

INLINE u64 collatz(u64 a, u64 b) {
  u64 n = (a & 0xFFFF) + 1 + (b & 7), steps = 0;
  while (n != 1 && steps < 400) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

/* A little machine: a switch over eight operations, driven by the input's digits. */
INLINE u64 interpret(u64 a, u64 b) {
  u64 accumulator = b, other = a;
  for (int i = 0; i < 20; ++i) {
    switch ((a >> (3 * i)) & 7) {
    case 0: accumulator += other; break;
    case 1: accumulator ^= other >> 3; break;
    case 2: other = accumulator * 9 + 1; break;
    case 3: accumulator = (accumulator << 7) | (accumulator >> 57); break;
    case 4: if (accumulator & 1) other ^= 0x9E3779B97F4A7C15ull; break;
    case 5: accumulator -= other & 0xFFFF; break;
    case 6: { u64 t = accumulator; accumulator = other; other = t; break; }
    default: accumulator = ~accumulator; break;
    }
  }
  return accumulator ^ other;
}

INLINE u64 random_walk(u64 a, u64 b) {
  u64 s = a | 1;
  u32 t = (u32)b | 1;
  for (int i = 0; i < 50; ++i) {
    s ^= s << 13; s ^= s >> 7; s ^= s << 17;
    t ^= t << 13; t ^= t >> 17; t ^= t << 5;
  }
  return s + t;
}

INLINE u64 greatest_divisor(u64 a, u64 b) {
  u32 x = (u32)a | 1, y = (u32)b | 1;
  while (y) { u32 r = x % y; x = y; y = r; }
  return x;
}

INLINE u64 square_root(u64 a, u64 b) {
  u64 n = a ^ b, r = 0, bit = 1ull << 62;
  while (bit > n) bit >>= 2;
  while (bit) {
    if (n >= r + bit) { n -= r + bit; r = (r >> 1) + bit; } else r >>= 1;
    bit >>= 2;
  }
  return r;
}

/* Insertion sort of an array that lives in private memory, indexed by data. */
INLINE u64 sort_private(u64 a, u64 b) {
  u8 v[16];
  for (int i = 0; i < 8; ++i) { v[i] = (u8)(a >> (8 * i)); v[8 + i] = (u8)(b >> (8 * i)); }
  for (int i = 1; i < 16; ++i) {
    u8 x = v[i];
    int j = i - 1;
    while (j >= 0 && v[j] > x) { v[j + 1] = v[j]; --j; }
    v[j + 1] = x;
  }
  u64 r = 0;
  for (int i = 0; i < 16; ++i) r = r * 257 + v[i];
  return r + v[a & 15];
}

struct triple { u64 x; i32 y; u8 z[5]; };
NOINLINE struct triple make_triple(u64 a, i32 b) {
  struct triple t = {a * 3, (i32)((u32)b - 7), {1, 2, 3, 4, 5}};
  t.z[a % 5] = (u8)b;
  return t;
}
NOINLINE u64 use_triple(struct triple t, const u64 *extra, u8 c, u16 d) {
  return t.x + (u64)(i64)t.y * 11 + t.z[0] + t.z[1] * 3 + t.z[2] * 5 + t.z[3] * 7 + t.z[4] * 9 + extra[1] + c + d;
}
INLINE u64 call_chain(u64 a, u64 b) {
  u64 extra[3] = {1, b, 3};
  u64 r = 0;
  for (int i = 0; i < 3; ++i)
    r = r * 5 + use_triple(make_triple(a + (u64)i, (i32)b), extra, (u8)a, (u16)b);
  return r;
}

NOINLINE u64 choice_add(u64 a, u64 b) { return a + b; }
NOINLINE u64 choice_xor(u64 a, u64 b) { return a ^ (b << 1); }
NOINLINE u64 choice_mul(u64 a, u64 b) { return a * (b | 1); }
INLINE u64 call_pointers(u64 a, u64 b) {
  u64 (*volatile choices[3])(u64, u64) = {choice_add, choice_xor, choice_mul};
  u64 r = b;
  for (u32 i = 0; i < 6; ++i)
    r = choices[(a >> (2 * i)) % 3](r, a);
  return r;
}

NOINLINE u64 deep_a(u64 n, u64 depth) { u64 local[4] = {n, n + 1, n + 2, n + 3}; return local[depth & 3] * 3 + 1; }
NOINLINE u64 deep_b(u64 n, u64 depth) { u64 local[4]; for (int i = 0; i < 4; ++i) local[i] = deep_a(n + (u64)i, depth); return local[0] ^ local[3] ^ local[n & 3]; }
INLINE u64 deep_calls(u64 a, u64 b) { return deep_b(a, b) + deep_b(b, a) * 17; }

INLINE u32 rotate_right(u32 x, int n) { return (x >> n) | (x << (32 - n)); }
/* A hash in the manner of SHA-2's rounds: rotates, majority, choice. */
INLINE u64 hash_rounds(u64 a, u64 b) {
  u32 s[8] = {(u32)a, (u32)(a >> 32), (u32)b, (u32)(b >> 32), 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a};
  for (u32 i = 0; i < 64; ++i) {
    u32 e = s[4], c = s[0];
    u32 t1 = s[7] + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + i * 0x428a2f98u;
    u32 t2 = (rotate_right(c, 2) ^ rotate_right(c, 13) ^ rotate_right(c, 22)) + ((c & s[1]) ^ (c & s[2]) ^ (s[1] & s[2]));
    s[7] = s[6]; s[6] = s[5]; s[5] = e; s[4] = s[3] + t1; s[3] = s[2]; s[2] = s[1]; s[1] = c; s[0] = t1 + t2;
  }
  return ((u64)(s[0] ^ s[4]) << 32) | (s[1] + s[7]);
}

/* Byte and half-word arithmetic with wrap-around and sign. */
INLINE u64 narrow_types(u64 a, u64 b) {
  u8 x = (u8)a, y = (u8)b;
  signed char p = (signed char)(a >> 8), q = (signed char)(b >> 8);
  u16 m = (u16)(a >> 16), n = (u16)(b >> 16);
  short s = (short)(a >> 32), t = (short)(b >> 32);
  x = (u8)(x + y); p = (signed char)(p * q); m = (u16)(m - n); s = (short)(s ^ (t << 3));
  m = (u16)(m << (x & 15)); s = (short)(s >> (y & 7));
  return (u64)x + (u64)(i64)p * 3 + (u64)m * 5 + (u64)(i64)s * 7 + (u64)(p < q) + (u64)(m > n) * 2 + (u64)(s < t) * 4;
}

/* Comparisons of all kinds, chosen without branches where the compiler likes. */
INLINE u64 compare_select(u64 a, u64 b) {
  i64 x = (i64)a, y = (i64)b;
  i32 p = (i32)a, q = (i32)b;
  u64 lowest = a < b ? a : b, highest = x > y ? a : b;
  i32 low = p < q ? p : q;
  u32 high = (u32)p > (u32)q ? (u32)p : (u32)q;
  i32 clamped = p < -1000 ? -1000 : p > 1000 ? 1000 : p;
  return lowest ^ (highest << 1) ^ (u64)(i64)low ^ high ^ ((u64)(i64)clamped << 20) ^ (u64)(a == b) ^ (u64)((a | b) != 0) << 63;
}

INLINE float float_divide(float a, float b) { return a / b + 1.0f / (b + 3.0f); }
INLINE float float_root(float a, float b) { return __builtin_sqrtf(__builtin_fabsf(a)) + __builtin_sqrtf(b * b); }
INLINE float float_rounding(float a, float b) {
  return __builtin_floorf(a) + __builtin_ceilf(b) * 3 + __builtin_truncf(a * 7) + __builtin_rintf(b * 5) +
         __builtin_copysignf(a, b) + __builtin_fabsf(b);
}
INLINE float float_select(float a, float b) {
  float low = a < b ? a : b, high = a > b ? a : b;
  return __builtin_fmaf(low, 3.0f, high) - (a != a ? 1.0f : 0.0f) + (a <= b ? 0.5f : 0.25f);
}
INLINE float mandelbrot(float a, float b) {
  float cx = a - (float)(int)a, cy = b - (float)(int)b, x = 0, y = 0;
  int i = 0;
  for (; i < 60 && x * x + y * y < 4.0f; ++i) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
  }
  return (float)i + x;
}
/* One operation each: a host without half-precision arithmetic may keep more bits inside an expression. */
INLINE float half_arithmetic(float a, float b) {
  _Float16 x = (_Float16)a, y = (_Float16)b, half = (_Float16)0.5f, two = (_Float16)2.0f;
  _Float16 z = x * y;
  z = z + x;
  half = y * half;
  z = z - half;
  two = y + two;
  _Float16 quotient = x / two, sum = x + y;
  return (float)(z < x ? z : sum) + (float)quotient;
}
INLINE float float_convert(float a, float b) {
  i32 x = (i32)a;
  u32 y = (u32)(b < 0 ? -b : b);
  i64 l = (i64)(a * 100000.0f);
  u64 m = (u64)(b < 0 ? -b : b) * 1000003u;
  u8 c = (u8)(y & 255);
  short s = (short)x;
  return (float)x + (float)y * 0.5f + (float)l + (float)m + (float)c + (float)s;
}

INLINE double double_divide(double a, double b) { return a / b - 1.0 / (a * a + 1.0); }
INLINE double double_root(double a, double b) { return __builtin_sqrt(__builtin_fabs(a)) * __builtin_sqrt(b * b + 1.0); }
INLINE double double_polynomial(double a, double b) {
  double r = 1.0;
  for (int i = 1; i < 12; ++i)
    r = __builtin_fma(r, a * 0.125, b / (double)i);
  return r;
}
INLINE double double_rounding(double a, double b) {
  return __builtin_floor(a) + __builtin_ceil(b) + __builtin_trunc(a * 3) * 2 + __builtin_rint(b * 7);
}
INLINE double double_convert(double a, double b) {
  i32 x = (i32)a;
  i64 y = (i64)(b * 1e6);
  u64 z = (u64)(a < 0 ? -a : a);
  u32 w = (u32)(b < 0 ? -b : b);
  float f = (float)a;
  return (double)x + (double)y * 0.25 + (double)z + (double)w + (double)f;
}
INLINE double double_compare(double a, double b) {
  double low = a < b ? a : b, high = a >= b ? a : b;
  return low * 2 + high + (a == b ? 100.0 : 0.0);
}

#define FOREIGN_INTEGER(F)                                                                          \
  F(divide_unsigned) F(divide_signed) F(divide_narrow) F(multiply_high) F(bit_tricks) F(shift_mix)  \
  F(carry_chain) F(collatz) F(interpret) F(random_walk) F(greatest_divisor) F(square_root)          \
  F(sort_private) F(call_chain) F(call_pointers) F(deep_calls) F(hash_rounds) F(narrow_types)       \
  F(compare_select)
#define FOREIGN_FLOAT(F)                                                                            \
  F(float_divide) F(float_root) F(float_rounding) F(float_select) F(mandelbrot) F(half_arithmetic)  \
  F(float_convert)
#define FOREIGN_DOUBLE(F)                                                                           \
  F(double_divide) F(double_root) F(double_polynomial) F(double_rounding) F(double_convert)         \
  F(double_compare)

#endif
