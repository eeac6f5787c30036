// Vector instructions that gfx1250 alone has, against what integers of 128 bits and floats of 128
// bits give.
#include "wave_test.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

using namespace flyemu;
using namespace flyemu::test;

namespace {
float wide(uint32_t x) { return std::bit_cast<float>(x << 16); }

/// The bfloat nearest to x, of an even mantissa where two are.
uint16_t nearest(__float128 x) {
  if (x == 0)
    return 0;
  const bool negative = x < 0;
  __float128 m = negative ? -x : x;
  int e = 0;
  while (m >= 2) {
    m /= 2;
    ++e;
  }
  while (m < 1) {
    m *= 2;
    --e;
  }
  const auto scaled = static_cast<__float128>(m * 128); // 128 to 256
  auto whole = static_cast<unsigned>(scaled);
  const __float128 rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && whole & 1))
    ++whole;
  if (whole == 256) {
    whole = 128;
    ++e;
  }
  return static_cast<uint16_t>((negative ? 0x8000 : 0) | (e + 127) << 7 | (whole & 127));
}

/// Bfloats of 2^-12 to 2^12, of both signs.
uint32_t somePair(unsigned seed) {
  auto one = [](uint32_t x) {
    x = x * 2654435761u ^ x >> 7;
    return (x >> 31 << 15) | (127 - 12 + (x >> 8) % 25) << 7 | (x >> 16 & 127);
  };
  return one(seed * 2 + 1) | one(seed * 2 + 77) << 16;
}
Lanes pairs(unsigned seed) {
  Lanes l;
  for (unsigned i = 0; i < 64; ++i)
    l[i] = somePair(seed + i);
  return l;
}
} // namespace

TEST_CASE("gfx1250: packed minimum and maximum of three take each half by itself") {
  WaveRun w("gfx1250");
  w.v = {{1, iota(0x80017ffe, 0x00030001)},
         {2, iota(0x7fff8001, 0x01000003)},
         {3, iota(0x12340005, 0xfff10007)}};
  w.readV = {4, 5, 6, 7};
  w.run("v_pk_max3_u16 v4, v1, v2, v3\n"
        "v_pk_min3_u16 v5, v1, v2, v3\n"
        "v_pk_max3_i16 v6, v1, v2, v3\n"
        "v_pk_min3_i16 v7, v1, v2, v3\n");
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned half = 0; half < 2; ++half) {
      const auto of = [&](uint32_t x) { return static_cast<uint16_t>(x >> (16 * half)); };
      const uint16_t a = of(w.v[1][i]), b = of(w.v[2][i]), c = of(w.v[3][i]);
      const auto sign = [](uint16_t x) { return static_cast<int16_t>(x); };
      CHECK(of(w.outV[4][i]) == std::max({a, b, c}));
      CHECK(of(w.outV[5][i]) == std::min({a, b, c}));
      CHECK(sign(of(w.outV[6][i])) == std::max({sign(a), sign(b), sign(c)}));
      CHECK(sign(of(w.outV[7][i])) == std::min({sign(a), sign(b), sign(c)}));
    }
}

TEST_CASE("gfx1250: packed bfloats are rounded once") {
  WaveRun w("gfx1250");
  w.v = {{1, pairs(3)}, {2, pairs(1000)}, {3, pairs(5000)}};
  w.readV = {4, 5, 6, 7, 8, 9};
  w.run("v_pk_fma_bf16 v4, v1, v2, v3\n"
        "v_pk_add_bf16 v5, v1, v2\n"
        "v_pk_mul_bf16 v6, v1, v2\n"
        "v_pk_fma_bf16 v7, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[0,1,0] "
        "neg_hi:[0,0,1]\n"
        "v_pk_max_num_bf16 v8, v1, v2\n"
        "v_pk_min_num_bf16 v9, v1, v2\n");
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned half : {0u, 1u}) {
      const unsigned shift = 16 * half;
      const uint32_t a = w.v[1][i] >> shift & 0xffff, b = w.v[2][i] >> shift & 0xffff,
                     c = w.v[3][i] >> shift & 0xffff, other = w.v[1][i] >> (16 - shift) & 0xffff;
      auto got = [&](unsigned r) { return w.outV[r][i] >> shift & 0xffff; };
      using Q = __float128;
      CHECK(got(4) == nearest(Q(wide(a)) * wide(b) + wide(c)));
      CHECK(got(5) == nearest(Q(wide(a)) + wide(b)));
      CHECK(got(6) == nearest(Q(wide(a)) * wide(b)));
      CHECK(got(7) ==
            nearest(Q(wide(other)) * (half ? wide(b) : -wide(b)) + (half ? -wide(c) : wide(c))));
      CHECK(got(8) == (wide(a) > wide(b) ? a : b));
      CHECK(got(9) == (wide(a) < wide(b) ? a : b));
    }
}

