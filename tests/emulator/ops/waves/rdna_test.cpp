// gfx11 and gfx12: waves of 32 lanes, dual instructions, DPP8, split waits, 16-bit halves, memory
// encodings.
#include "operands.h"

using namespace flyemu;
using namespace flyemu::test;
using u32 = uint32_t;

namespace {
const char *const kTargets[] = {"gfx1100", "gfx1201"};
float f(u32 x) { return asF32(x); }
} // namespace

TEST_CASE("RDNA: vector arithmetic runs in waves of 32") {
  static const LaneCase kCases[] = {
      {"v_add_nc_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return a + b; }},
      {"v_mul_lo_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return a * b; }},
      {"v_lshl_add_u32 v4, v1, 3, v2", [](u32 a, u32 b, u32) { return (a << 3) + b; }},
      {"v_xor3_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }},
      {"v_add3_u32 v4, v1, 0x12345678, v3", [](u32 a, u32, u32 c) { return a + 0x12345678 + c; }},
      {"v_cndmask_b32 v4, v1, v2, vcc_lo", [](u32 a, u32, u32) { return a; }},
      {"v_add_f32 v4, v1, -v2",
       [](u32 a, u32 b, u32) { return bits(static_cast<float>(double(f(a)) - f(b))); }},
      {"v_fma_f32 v4, v1, v2, 1.0",
       [](u32 a, u32 b, u32) { return bits(static_cast<float>(__float128(f(a)) * f(b) + 1)); }},
      {"v_clz_i32_u32 v4, v1", [](u32 a, u32, u32) { return a ? u32(__builtin_clz(a)) : ~0u; }},
      {"v_cvt_f32_u32 v4, v1", [](u32 a, u32, u32) { return bits(float(a)); }},
  };
  for (const char *cpu : kTargets)
    for (const LaneCase &c : kCases) {
      INFO(cpu);
      checkLanes(c.text, c.ref, kIntEdges, sameFloat, cpu);
    }
}

TEST_CASE("RDNA: 16-bit results leave the other half") {
  for (const char *cpu : kTargets) {
    WaveRun w(cpu);
    w.v[1].fill(0x44003c00);
    w.v[2].fill(0x40004200);
    w.v[4].fill(0xaaaabbbb);
    w.v[5].fill(0xaaaabbbb);
    w.readV = {4, 5};
    INFO(cpu);
    w.run("v_add_f16 v4, v1, v2\nv_fma_f16 v5, v1, v2, v1 op_sel:[1,0,0,1]");
    CHECK(w.outV[4][0] == 0xaaaa4400);
    CHECK(w.outV[5][0] == 0x4a80bbbb);
  }
}

TEST_CASE("RDNA: both halves of a dual instruction read before either writes") {
  for (const char *cpu : kTargets) {
    WaveRun w(cpu);
    w.v = {{1, iota(1)},
           {2, iota(100)},
           {3, iota(3)},
           {4, iota(0x3f800000, 0)},
           {5, iota(0x40000000, 0)}};
    w.readV = {1, 2, 4, 5};
    INFO(cpu);
    w.run("v_dual_mov_b32 v1, v2 :: v_dual_add_nc_u32 v2, v1, v3\n"
          "v_dual_mul_f32 v4, v5, v5 :: v_dual_fmac_f32 v5, v4, v4\n");
    for (unsigned i = 0; i < 32; ++i) {
      CHECK(w.outV[1][i] == 100 + i);
      CHECK(w.outV[2][i] == 4 + 2 * i);
      CHECK(f(w.outV[4][i]) == 4.0f);
      CHECK(f(w.outV[5][i]) == 3.0f);
    }
  }
}

TEST_CASE("RDNA: DPP8, DPP16 and permlane move lanes") {
  for (const char *cpu : kTargets) {
    WaveRun w(cpu);
    w.v = {{1, iota(100)}, {2, iota(5, 0)}, {3, iota(5, 0)}, {4, iota(5, 0)}, {5, iota(5, 0)}};
    w.s = {{8, 0x01234567}, {9, 0x89abcdef}};
    w.readV = {2, 3, 4, 5};
    INFO(cpu);
    w.run("v_mov_b32_dpp v2, v1 dpp8:[7,6,5,4,3,2,1,0]\n"
          "v_mov_b32_dpp v3, v1 row_xmask:3 row_mask:0xf bank_mask:0xf\n"
          "v_add_f32_e64_dpp v4, v1, v1 row_share:2 row_mask:0xf bank_mask:0xf\n"
          "v_permlanex16_b32 v5, v1, s8, s9\n");
    for (unsigned i = 0; i < 32; ++i) {
      CHECK(w.outV[2][i] == 100 + (i ^ 7));
      CHECK(w.outV[3][i] == 100 + (i ^ 3));
      unsigned nibble =
          i % 16 < 8 ? 0x01234567u >> 4 * (i % 8) & 15 : 0x89abcdefu >> 4 * (i % 8) & 15;
      CHECK(w.outV[5][i] == 100 + (i < 16 ? 16 : 0) + nibble);
    }
  }
}

TEST_CASE("RDNA: comparisons write EXEC and masks of 32 bits") {
  for (const char *cpu : kTargets) {
    WaveRun w(cpu);
    w.v = {{1, iota(0)}, {2, iota(0, 0)}};
    w.exec = 0xffffffff;
    w.readV = {2};
    w.readS = {20};
    INFO(cpu);
    w.run("v_cmp_gt_u32 s20, 7, v1\nv_cmpx_lt_u32 3, v1\nv_mov_b32 v2, 9\n");
    CHECK(w.outS[20] == 0x7f);
    CHECK(w.outExec == 0xfffffff0);
    for (unsigned i = 0; i < 32; ++i)
      CHECK(w.outV[2][i] == (i > 3 ? 9u : 0u));
  }
}

TEST_CASE("RDNA: all memory encodings read and write") {
  for (const std::string cpu : kTargets) {
    const bool gfx12 = cpu == "gfx1201";
    WaveRun w(cpu);
    w.memory.resize(1024);
    for (unsigned i = 0; i < 256; ++i)
      std::memcpy(&w.memory[4 * i], &i, 4);
    w.lds = 1024;
    w.v = {{1, iota(0, 4)}, {2, iota(1000)}};
    w.s = {{10, 1024}, {11, 0}};
    w.readV = {4, 5, 6, 7, 8, 12};
    w.readS = {20, 21};
    const std::string zero = gfx12 ? "null" : "0";
    INFO(cpu);
    w.run("s_mov_b64 s[8:9], s[2:3]\n"
          "global_load_b64 v[4:5], v1, s[2:3] offset:16\n"
          "v_mov_b32 v10, s2\nv_mov_b32 v11, s3\nglobal_load_b32 v12, v[10:11], off offset:40\n"
          "buffer_load_b32 v6, v1, s[8:11], " +
          zero +
          " offen offset:8\n"
          "ds_store_b32 v1, v2\nds_load_b32 v7, v1\n"
          "scratch_store_b32 v1, v2, off\nscratch_load_b32 v8, v1, off\n"
          "s_load_b64 s[20:21], s[2:3], 0x18\n");
    for (unsigned i = 0; i < 32; ++i) {
      CHECK(w.outV[4][i] == i + 4);
      CHECK(w.outV[5][i] == i + 5);
      CHECK(w.outV[6][i] == i + 2);
      CHECK(w.outV[7][i] == 1000 + i);
      CHECK(w.outV[8][i] == 1000 + i);
      CHECK(w.outV[12][i] == 10);
    }
    CHECK(w.outS[20] == 6);
    CHECK(w.outS[21] == 7);
  }
}

TEST_CASE("RDNA: a matrix product of ones is the inner length") {
  for (const std::string cpu : kTargets) {
    WaveRun w(cpu);
    for (unsigned r = 0; r < 16; ++r)
      w.v[r + 1].fill(0x3c003c00);
    for (unsigned r = 17; r < 25; ++r)
      w.v[r].fill(0);
    w.readV = {17, 24};
    INFO(cpu);
    w.run(cpu == "gfx1201" ? "v_wmma_f32_16x16x16_f16 v[17:24], v[1:4], v[5:8], v[17:24]"
                           : "v_wmma_f32_16x16x16_f16 v[17:24], v[1:8], v[9:16], v[17:24]");
    for (unsigned i = 0; i < 32; ++i) {
      CHECK(f(w.outV[17][i]) == 16.0f);
      CHECK(f(w.outV[24][i]) == 16.0f);
    }
  }
}

TEST_CASE("gfx1201: scalar floating point agrees with the host") {
  WaveRun w("gfx1201");
  w.s = {{8, bits(1.5f)}, {9, bits(-4.0f)}, {10, bits(2.0f)}, {11, 0x3c00}, {12, 0x4200}};
  w.readS = {20, 21, 22, 23, 24, 25};
  w.run("s_add_f32 s20, s8, s9\ns_fmac_f32 s10, s8, s9\ns_mov_b32 s21, s10\ns_fmamk_f32 s22, s8, "
        "0x40400000, s9\n"
        "s_add_f16 s23, s11, s12\ns_cvt_i32_f32 s24, s9\ns_max_num_f32 s25, s8, s9\ns_cmp_lt_f32 "
        "s9, s8\n");
  CHECK(f(w.outS[20]) == -2.5f);
  CHECK(f(w.outS[21]) == -4.0f);
  CHECK(f(w.outS[22]) == 0.5f);
  CHECK(w.outS[23] == 0x4400);
  CHECK(int32_t(w.outS[24]) == -4);
  CHECK(f(w.outS[25]) == 1.5f);
  CHECK(w.outScc == 1);
}
