// Floating-point operations against references in wider arithmetic.
#include "operands.h"

#include <algorithm>

using namespace flyemu::test;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

namespace {
float f(u32 x) { return asF32(x); }
u32 round32(double x) { return bits(static_cast<float>(x)); }
/// Exact a * b + c rounded once: the product is exact in double, the sum in 113 bits.
u32 fused(u32 a, u32 b, u32 c) {
  return bits(static_cast<float>(__float128(f(a)) * __float128(f(b)) + __float128(f(c))));
}
bool less(float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }
u32 lesser(u32 a, u32 b) {
  return std::isnan(f(a)) ? b : std::isnan(f(b)) ? a : less(f(b), f(a)) ? b : a;
}
u32 greater(u32 a, u32 b) {
  return std::isnan(f(a)) ? b : std::isnan(f(b)) ? a : less(f(a), f(b)) ? b : a;
}
u32 clamp01(float x) { return std::isnan(x) ? 0 : x <= 0 ? 0 : x >= 1 ? bits(1.0f) : bits(x); }
u32 saturate(double x, double lo, double hi) {
  return std::isnan(x) ? 0 : u32(int64_t(std::min(std::max(std::trunc(x), lo), hi)));
}
u32 h(double x) { return nearestHalf(x); }
double hv(u32 x) { return halfValue(static_cast<uint16_t>(x)); }
} // namespace