TEST_CASE("gfx1250: multiply-adds mix floats and bfloats") {
  WaveRun w("gfx1250");
  Lanes x, y;
  for (unsigned i = 0; i < 64; ++i) {
    x[i] = std::bit_cast<uint32_t>(1.0f + 0.37f * static_cast<float>(i));
    y[i] = std::bit_cast<uint32_t>(-5.0f + 0.71f * static_cast<float>(i));
  }
  w.v = {{1, pairs(3)}, {2, x}, {3, y}, {5, iota(0xaaaabbbb, 0)}, {6, iota(0xaaaabbbb, 0)}};
  w.readV = {4, 5, 6, 7};
  w.run("v_fma_mix_f32_bf16 v4, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]\n"
        "v_fma_mixlo_bf16 v5, v1, -v2, v3 op_sel_hi:[1,0,0]\n"
        "v_fma_mixhi_bf16 v6, |v1|, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]\n"
        "v_fma_mix_f32_bf16 v7, v1, 2.0, v3 op_sel_hi:[1,1,0]\n");
  for (unsigned i = 0; i < 32; ++i) {
    using Q = __float128;
    const Q low = wide(w.v[1][i] & 0xffff), high = wide(w.v[1][i] >> 16),
            b = std::bit_cast<float>(x[i]), c = std::bit_cast<float>(y[i]);
    CHECK(w.outV[4][i] == std::bit_cast<uint32_t>(static_cast<float>(high * b + c)));
    CHECK(w.outV[5][i] == (0xaaaa0000 | nearest(low * -b + c)));
    CHECK(w.outV[6][i] == (0xbbbb | uint32_t(nearest((high < 0 ? -high : high) * b + c)) << 16));
    CHECK(w.outV[7][i] == std::bit_cast<uint32_t>(static_cast<float>(low * 2 + c)));
  }
}

TEST_CASE("gfx1250: functions of three bits, and packed floats with a scalar for both elements") {
  WaveRun w("gfx1250");
  const auto f = [](float x) { return std::bit_cast<uint32_t>(x); };
  w.v = {{2, iota(0x12345678, 0x1111)},
         {3, iota(0xfedcba98, 0x77777)},
         {4, iota(0x0ff00ff0, 0x13579)},
         {6, iota(f(2.0f), 0)},
         {7, iota(f(3.0f), 0)}};
  w.s = {{8, f(5.0f)}, {9, f(100.0f)}};
  w.readV = {10, 12, 13, 14, 15};
  w.run("v_bitop3_b32 v10, v2, v3, v4 bitop3:0x1b\n"
        "v_pk_mul_f32 v[12:13], v[6:7], s[8:9] op_sel_hi:[1,0]\n"
        "v_pk_add_f32 v[14:15], v[6:7], v[6:7]\n");
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t expected = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      auto of = [&](unsigned r) { return w.v[r][i] >> bit & 1; };
      expected |= (0x1bu >> (of(2) << 2 | of(3) << 1 | of(4)) & 1) << bit;
    }
    CHECK(w.outV[10][i] == expected);
    CHECK(w.outV[12][i] == f(10.0f));
    CHECK(w.outV[13][i] == f(15.0f));
    CHECK(w.outV[14][i] == f(4.0f));
    CHECK(w.outV[15][i] == f(6.0f));
  }
  w.run("v_cvt_pk_fp8_f32 v10, v6, v7 clamp\n", true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("does not implement this form"));
}

