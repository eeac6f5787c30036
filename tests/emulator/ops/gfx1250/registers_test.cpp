// Vector registers in banks, dual instructions of three dwords, operands of 64 bits in the code, and
// what a launch sets.
#include "wave_test.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>

using namespace flyemu;
using namespace flyemu::test;

namespace {
float f(uint32_t x) { return std::bit_cast<float>(x); }
Lanes all(float x) { return iota(std::bit_cast<uint32_t>(x), 0); }
} // namespace

TEST_CASE("gfx1250: s_set_vgpr_msb puts each operand into a bank of its own") {
  WaveRun w("gfx1250");
  w.v = {{1, iota(1)}, {2, iota(100)}, {3, iota(1000)}, {4, iota(0, 0)}};
  w.readV = {6, 7, 8, 9, 10};
  w.run("s_set_vgpr_msb 0x40\n" // the result in bank 1
        "v_add_nc_u32 v4, v1, v2\n"
        "s_set_vgpr_msb 0xc0\n" // in bank 3
        "v_mov_b32 v4, v3\n"
        "s_set_vgpr_msb 0x01\n" // the first source in bank 1
        "v_add_nc_u32 v6, v4, v4\n"
        "s_set_vgpr_msb 0x0c\n" // the second in bank 3
        "v_sub_nc_u32 v7, v1, v4\n"
        "s_set_vgpr_msb 0x3d\n" // bank 1, bank 3, bank 3
        "v_add3_u32 v8, v4, v4, v4\n"
        "s_set_vgpr_msb 0x00\n"
        "v_mov_b32 v9, v4\n"
        "s_set_vgpr_msb 0x10\n" // VOP2's addend after a constant is the third source
        "v_fmamk_f32 v10, v1, 0x3f800000, v4\n"
        "s_set_vgpr_msb 0x00\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[6][i] == 101 + 2 * i);
    CHECK(w.outV[7][i] == 1 + i - (1000 + i));
    CHECK(w.outV[8][i] == 101 + 2 * i + 2 * (1000 + i));
    CHECK(w.outV[9][i] == 0);
    CHECK(w.outV[10][i] == std::bit_cast<uint32_t>(f(1 + i) + f(101 + 2 * i)));
  }
}

TEST_CASE("gfx1250: branches stay in the banks, and loads and stores have them too") {
  WaveRun w("gfx1250");
  w.memory.resize(4096);
  for (unsigned i = 0; i < 1024; ++i)
    std::memcpy(w.memory.data() + 4 * i, &i, 4);
  w.v = {{1, iota(0, 4)}, {2, iota(0, 0)}, {5, iota(7, 0)}};
  w.readV = {5, 6};
  w.run("s_mov_b32 s8, 3\n"
        "s_set_vgpr_msb 0xc0\n"
        "global_load_b32 v5, v1, s[2:3]\n"
        "s_wait_loadcnt 0\n"
        "s_set_vgpr_msb 0xcc\n" // the second source and the result
        "again:\n"
        "v_add_nc_u32 v5, 1, v5\n"
        "s_sub_co_i32 s8, s8, 1\n"
        "s_cmp_lg_u32 s8, 0\n"
        "s_cbranch_scc1 again\n"
        "global_store_b32 v1, v5, s[2:3]\n" // its data is the second source
        "s_wait_storecnt 0\n"
        "s_set_vgpr_msb 0\n"
        "global_load_b32 v6, v1, s[2:3]\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[5][i] == 7);
    CHECK(w.outV[6][i] == i + 3);
  }
}