TEST_CASE("single-precision arithmetic agrees with the host") {
  static const LaneCase kCases[] = {
      {"v_add_f32 v4, v1, v2", [](u32 a, u32 b, u32) { return round32(double(f(a)) + f(b)); }},
      {"v_sub_f32 v4, v1, v2", [](u32 a, u32 b, u32) { return round32(double(f(a)) - f(b)); }},
      {"v_subrev_f32 v4, v1, v2", [](u32 a, u32 b, u32) { return round32(double(f(b)) - f(a)); }},
      {"v_mul_f32 v4, v1, v2", [](u32 a, u32 b, u32) { return round32(double(f(a)) * f(b)); }},
      {"v_add_f32 v4, |v1|, -v2",
       [](u32 a, u32 b, u32) { return round32(double(std::fabs(f(a))) - f(b)); }},
      {"v_mul_f32 v4, -|v1|, v2",
       [](u32 a, u32 b, u32) { return round32(-double(std::fabs(f(a))) * f(b)); }},
      {"v_add_f32 v4, v1, v2 clamp",
       [](u32 a, u32 b, u32) { return clamp01(f(round32(double(f(a)) + f(b)))); }},
      {"v_add_f32 v4, 2.0, v2", [](u32, u32 b, u32) { return round32(2.0 + f(b)); }},
      {"v_mul_f32 v4, 0.15915494, v2",
       [](u32, u32 b, u32) { return round32(double(f(0x3e22f983)) * f(b)); }},
      {"v_fma_f32 v4, v1, v2, v3", fused},
      {"v_fma_f32 v4, -v1, |v2|, -v3",
       [](u32 a, u32 b, u32 c) { return fused(a ^ 0x80000000, b & 0x7fffffff, c ^ 0x80000000); }},
      {"v_mov_b32 v4, v3\nv_fmac_f32 v4, v1, v2", fused},
      {"v_fmamk_f32 v4, v1, 0x40490fdb, v2",
       [](u32 a, u32 b, u32) { return fused(a, 0x40490fdb, b); }},
      {"v_fmaak_f32 v4, v1, v2, 0x40490fdb",
       [](u32 a, u32 b, u32) { return fused(a, b, 0x40490fdb); }},
      {"v_min_f32 v4, v1, v2", [](u32 a, u32 b, u32) { return lesser(a, b); }},
      {"v_max_f32 v4, v1, v2", [](u32 a, u32 b, u32) { return greater(a, b); }},
      {"v_min3_f32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return lesser(lesser(a, b), c); }},
      {"v_max3_f32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return greater(greater(a, b), c); }},
      {"v_trunc_f32 v4, v1", [](u32 a, u32, u32) { return bits(std::trunc(f(a))); }},
      {"v_ceil_f32 v4, v1", [](u32 a, u32, u32) { return bits(std::ceil(f(a))); }},
      {"v_floor_f32 v4, v1", [](u32 a, u32, u32) { return bits(std::floor(f(a))); }},
      {"v_rndne_f32 v4, v1", [](u32 a, u32, u32) { return bits(std::nearbyint(f(a))); }},
      {"v_fract_f32 v4, v1",
       [](u32 a, u32, u32) {
         double x = f(a);
         return std::isinf(x)
                    ? 0x7fc00000u
                    : bits(std::min(static_cast<float>(x - std::floor(x)), 0x1.fffffep-1f));
       }},
      {"v_ldexp_f32 v4, v1, v2",
       [](u32 a, u32 b, u32) {
         return round32(std::ldexp(double(f(a)), std::clamp(i32(b), -600, 600)));
       }},
      {"v_frexp_mant_f32 v4, v1",
       [](u32 a, u32, u32) {
         int e;
         return std::isfinite(f(a)) ? bits(std::frexp(f(a), &e)) : a;
       }},
      {"v_frexp_exp_i32_f32 v4, v1",
       [](u32 a, u32, u32) {
         int e = 0;
         if (std::isfinite(f(a)))
           std::frexp(f(a), &e);
         return u32(e);
       }},
      {"v_cvt_i32_f32 v4, v1",
       [](u32 a, u32, u32) { return saturate(f(a), -2147483648.0, 2147483647.0); }},
      {"v_cvt_u32_f32 v4, v1", [](u32 a, u32, u32) { return saturate(f(a), 0, 4294967295.0); }},
      {"v_cvt_f32_i32 v4, v1", [](u32 a, u32, u32) { return round32(i32(a)); }},
      {"v_cvt_f32_u32 v4, v1", [](u32 a, u32, u32) { return round32(a); }},
      {"v_cvt_f32_ubyte2 v4, v1", [](u32 a, u32, u32) { return bits(float(a >> 16 & 255)); }},
      {"v_cvt_f16_f32 v4, v1", [](u32 a, u32, u32) { return h(f(a)); }},
      {"v_cvt_f32_f16 v4, v1", [](u32 a, u32, u32) { return round32(hv(a & 0xffff)); }},
      {"v_cvt_pkrtz_f16_f32 v4, v1, v2",
       [](u32 a, u32 b, u32) {
         auto toZero = [](float x) -> u32 {
           if (std::isnan(x))
             return 0x7e00;
           u32 r = h(x);
           if (std::isinf(x))
             return r;
           return std::fabs(hv(r)) > std::fabs(double(x)) ? r - 1 : r;
         };
         return toZero(f(a)) | toZero(f(b)) << 16;
       }},
      {"v_cvt_flr_i32_f32 v4, v1",
       [](u32 a, u32, u32) { return saturate(std::floor(f(a)), -2147483648.0, 2147483647.0); }},
  };
  auto same = [](u32 a, u32 b) {
    auto halves = [](u32 x, u32 y) {
      return sameHalf(x & 0xffff, y & 0xffff) && sameHalf(x >> 16, y >> 16);
    };
    return sameFloat(a, b) || halves(a, b);
  };
  for (const LaneCase &c : kCases)
    checkLanes(c.text, c.ref, kFloatEdges,
               std::string(c.text).find("f16") == std::string::npos ? sameFloat : +same, "gfx942",
               0x1f0);
}

TEST_CASE("transcendental functions are within an ulp of the exact value") {
  static const std::vector<u32> kArguments = {0x3f800000, 0x40000000, 0x3dcccccd, 0x40490fdb,
                                              0x41200000, 0x42c80000, 0x3f000001, 0x3eaaaaab,
                                              0x3f7fffff, 0x40a00000, 0x447a0000, 0x3a83126f};
  struct Function {
    const char *text;
    double (*exact)(double);
  };
  static const Function kCases[] = {
      {"v_exp_f32 v4, v1", [](double x) { return std::exp2(x); }},
      {"v_log_f32 v4, v1", [](double x) { return std::log2(x); }},
      {"v_rcp_f32 v4, v1", [](double x) { return 1 / x; }},
      {"v_rsq_f32 v4, v1", [](double x) { return 1 / std::sqrt(x); }},
      {"v_sqrt_f32 v4, v1", [](double x) { return std::sqrt(x); }},
      {"v_sin_f32 v4, v1", [](double x) { return std::sin(std::remainder(x, 1.0) * 2 * M_PI); }},
      {"v_cos_f32 v4, v1", [](double x) { return std::cos(std::remainder(x, 1.0) * 2 * M_PI); }},
  };
  for (const Function &c : kCases) {
    WaveRun w;
    w.v = {{1, edgeLanes(kArguments, 0)}};
    w.readV = {4};
    INFO(c.text);
    w.run(c.text);
    for (unsigned i = 0; i < 64; ++i) {
      double want = c.exact(f(w.v[1][i])), got = f(w.outV[4][i]);
      if (want > 0x1p128)
        want = INFINITY;
      if (want == got)
        continue;
      CHECK(std::fabs(got - want) <= std::fabs(want) * 0x1p-23 + 1e-7 * (std::fabs(want) < 1e-6));
    }
  }
}

TEST_CASE("division by scale, refinement and fixup is correctly rounded") {
  WaveRun w;
  w.v = {{1, edgeLanes(kFloatEdges, 0)}, {2, edgeLanes(kFloatEdges, 1)}};
  w.readV = {4};
  w.run("v_div_scale_f32 v10, s[20:21], v2, v2, v1\n"
        "v_div_scale_f32 v11, vcc, v1, v2, v1\n"
        "v_rcp_f32 v12, v10\n"
        "v_fma_f32 v13, -v10, v12, 1.0\n"
        "v_fma_f32 v12, v13, v12, v12\n"
        "v_mul_f32 v14, v11, v12\n"
        "v_fma_f32 v15, -v10, v14, v11\n"
        "v_fma_f32 v14, v15, v12, v14\n"
        "v_fma_f32 v15, -v10, v14, v11\n"
        "v_div_fmas_f32 v15, v15, v12, v14\n"
        "v_div_fixup_f32 v4, v15, v2, v1\n");
  for (unsigned i = 0; i < 64; ++i) {
    u32 want = bits(f(w.v[1][i]) / f(w.v[2][i]));
    INFO("lane " << i << ": " << f(w.v[1][i]) << " / " << f(w.v[2][i]) << " gave "
                 << f(w.outV[4][i]));
    CHECK(sameFloat(w.outV[4][i], want));
  }
}

TEST_CASE("half-precision arithmetic agrees with the host") {
  static const LaneCase kCases[] = {
      {"v_add_f16 v4, v1, v2", [](u32 a, u32 b, u32) { return h(hv(a) + hv(b)); }},
      {"v_sub_f16 v4, v1, v2", [](u32 a, u32 b, u32) { return h(hv(a) - hv(b)); }},
      {"v_mul_f16 v4, v1, v2", [](u32 a, u32 b, u32) { return h(hv(a) * hv(b)); }},
      {"v_mul_f16 v4, v1, 0.5", [](u32 a, u32, u32) { return h(hv(a) * 0.5); }},
      {"v_fma_f16 v4, v1, v2, v3",
       [](u32 a, u32 b, u32 c) {
         return (kPoison & 0xffff0000) | h(std::fma(hv(a), hv(b), hv(c)));
       }},
      {"v_fma_f16 v4, -v1, |v2|, v3",
       [](u32 a, u32 b, u32 c) {
         return (kPoison & 0xffff0000) | h(std::fma(-hv(a), std::fabs(hv(b)), hv(c)));
       }},
      {"v_floor_f16 v4, v1", [](u32 a, u32, u32) { return h(std::floor(hv(a))); }},
      {"v_rndne_f16 v4, v1", [](u32 a, u32, u32) { return h(std::nearbyint(hv(a))); }},
      {"v_sqrt_f16 v4, v1", [](u32 a, u32, u32) { return h(std::sqrt(hv(a))); }},
      {"v_rcp_f16 v4, v1", [](u32 a, u32, u32) { return h(1 / hv(a)); }},
      {"v_cvt_u16_f16 v4, v1", [](u32 a, u32, u32) { return saturate(hv(a), 0, 65535) & 0xffff; }},
      {"v_cvt_i16_f16 v4, v1",
       [](u32 a, u32, u32) { return saturate(hv(a), -32768, 32767) & 0xffff; }},
      {"v_cvt_f16_u16 v4, v1", [](u32 a, u32, u32) { return h(a & 0xffff); }},
      {"v_cvt_f16_i16 v4, v1", [](u32 a, u32, u32) { return h(int16_t(a)); }},
      {"v_max_f16 v4, v1, v2",
       [](u32 a, u32 b, u32) {
         return std::isnan(hv(a))                  ? b
                : std::isnan(hv(b))                ? a
                : less(float(hv(a)), float(hv(b))) ? b
                                                   : a;
       }},
      {"v_pk_add_f16 v4, v1, v2 op_sel_hi:[0,0] neg_hi:[1,0]",
       [](u32 a, u32 b, u32) { return h(hv(a) + hv(b)) | h(hv(b) - hv(a)) << 16; }},
      {"v_pk_mul_f16 v4, v1, v2 op_sel_hi:[0,0]",
       [](u32 a, u32 b, u32) { return h(hv(a) * hv(b)) * 0x10001; }},
      {"v_pack_b32_f16 v4, v1, v2", [](u32 a, u32 b, u32) { return a | b << 16; }},
      {"v_dot2_f32_f16 v4, v1, v2, v3",
       [](u32 a, u32 b, u32 c) {
         double p = hv(a) * hv(b);
         return round32(p + f(c)); // the upper halves are 0
       }},
      {"v_fma_mix_f32 v4, v1, v2, v3 op_sel_hi:[1,1,0]",
       [](u32 a, u32 b, u32 c) { return round32(hv(a) * hv(b) + f(c)); }},
  };
  auto same = [](u32 a, u32 b) {
    return sameFloat(a, b) || (sameHalf(a & 0xffff, b & 0xffff) && sameHalf(a >> 16, b >> 16));
  };
  for (const LaneCase &c : kCases)
    checkLanes(c.text, c.ref, kHalfEdges, same);
}

TEST_CASE("double-precision arithmetic agrees with the host") {
  static const std::vector<u64> kEdges = {0,
                                          0x8000000000000000,
                                          0x3ff0000000000000,
                                          0xbff0000000000000,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          0x7ff8000000000001,
                                          0x0000000000000001,
                                          0x800fffffffffffff,
                                          0x0010000000000000,
                                          0x7fefffffffffffff,
                                          0x3fe0000000000000,
                                          0x400921fb54442d18,
                                          0x4330000000000001,
                                          0xc1e0000000200000,
                                          0x3cb0000000000000};
  static const LaneCase64 kCases[] = {
      {"v_add_f64 v[8:9], v[2:3], v[4:5]",
       [](u64 a, u64 b, u64) { return bits(double(__float128(asF64(a)) + asF64(b))); }},
      {"v_mul_f64 v[8:9], v[2:3], v[4:5]",
       [](u64 a, u64 b, u64) { return bits(double(__float128(asF64(a)) * asF64(b))); }},
      {"v_add_f64 v[8:9], |v[2:3]|, -v[4:5]",
       [](u64 a, u64 b, u64) { return bits(std::fabs(asF64(a)) - asF64(b)); }},
      {"v_add_f64 v[8:9], v[2:3], 0.15915494309189532",
       [](u64 a, u64, u64) { return bits(asF64(a) + asF64(0x3fc45f306dc9c882)); }},
      {"v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]",
       [](u64 a, u64 b, u64 c) { return bits(std::fma(asF64(a), asF64(b), asF64(c))); }},
      {"v_min_f64 v[8:9], v[2:3], v[4:5]",
       [](u64 a, u64 b, u64) {
         double x = asF64(a), y = asF64(b);
         return std::isnan(x)                          ? b
                : std::isnan(y)                        ? a
                : x < y || (x == y && std::signbit(x)) ? a
                                                       : b;
       }},
      {"v_floor_f64 v[8:9], v[2:3]", [](u64 a, u64, u64) { return bits(std::floor(asF64(a))); }},
      {"v_rndne_f64 v[8:9], v[2:3]",
       [](u64 a, u64, u64) { return bits(std::nearbyint(asF64(a))); }},
      {"v_sqrt_f64 v[8:9], v[2:3]", [](u64 a, u64, u64) { return bits(std::sqrt(asF64(a))); }},
      {"v_cvt_f64_f32 v[8:9], v3",
       [](u64 a, u64, u64) { return bits(double(asF32(u32(a >> 32)))); }},
      {"v_cvt_f64_i32 v[8:9], v3", [](u64 a, u64, u64) { return bits(double(i32(a >> 32))); }},
      {"v_ldexp_f64 v[8:9], v[2:3], -7",
       [](u64 a, u64, u64) { return bits(std::ldexp(asF64(a), -7)); }},
  };
  for (const LaneCase64 &c : kCases)
    checkLanes64(c.text, c.ref, kEdges, true);
}

TEST_CASE("fp8 conversions of both formats agree with the tables") {
  // FNUZ on gfx942: 1.0 is 0x40 in E4M3 (bias 8) and in E5M2 (bias 16); OCP on gfx950: 0x38 and
  // 0x3c.
  struct Format {
    const char *cpu;
    u32 fp8One, bf8One, fp8Overflow;
  };
  for (const Format &t : {Format{"gfx942", 0x40, 0x40, 0x80}, Format{"gfx950", 0x38, 0x3c, 0x7f}}) {
    WaveRun w(t.cpu);
    w.v[1].fill(bits(1.0f));
    w.v[2].fill(bits(1000.0f));
    w.v[3].fill(bits(-1.5f));
    for (unsigned r : {4u, 5u, 6u})
      w.v[r].fill(0xaabbccdd);
    w.readV = {4, 5, 6, 8, 9};
    INFO(t.cpu);
    w.run("v_cvt_pk_fp8_f32 v4, v1, v2\nv_cvt_pk_bf8_f32 v5, v1, v1 op_sel:[0,0,1]\n"
          "v_cvt_pk_fp8_f32 v6, v3, v1\nv_cvt_pk_f32_fp8 v[8:9], v6\n");
    CHECK(w.outV[4][0] == (0xaabb0000 | t.fp8Overflow << 8 | t.fp8One));
    CHECK(w.outV[5][0] == (t.bf8One << 24 | t.bf8One << 16 | 0xccdd));
    CHECK(f(w.outV[8][0]) == -1.5f);
    CHECK(f(w.outV[9][0]) == 1.0f);
  }
}

TEST_CASE("rounding and denormal modes come from MODE") {
  WaveRun w;
  w.v[1].fill(0x3f800000); // 1
  w.v[2].fill(0x33000000); // 2^-25
  w.v[3].fill(0x00400000); // a denormal
  w.readV = {4, 5};
  w.mode = 0xf1; // towards +inf
  w.run("v_add_f32 v4, v1, v2\nv_mul_f32 v5, v3, v1");
  CHECK(w.outV[4][0] == 0x3f800001);
  CHECK(w.outV[5][0] == 0x00400000);
  w.mode = 0xc0; // f32 denormals flushed
  w.run("v_add_f32 v4, v1, v2\nv_mul_f32 v5, v3, v1");
  CHECK(w.outV[4][0] == 0x3f800000);
  CHECK(w.outV[5][0] == 0);
  w.mode = 0xf0;
  w.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\nv_add_f32 v4, -v1, -v2\nv_sub_f32 v5, v1, "
        "v2");
  CHECK(w.outV[4][0] == 0xbf800000);
  CHECK(w.outV[5][0] == 0x3f7fffff);
}

TEST_CASE("gfx950: block-scaled conversions agree with the tables") {
  WaveRun w("gfx950");
  w.v[1].fill(bits(6.0f));
  w.v[2].fill(bits(-1.5f));
  w.v[3].fill(bits(2.0f)); // the scale
  for (unsigned r : {4u, 5u})
    w.v[r].fill(0xaabbccdd);
  for (unsigned r = 16; r < 22; ++r)
    w.v[r].fill(0);               // 32 codes of 6 bits, all 0, but for two
  w.v[16].fill(0x08 | 0x27 << 6); // E2M3: 1.0, -0.875
  w.readV = {4, 5, 6, 8, 9, 10, 24, 25, 26};
  w.run("v_cvt_scalef32_pk_fp4_f32 v4, v1, v2, v3 op_sel:[0,0,0,1]\n"
        "v_cvt_scalef32_pk_fp8_f32 v5, v1, v2, v3\n"
        "v_cvt_scalef32_f32_fp8 v6, v5, v3\n"
        "v_cvt_scalef32_pk_f32_fp8 v[8:9], v5, v3\n"
        "v_cvt_scalef32_pk_f16_fp8 v10, v5, v3\n"
        "v_cvt_scalef32_pk32_f32_fp6 v[64:95], v[16:21], v3\n"
        "v_mov_b32 v24, v64\nv_mov_b32 v25, v65\nv_mov_b32 v26, v66\n");
  // 3.0 is 5 in E2M1; -0.75 lies between -0.5 and -1.0, and goes to the even code, 0xa.
  CHECK(w.outV[4][0] == 0xaaa5ccdd);
  // 3.0 is 0x44 in E4M3, -0.75 is 0xb4.
  CHECK(w.outV[5][0] == 0xaabbb444);
  CHECK(f(w.outV[6][0]) == 6.0f);
  CHECK(f(w.outV[8][0]) == 6.0f);
  CHECK(f(w.outV[9][0]) == -1.5f);
  CHECK(w.outV[10][0] == (0x4600u | 0xbe00u << 16));
  CHECK(f(w.outV[24][0]) == 2.0f);
  CHECK(f(w.outV[25][0]) == -1.75f);
  CHECK(f(w.outV[26][0]) == 0.0f);
}