TEST_CASE("gfx1250: a tie of a product of bfloats is decided by an addend far below it") {
  WaveRun w("gfx1250");
  // 1.5 * (1 + 2^-7) is a tie between two bfloats; 2^-120 and its negation are not lost.
  w.v = {{1, iota(0x3fc0, 0)}, {2, iota(0x3f81, 0)}, {3, iota(0x0380, 0)}, {4, iota(0x8380, 0)}};
  w.readV = {5, 6};
  w.run("v_pk_fma_bf16 v5, v1, v2, v3\nv_pk_fma_bf16 v6, v1, v2, v4\n");
  CHECK((w.outV[5][0] & 0xffff) == 0x3fc2);
  CHECK((w.outV[6][0] & 0xffff) == 0x3fc1);
}

TEST_CASE("gfx1250: functions of bfloats and the hyperbolic tangent") {
  WaveRun w("gfx1250");
  Lanes x;
  for (unsigned i = 0; i < 64; ++i)
    x[i] = std::bit_cast<uint32_t>(0.25f + 0.125f * static_cast<float>(i)) >> 16;
  w.v = {{1, x}, {2, Lanes{}}};
  for (unsigned i = 0; i < 64; ++i)
    w.v[2][i] = std::bit_cast<uint32_t>(-3.0f + 0.2f * static_cast<float>(i));
  w.readV = {4, 5, 6, 7, 8, 9, 10};
  w.run("v_exp_bf16 v4, v1\nv_log_bf16 v5, v1\nv_rcp_bf16 v6, v1\nv_rsq_bf16 v7, v1\n"
        "v_sqrt_bf16 v8, v1\nv_tanh_bf16 v9, v1\nv_tanh_f32 v10, v2\n");
  for (unsigned i = 0; i < 32; ++i) {
    const double a = wide(x[i]);
    const std::pair<unsigned, double> expected[] = {{4, std::exp2(a)}, {5, std::log2(a)},
                                                    {6, 1 / a},        {7, 1 / std::sqrt(a)},
                                                    {8, std::sqrt(a)}, {9, std::tanh(a)}};
    for (const auto &[r, value] : expected) {
      INFO(r << ": " << a);
      CHECK((w.outV[r][i] & 0xffff) == nearest(value));
    }
    const float t = std::bit_cast<float>(w.outV[10][i]), b = std::bit_cast<float>(w.v[2][i]);
    CHECK(std::abs(double(t) - std::tanh(double(b))) <= 1.2e-7 * std::abs(double(t)));
  }
}

TEST_CASE("gfx1250: integers of 64 bits") {
  WaveRun w("gfx1250");
  w.v = {{2, iota(0xfffffff0, 3)},
         {3, iota(0x7ffffff8, 1)},
         {4, iota(5, 0x01234567)},
         {5, iota(0xffffffff, 0)}};
  w.readV = {10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23};
  w.run("v_min_u64 v[10:11], v[2:3], v[4:5]\n"
        "v_max_i64 v[12:13], v[2:3], v[4:5]\n"
        "v_mad_nc_u64_u32 v[14:15], v2, v3, v[4:5]\n"
        "v_mad_nc_i64_i32 v[16:17], v2, v3, v[4:5]\n"
        "v_mad_u32 v18, v2, v3, v4\n"
        "v_max_u64 v[20:21], v[2:3], v[4:5]\n"
        "v_min_i64 v[22:23], v[2:3], v[4:5]\n");
  for (unsigned i = 0; i < 32; ++i) {
    auto in = [&](unsigned r) { return w.v[r][i] | uint64_t(w.v[r + 1][i]) << 32; };
    auto out = [&](unsigned r) { return w.outV[r][i] | uint64_t(w.outV[r + 1][i]) << 32; };
    const uint64_t a = in(2), b = in(4);
    const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
    CHECK(out(10) == std::min(a, b));
    CHECK(out(12) == static_cast<uint64_t>(std::max(sa, sb)));
    CHECK(out(14) == uint64_t(w.v[2][i]) * w.v[3][i] + b);
    CHECK(out(16) == static_cast<uint64_t>(int64_t(static_cast<int32_t>(w.v[2][i])) *
                                           static_cast<int32_t>(w.v[3][i])) +
                         b);
    CHECK(w.outV[18][i] == w.v[2][i] * w.v[3][i] + w.v[4][i]);
    CHECK(out(20) == std::max(a, b));
    CHECK(out(22) == static_cast<uint64_t>(std::min(sa, sb)));
  }
}