TEST_CASE("gfx1250: registers of one operand go on in the next bank") {
  WaveRun w("gfx1250");
  w.memory.resize(4096);
  for (unsigned i = 0; i < 1024; ++i)
    std::memcpy(w.memory.data() + 4 * i, &i, 4);
  w.v = {{1, iota(0, 16)}};
  w.readV = {5, 6, 7, 8, 9, 10};
  // global_load_b128 v[254:257], v1, s[2:3], which LLVM emits and its assembler does not take
  w.run(".long 0xee05c002, 0x000000fe, 0x00000001\n"
        "s_wait_loadcnt 0\n"
        "v_mov_b32 v5, v254\n"
        "v_mov_b32 v6, v255\n"
        "s_set_vgpr_msb 1\n"
        "v_mov_b32 v7, v0\n"
        "v_mov_b32 v8, v1\n"
        "s_set_vgpr_msb 0\n");
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned k = 0; k < 4; ++k)
      CHECK(w.outV[5 + k][i] == 4 * i + k);
}

TEST_CASE("gfx1250: a constant for a field of MODE has the banks in its bits 12 to 19") {
  WaveRun w("gfx1250");
  w.v = {{2, iota(100)}, {4, iota(7)}};
  w.readV = {4, 5, 6};
  // The order is that of MODE: result, src0, src1, src2.
  w.run("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 0x1001\n" // the result in bank 1
        "v_mov_b32 v4, v2\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 0x4001\n" // the source in bank 1
        "v_mov_b32 v5, v4\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1\n"
        "v_mov_b32 v6, v4\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[4][i] == 7 + i);
    CHECK(w.outV[5][i] == 100 + i);
    CHECK(w.outV[6][i] == 7 + i);
  }
  // Another register's constant has none.
  WaveRun other("gfx1250");
  other.v = {{2, iota(100)}};
  other.readV = {4};
  other.run("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 0x1002\n"
            "v_mov_b32 v4, v2\n");
  CHECK(other.outV[4][3] == 103);
  for (const char *code : {"s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 20), 0xf0\n",
                           "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 12, 8), s8\n",
                           "s_getreg_b32 s9, hwreg(HW_REG_WAVE_MODE, 12, 8)\n"}) {
    WaveRun wrong("gfx1250");
    wrong.s = {{8, 0}};
    wrong.run(code, true);
    CHECK_THAT(wrong.result.fault.message, Catch::Contains("banks of vector registers"));
  }
}

TEST_CASE("gfx1250: scales of a matrix instruction are in no bank") {
  WaveRun w("gfx1250");
  std::string text = "s_set_vgpr_msb 0x40\n";
  for (unsigned r = 8; r < 16; ++r) { // ones of 4 bits, of A in bank 1
    w.v[r + 8] = w.v[r + 16] = iota(0x22222222, 0);
    text += "v_mov_b32 v" + std::to_string(r) + ", v" + std::to_string(r + 8) + "\n";
  }
  w.v[32] = iota(0x80808080, 0); // 2
  w.v[33] = iota(0x7f7f7f7f, 0);
  w.readV = {0, 7};
  w.run(text + "s_set_vgpr_msb 0x01\n"
               "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:15], v[16:23], 0, v32, v33 "
               "matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4\n"
               "s_set_vgpr_msb 0\n");
  for (unsigned r : {0u, 7u})
    for (unsigned lane = 0; lane < 32; ++lane)
      CHECK(f(w.outV[r][lane]) == 256);
}

TEST_CASE("gfx1250: the halves of a dual instruction read before either writes, bank by bank") {
  WaveRun w("gfx1250");
  w.v = {{1, iota(1)}, {2, iota(100)}, {3, iota(3)}};
  w.readV = {1, 2, 4, 5, 6, 7};
  w.run("s_set_vgpr_msb 0x40\n"
        "v_dual_mov_b32 v1, v2 :: v_dual_add_nc_u32 v2, v1, v3\n" // reads v1 of bank 0
        "s_set_vgpr_msb 0x01\n"
        "v_mov_b32 v4, v1\n"
        "v_mov_b32 v5, v2\n"
        "s_set_vgpr_msb 0\n"
        "v_dual_mov_b32 v6, v2 :: v_dual_add_nc_u32 v7, v1, v3\n"
        "v_dual_mov_b32 v1, v2 :: v_dual_add_nc_u32 v2, v1, v3\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[4][i] == 100 + i);
    CHECK(w.outV[5][i] == 4 + 2 * i);
    CHECK(w.outV[1][i] == 100 + i);
    CHECK(w.outV[2][i] == 4 + 2 * i);
  }
}