TEST_CASE("gfx1250: a bfloat that is a constant") {
  WaveRun w("gfx1250");
  w.s = {{8, 0xffff4040}};
  w.readV = {4, 5, 6};
  w.run("v_cvt_f32_bf16 v4, 1.0\nv_cvt_f32_bf16 v5, s8\nv_cvt_f32_bf16 v6, 0x4049\n");
  CHECK(w.outV[4][3] == std::bit_cast<uint32_t>(1.0f));
  CHECK(w.outV[5][3] == std::bit_cast<uint32_t>(3.0f));
  CHECK(w.outV[6][3] == 0x40490000);
}

TEST_CASE("gfx1250: sums and what they are compared with, saturated or not") {
  WaveRun w("gfx1250");
  w.v = {{1, iota(0x7fffff00, 0x01010101)},
         {2, iota(0x00010100, 0x03000003)},
         {3, iota(0x80000010, 0x05050505)}};
  w.readV = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};
  std::string text;
  unsigned to = 10;
  for (const char *op :
       {"v_add_max_i32", "v_add_min_i32", "v_add_max_u32", "v_add_min_u32", "v_pk_add_max_i16",
        "v_pk_add_min_i16", "v_pk_add_max_u16", "v_pk_add_min_u16"})
    for (const char *clamp : {"", " clamp"})
      text += std::string(op) + " v" + std::to_string(to++) + ", v1, v2, v3" + clamp + "\n";
  w.run(text);
  const auto limited = [](int64_t x, int64_t low, int64_t high) {
    return std::clamp(x, low, high);
  };
  for (unsigned i = 0; i < 32; ++i) {
    const uint32_t a = w.v[1][i], b = w.v[2][i], c = w.v[3][i];
    const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b),
               sc = static_cast<int32_t>(c);
    const auto wrapped = static_cast<int32_t>(a + b);
    const auto full = static_cast<int32_t>(limited(int64_t(sa) + sb, INT32_MIN, INT32_MAX));
    const auto fullUnsigned = static_cast<uint32_t>(limited(int64_t(a) + b, 0, UINT32_MAX));
    CHECK(w.outV[10][i] == static_cast<uint32_t>(std::max(wrapped, sc)));
    CHECK(w.outV[11][i] == static_cast<uint32_t>(std::max(full, sc)));
    CHECK(w.outV[12][i] == static_cast<uint32_t>(std::min(wrapped, sc)));
    CHECK(w.outV[13][i] == static_cast<uint32_t>(std::min(full, sc)));
    CHECK(w.outV[14][i] == std::max(a + b, c));
    CHECK(w.outV[15][i] == std::max(fullUnsigned, c));
    CHECK(w.outV[16][i] == std::min(a + b, c));
    CHECK(w.outV[17][i] == std::min(fullUnsigned, c));
    for (unsigned half = 0; half < 32; half += 16) {
      const auto part = [&](uint32_t x) { return static_cast<uint16_t>(x >> half); };
      const auto sign = [&](uint32_t x) { return static_cast<int16_t>(x >> half); };
      const auto sum = static_cast<uint16_t>(part(a) + part(b));
      const auto signedSum = static_cast<int16_t>(sum);
      const auto most = static_cast<int16_t>(limited(sign(a) + sign(b), -32768, 32767));
      const auto mostUnsigned = static_cast<uint16_t>(limited(part(a) + part(b), 0, 65535));
      CHECK(sign(w.outV[18][i]) == std::max(signedSum, sign(c)));
      CHECK(sign(w.outV[19][i]) == std::max(most, sign(c)));
      CHECK(sign(w.outV[20][i]) == std::min(signedSum, sign(c)));
      CHECK(sign(w.outV[21][i]) == std::min(most, sign(c)));
      CHECK(part(w.outV[22][i]) == std::max(sum, part(c)));
      CHECK(part(w.outV[23][i]) == std::max(mostUnsigned, part(c)));
      CHECK(part(w.outV[24][i]) == std::min(sum, part(c)));
      CHECK(part(w.outV[25][i]) == std::min(mostUnsigned, part(c)));
    }
  }
}

TEST_CASE("gfx1250: four bytes to four fields of four bits") {
  WaveRun w("gfx1250");
  w.v = {{1, Lanes{}}};
  w.v[1][0] = 0x80f80710; // -128, -8, 7, 16 and 128, 248, 7, 16
  w.readV = {4, 5};
  w.run("v_sat_pk4_i4_i8 v4, v1\nv_sat_pk4_u4_u8 v5, v1\n");
  CHECK((w.outV[4][0] & 0xffff) == 0x8877);
  CHECK((w.outV[5][0] & 0xffff) == 0xff7f);
}

TEST_CASE("gfx1250: halves to 8 bits and back") {
  WaveRun w("gfx1250");
  w.v = {{1, Lanes{}}, {2, Lanes{}}};
  // 1.0625 is midway between 1 and 1.125 of E4M3, and 1.125 between 1 and 1.25 of E5M2.
  w.v[1][0] = 0x3c40bc80; // 1.0625, -1.125
  w.v[1][1] = 0x5f007c00; // 448, infinity
  w.v[1][2] = 0x18007e00; // 2^-9, NaN
  w.v[2][0] = 0xb83c7e01; // E4M3: -1, 1.5, 448, 2^-9
  w.readV = {4, 5, 6, 7, 8, 9, 10};
  w.run("v_mov_b32 v4, -1\n"
        "v_cvt_pk_fp8_f16 v4, v1\n"
        "v_mov_b32 v5, 0\n"
        "v_cvt_pk_bf8_f16 v5, v1\n"
        "v_cvt_pk_f16_fp8 v6, v2\n"
        "v_cvt_pk_f16_fp8 v7, v2 op_sel:[1,0]\n"
        "v_mov_b32 v8, 0\n"
        "v_cvt_f16_fp8 v8, v2 byte_sel:3\n"
        "v_cvt_f16_fp8 v9, v2\n"
        "v_cvt_f16_bf8 v10, v2 byte_sel:2\n");
  CHECK((w.outV[4][0] & 0xffff) == 0x38b9); // -1.125 is exact, 1.0625 goes to 1
  CHECK((w.outV[4][1] & 0xffff) == 0x7e7f);
  CHECK((w.outV[4][2] & 0xffff) == 0x017f);
  CHECK((w.outV[5][0] & 0xffff) == 0x3cbc);
  CHECK((w.outV[5][1] & 0xffff) == 0x5f7c);
  CHECK(w.outV[6][0] == 0x5f001800);
  CHECK(w.outV[7][0] == 0xbc003e00);
  CHECK((w.outV[8][0] & 0xffff) == 0xbc00);
  CHECK((w.outV[9][0] & 0xffff) == 0x1800);
  CHECK((w.outV[10][0] & 0xffff) == 0x3c00);
  WaveRun sign("gfx1250");
  sign.run("v_cvt_pk_fp8_f16 v4, -v1\n", true);
  CHECK_THAT(sign.result.fault.message, Catch::Contains("no source says which half it changes"));
}