TEST_CASE("gfx1250: dual instructions of three dwords have three sources each, with signs") {
  WaveRun w("gfx1250");
  w.v = {{1, all(2)}, {2, all(3)}, {4, all(5)}, {5, all(7)}, {7, all(11)}, {8, all(13)}};
  w.s = {{9, 0x0000ff0f}};
  w.readV = {10, 13, 14, 15, 1, 2};
  w.run("v_dual_fma_f32 v10, -v1, v2, v4 :: v_dual_fma_f32 v13, v2, -v5, -v7\n"
        "v_dual_cndmask_b32 v14, v1, v2, s9 :: v_dual_mov_b32 v15, v8\n"
        "v_dual_fmac_f32 v1, v4, v5 :: v_dual_fma_f32 v2, v5, v8, v1\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(f(w.outV[10][i]) == -2.0f * 3 + 5);
    CHECK(f(w.outV[13][i]) == 3.0f * -7 - 11);
    CHECK(f(w.outV[14][i]) == (0xff0fu >> i & 1 ? 3.0f : 2.0f));
    CHECK(f(w.outV[15][i]) == 13);
    CHECK(f(w.outV[1][i]) == 2 + 5 * 7);
    CHECK(f(w.outV[2][i]) == 7 * 13 + 2); // the old v1
  }
}

TEST_CASE("gfx1250: half of a dual instruction is any function of two bits") {
  WaveRun w("gfx1250");
  w.v = {{1, iota(0x12345678, 0x01010101)}, {2, iota(0xf0f0cc33, 0x00110011)}};
  w.readV = {5, 7, 9, 11};
  w.run("v_dual_mov_b32 v4, v1 :: v_dual_bitop2_b32 v5, v2, v1 bitop3:0x40\n"
        "v_dual_mov_b32 v6, v1 :: v_dual_bitop2_b32 v7, v2, v1 bitop3:0x54\n"
        "v_dual_mov_b32 v8, v1 :: v_dual_bitop2_b32 v9, v2, v1 bitop3:0x14\n"
        "v_dual_mov_b32 v10, v1 :: v_dual_bitop2_b32 v11, v2, v1 bitop3:0x10\n");
  for (unsigned i = 0; i < 32; ++i) {
    const uint32_t a = w.v[2][i], b = w.v[1][i];
    CHECK(w.outV[5][i] == (a & b));
    CHECK(w.outV[7][i] == (a | b));
    CHECK(w.outV[9][i] == (a ^ b));
    CHECK(w.outV[11][i] == (a & ~b));
  }
}

TEST_CASE("gfx1250: the first half of a dual instruction may have 64 bits") {
  const auto low = [](double x) { return static_cast<uint32_t>(std::bit_cast<uint64_t>(x)); };
  const auto high = [](double x) {
    return static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 32);
  };
  const double a = 1.0 + 0x1p-40, b = 3.0 + 0x1p-45, c = -7.5;
  WaveRun w("gfx1250");
  for (const auto &[at, x] : {std::pair{2u, a}, {4u, b}, {6u, c}}) {
    w.v[at] = iota(low(x), 0);
    w.v[at + 1] = iota(high(x), 0);
  }
  w.v[1] = iota(9);
  w.readV = {2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 26, 27};
  w.run("v_dual_add_f64 v[8:9], v[2:3], -v[4:5] :: v_dual_mov_b32 v20, v1\n"
        "v_dual_mul_f64 v[10:11], v[2:3], v[4:5] :: v_dual_mov_b32 v21, v1\n"
        "v_dual_fma_f64 v[12:13], v[2:3], v[4:5], v[6:7] :: v_dual_mov_b32 v22, v1\n"
        "v_dual_max_num_f64 v[14:15], v[2:3], v[4:5] :: v_dual_mov_b32 v23, v1\n"
        "v_dual_min_num_f64 v[16:17], v[6:7], v[4:5] :: v_dual_mov_b32 v24, v1\n"
        // The second half reads the first one's register before it is written, either word of it.
        "v_dual_add_f64 v[2:3], v[4:5], v[6:7] :: v_dual_mov_b32 v25, v3\n"
        "v_dual_add_f64 v[2:3], v[4:5], v[4:5] :: v_dual_mov_b32 v26, v2\n");
  const std::pair<unsigned, double> expected[] = {{8, a - b}, {10, a * b}, {12, std::fma(a, b, c)},
                                                  {14, b},    {16, c},     {2, b + b}};
  for (unsigned i = 0; i < 32; ++i) {
    for (const auto &[at, x] : expected) {
      CHECK(w.outV[at][i] == low(x));
      CHECK(w.outV[at + 1][i] == high(x));
    }
    for (unsigned at = 20; at < 25; ++at)
      CHECK(w.outV[at][i] == 9 + i);
    CHECK(w.outV[25][i] == high(a));
    CHECK(w.outV[26][i] == low(b + c));
  }
}