TEST_CASE("gfx1250: eight numbers to 8 and 4 bits, divided by a power of two") {
  WaveRun w("gfx1250");
  const float numbers[] = {2, -3, 896, 0.125f, 2.125f, 3e6f, -0.0f, 12};
  for (unsigned k = 0; k < 8; ++k)
    w.v[8 + k] = Lanes{};
  for (unsigned k = 0; k < 4; ++k)
    w.v[16 + k] = w.v[24 + k] = Lanes{};
  for (unsigned k = 0; k < 8; ++k) {
    const auto bits = std::bit_cast<uint32_t>(numbers[k]);
    w.v[8 + k][0] = w.v[8 + k][1] = bits;
    w.v[16 + k / 2][0] |= (bits >> 16) << 16 * (k % 2); // the first ones are bfloats, too
  }
  // Halves of 1, -1.5, 448, 0.0625, 1.0625, 60000, -0, 6.
  const uint32_t halves[] = {0xbe003c00, 0x2c005f00, 0x7b533c40, 0x46008000};
  for (unsigned k = 0; k < 4; ++k)
    w.v[24 + k][0] = halves[k];
  w.v[1] = Lanes{};
  w.v[1][0] = std::bit_cast<uint32_t>(2.0f);
  w.v[1][1] = std::bit_cast<uint32_t>(0.5f);
  for (unsigned lane = 2; lane < 32; ++lane)
    w.v[1][lane] = std::bit_cast<uint32_t>(1.0f);
  w.readV = {30, 31, 32, 33, 34, 35, 36, 37, 38, 39};
  w.run("v_cvt_scalef32_pk8_fp8_f32 v[30:31], v[8:15], v1\n"
        "v_cvt_scalef32_pk8_bf8_f32 v[32:33], v[8:15], v1\n"
        "v_cvt_scalef32_pk8_fp4_f32 v34, v[8:15], v1\n"
        "v_cvt_scalef32_pk8_fp8_bf16 v[36:37], v[16:19], v1\n"
        "v_cvt_scalef32_pk8_fp8_f16 v[38:39], v[24:27], 1.0\n");
  // E4M3: 1, -1.5, 448, 2^-4; 1.0625 goes to 1, 1.5e6 to NaN without saturation, -0, 6.
  CHECK(w.outV[30][0] == 0x187ebc38);
  CHECK(w.outV[31][0] == 0x4c807f38);
  // Twice as much, not half: 4, -6, 1792 (too large), 2^-2.
  CHECK(w.outV[30][1] == 0x287fcc48);
  // E5M2: 448 is 7 * 2^6, 1.5e6 infinity.
  CHECK(w.outV[32][0] == 0x2c5fbe3c);
  CHECK(w.outV[33][0] == 0x46807c3c);
  // E2M1 saturates: 1, -1.5, 6, 0 | 1, 6, -0, 6.
  CHECK(w.outV[34][0] == 0x787207b2);
  CHECK(w.outV[36][0] == 0x187ebc38);
  CHECK(w.outV[38][0] == 0x187ebc38);
  CHECK(w.outV[39][0] == 0x4c807f38);
  // Whether bits of a scale below its exponent count, sources do not agree on.
  for (const float scale : {1.5f, -1.0f, 0.0f, INFINITY}) {
    WaveRun refused("gfx1250");
    refused.v = {{1, Lanes{}}};
    for (unsigned k = 0; k < 8; ++k)
      refused.v[8 + k] = Lanes{};
    for (unsigned lane = 0; lane < 32; ++lane)
      refused.v[1][lane] = std::bit_cast<uint32_t>(scale);
    refused.run("v_cvt_scalef32_pk8_fp8_f32 v[30:31], v[8:15], v1\n", true);
    CHECK_THAT(refused.result.fault.message, Catch::Contains("no positive power of two"));
  }
}

TEST_CASE("gfx1250: words move in groups of lanes") {
  const auto run = [](const std::string &op, unsigned by, unsigned width) {
    WaveRun w("gfx1250");
    w.v = {{1, iota(100, 1)}};
    w.s = {{8, by}, {9, width}};
    w.readV = {4};
    w.run("v_permlane_" + op + "_b32 v4, v1, s8, s9\n");
    return w.outV[4];
  };
  for (unsigned width : {4u, 16u, 32u})
    for (unsigned by : {0u, 1u, 3u, 5u}) {
      const Lanes b = run("bcast", by, width), up = run("up", by, width),
                  down = run("down", by, width), x = run("xor", by, width);
      for (unsigned i = 0; i < 32; ++i) {
        const unsigned first = i / width * width, place = i % width;
        CHECK(b[i] == 100 + first + by % width);
        CHECK(up[i] == 100 + (place < by ? i : i - by));
        CHECK(down[i] == 100 + (place + by < width ? i + by : i));
        CHECK(x[i] == 100 + ((place ^ by) < width ? first + (place ^ by) : i));
      }
    }
  WaveRun w("gfx1250");
  w.s = {{8, 1}, {9, 12}};
  w.run("v_permlane_up_b32 v4, v1, s8, s9\n", true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("groups of 12 lanes"));
  w = WaveRun("gfx1250");
  w.exec = 0xfffffffe;
  w.s = {{8, 1}, {9, 32}};
  w.run("v_permlane_up_b32 v4, v1, s8, s9\n", true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("a word of lane 0, which is off"));
}