TEST_CASE("gfx1250: operands of 64 bits stand in the code") {
  WaveRun w("gfx1250");
  w.v = {{2, iota(5)}, {3, iota(1, 0)}};
  const uint64_t two = std::bit_cast<uint64_t>(2.0);
  w.v[6] = iota(static_cast<uint32_t>(two), 0);
  w.v[7] = iota(static_cast<uint32_t>(two >> 32), 0);
  w.readV = {4, 5, 8, 9};
  w.readS = {8, 9, 10, 11};
  w.run("s_mov_b64 s[8:9], 0x123456789abcdef0\n"
        "s_add_nc_u64 s[10:11], s[8:9], 0x1111111100000001\n"
        "v_add_nc_u64 v[4:5], 0x1000000020000000, v[2:3]\n"
        "v_fmaak_f64 v[8:9], v[6:7], v[6:7], 0x3ff8000000000001\n");
  CHECK(w.outS[8] == 0x9abcdef0);
  CHECK(w.outS[9] == 0x12345678);
  CHECK(w.outS[10] == 0x9abcdef1);
  CHECK(w.outS[11] == 0x23456789);
  const uint64_t sum = std::bit_cast<uint64_t>(4 + std::bit_cast<double>(0x3ff8000000000001u));
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[4][i] == 0x20000005 + i);
    CHECK(w.outV[5][i] == 0x10000001);
    CHECK((w.outV[8][i] | uint64_t(w.outV[9][i]) << 32) == sum);
  }
}

TEST_CASE("gfx1250: a literal whose extension is not known is refused") {
  WaveRun w("gfx1250");
  w.v = {{2, iota(5)}, {3, iota(1, 0)}};
  w.run("v_max_i64 v[4:5], 0x7fffff00, v[2:3]\n");
  w.run("v_max_i64 v[4:5], -256, v[2:3]\n", true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("whether its sign is extended is not"));
}

TEST_CASE("gfx1250: a workgroup that was not launched in a cluster is told so") {
  WaveRun w("gfx1250");
  w.readS = {8, 9, 10};
  w.run("s_mov_b32 s8, ttmp6\n"
        "s_getreg_b32 s9, hwreg(HW_REG_IB_STS2, 6, 4)\n"
        "s_getreg_b32 s10, hwreg(HW_REG_IB_STS2, 21, 4)\n");
  CHECK(w.outS[8] == 0);
  CHECK(w.outS[9] == 0);
  CHECK(w.outS[10] == 0);
  w.run("s_getreg_b32 s9, hwreg(HW_REG_IB_STS2, 0, 4)\n", true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("only its fields of clusters are known"));
  w.run("s_barrier_signal -3\n", true);
  CHECK_THAT(w.result.fault.message,
             Catch::Contains("the barrier of a cluster, in a launch without clusters"));
}

namespace {
/// What the wait check says of an instruction after `load`, which is in bank 1.
std::string findingsAfter(const std::string &load, const std::string &use) {
  WaveRun w("gfx1250");
  w.lds = 1024;
  w.v = {{0, iota(0, 4)}, {1, iota(0, 4)}, {2, iota(7)}, {3, iota(9)}};
  w.checks = kCheckWait;
  w.landLate = true;
  w.run("s_set_vgpr_msb 0x40\n" + load + "\ns_set_vgpr_msb 0x00\n" + use +
        "s_set_vgpr_msb 0x00\n"
        "s_wait_dscnt 0\n");
  std::string all;
  for (const Finding &f : w.result.findings)
    all += f.message + "\n";
  return all;
}
} // namespace

// The fields for data of a load name v0, in whichever bank the second and third operands are.
TEST_CASE("gfx1250: the wait check takes no data of a load for what it reads") {
  const auto found = [](const std::string &use) {
    return findingsAfter("ds_load_b32 v0, v1", use); // v256
  };
  CHECK(found("s_set_vgpr_msb 0x04\nds_load_b32 v4, v0\n") == "");
  CHECK(found("s_set_vgpr_msb 0x10\nds_load_b32 v4, v0\n") == "");
  const std::string read = "v256 is read before the load into it has landed";
  CHECK_THAT(found("s_set_vgpr_msb 0x01\nds_load_b32 v4, v0\n"), Catch::Contains(read));
  CHECK_THAT(found("s_set_vgpr_msb 0x04\nds_store_b32 v1, v0\n"), Catch::Contains(read));
  // Data alone, and an atomic operation whose data is where its result goes.
  CHECK_THAT(found("s_set_vgpr_msb 0x04\ns_mov_b32 m0, 0\nds_store_addtid_b32 v0\n"),
             Catch::Contains(read));
  CHECK_THAT(found("s_set_vgpr_msb 0x01\n"
                   "buffer_atomic_add_u32 v4, v0, s[4:7], null offen th:TH_ATOMIC_RETURN\n"
                   "s_wait_loadcnt 0\n"),
             Catch::Contains(read));
}

// Of sources with one number in several banks each has its own size.
TEST_CASE("gfx1250: the wait check knows the sizes of sources in several banks") {
  const auto found = [](const std::string &use) {
    return findingsAfter("ds_load_b32 v9, v1", use); // v265
  };
  const auto read = Catch::Contains("v265 is read before the load into it has landed");
  const std::string wmma = "v_wmma_f32_16x16x4_f32 v[16:23], v[4:5], v[6:7], v[4:11]\n",
                    shift = "v_lshlrev_b64 v[16:17], v8, v[8:9]\n";
  CHECK(found("s_set_vgpr_msb 0x01\n" + wmma) == "");      // v[260:261] and v[4:11]
  CHECK_THAT(found("s_set_vgpr_msb 0x10\n" + wmma), read); // v[4:5] and v[260:267]
  CHECK(found("s_set_vgpr_msb 0x01\n" + shift) == "");
  CHECK_THAT(found("s_set_vgpr_msb 0x04\n" + shift), read);
}

TEST_CASE("gfx1250: the wait check knows the banks of both halves of a dual instruction") {
  const auto found = [](const std::string &use) {
    return findingsAfter("ds_load_b32 v5, v1", use); // v261
  };
  CHECK(found("v_dual_mov_b32 v4, v2 :: v_dual_mov_b32 v5, v3\n") == ""); // v5, not v261
  CHECK_THAT(found("s_set_vgpr_msb 0x40\nv_dual_mov_b32 v4, v2 :: v_dual_mov_b32 v5, v3\n"),
             Catch::Contains("v261 is overwritten before the load into it has landed"));
  CHECK_THAT(found("s_set_vgpr_msb 0x01\nv_dual_mov_b32 v4, v2 :: v_dual_mov_b32 v7, v5\n"),
             Catch::Contains("v261 is read before the load into it has landed"));
  // The second half reads what the first one's register was.
  CHECK_THAT(found("s_set_vgpr_msb 0x41\nv_dual_mov_b32 v5, v2 :: v_dual_mov_b32 v6, v5\n"),
             Catch::Contains("v261 is read before the load into it has landed"));
}
