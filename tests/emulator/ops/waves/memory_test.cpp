// LDS, buffers, scratch, atomics, permutes, DPP and SDWA.
#include "operands.h"

#include <numeric>

using namespace flyemu;
using namespace flyemu::test;

namespace {
uint32_t word(const std::vector<uint8_t> &m, unsigned at) {
  uint32_t x;
  std::memcpy(&x, &m[at], 4);
  return x;
}
} // namespace

TEST_CASE("LDS: wide, two-part and sub-dword accesses; out of range reads 0") {
  WaveRun w;
  w.lds = 2048;
  w.v = {{1, iota(0, 8)}, {2, iota(0x80000000)}, {3, iota(500)}};
  w.readV = {4, 5, 6, 7, 8, 9};
  w.run("ds_write_b64 v1, v[2:3]\nds_read2_b32 v[4:5], v1 offset0:0 offset1:1\n"
        "ds_read_u8 v6, v1 offset:3\nds_read_i8 v7, v1 offset:3\nv_add_u32 v10, 0x1000, "
        "v1\nds_read_b32 v8, v10\n"
        "v_mov_b32 v9, -1\nds_read_u16_d16_hi v9, v1 offset:4\n");
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(w.outV[4][i] == 0x80000000 + i);
    CHECK(w.outV[5][i] == 500 + i);
    CHECK(w.outV[6][i] == 0x80);
    CHECK(w.outV[7][i] == 0xffffff80);
    CHECK(w.outV[8][i] == 0);
    CHECK(w.outV[9][i] == ((500 + i) << 16 | 0xffff));
  }
}

TEST_CASE("LDS atomics return what was there, lane after lane") {
  WaveRun w;
  w.lds = 64;
  w.v[1].fill(0);
  w.v[2].fill(3);
  w.readV = {4, 5, 6};
  w.run(
      "v_mov_b32 v3, 10\nds_write_b32 v1, v3\nds_add_rtn_u32 v4, v1, v2\nds_read_b32 v5, v1\n"
      "v_mov_b32 v7, 202\nv_mov_b32 v8, 77\nds_cmpst_rtn_b32 v6, v1, v7, v8\nds_read_b32 v6, v1\n");
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(w.outV[4][i] == 10 + 3 * i);
    CHECK(w.outV[5][i] == 202);
    CHECK(w.outV[6][i] == 77);
  }
}

TEST_CASE("permutes go through LDS's crossbar") {
  WaveRun w;
  w.exec = kPartialExec;
  w.v = {{1, iota(0, 12)}, {2, iota(1000)}, {4, iota(7, 0)}, {5, iota(7, 0)}};
  w.readV = {4, 5, 6};
  w.run("ds_bpermute_b32 v4, v1, v2\nds_swizzle_b32 v5, v2 offset:0x041f\n"); // and 31, or 0, xor 1
  for (unsigned i = 0; i < 64; ++i) {
    unsigned from = i * 3 % 64, pair = i ^ 1;
    bool on = w.exec >> i & 1;
    CHECK(w.outV[4][i] == (!on ? 7 : w.exec >> from & 1 ? 1000 + from : 0));
    CHECK(w.outV[5][i] == (!on ? 7 : w.exec >> pair & 1 ? 1000 + pair : 0));
  }
}

TEST_CASE("DPP: row shifts, broadcasts, masks, bound control") {
  WaveRun w;
  w.v = {{1, iota(100)},  {2, iota(5, 0)}, {3, iota(5, 0)}, {4, iota(5, 0)},
         {5, iota(5, 0)}, {6, iota(5, 0)}, {7, iota(5, 0)}};
  w.readV = {2, 3, 4, 5, 6, 7};
  w.run("v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
        "v_mov_b32_dpp v3, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
        "v_mov_b32_dpp v4, v1 quad_perm:[3,2,1,0] row_mask:0x5 bank_mask:0xf\n"
        "v_mov_b32_dpp v5, v1 row_bcast:15 row_mask:0xa bank_mask:0xf\n"
        "v_mov_b32_dpp v6, v1 row_mirror row_mask:0xf bank_mask:0x3\n"
        "v_add_u32_dpp v7, v1, v1 row_ror:4 row_mask:0xf bank_mask:0xf\n");
  for (unsigned i = 0; i < 64; ++i) {
    unsigned n = i % 16, row = i / 16;
    CHECK(w.outV[2][i] == (n ? 99 + i : 5));
    CHECK(w.outV[3][i] == (n ? 99 + i : 0));
    CHECK(w.outV[4][i] == (row % 2 == 0 ? 100 + (i ^ 3) : 5));
    CHECK(w.outV[5][i] == (row % 2 ? 100 + row * 16 - 1 : 5));
    CHECK(w.outV[6][i] == (n < 8 ? 100 + row * 16 + 15 - n : 5));
    CHECK(w.outV[7][i] == 200 + i + row * 16 + (n + 12) % 16);
  }
}

TEST_CASE("SDWA selects and merges parts") {
  WaveRun w;
  w.v[1].fill(0x80f1a2b3);
  w.v[2].fill(0x01020304);
  for (unsigned r : {4u, 5u, 6u})
    w.v[r].fill(0xcafebabe);
  w.readV = {4, 5, 6};
  w.run("v_add_u32_sdwa v4, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 "
        "src1_sel:WORD_1\n"
        "v_add_u32_sdwa v5, sext(v1), v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 "
        "src1_sel:BYTE_0\n"
        "v_or_b32_sdwa v6, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 "
        "src1_sel:BYTE_3\n");
  CHECK(w.outV[4][0] == 0xf1 + 0x102);
  CHECK(w.outV[5][0] == 0xcafe84be);
  CHECK(w.outV[6][0] == 0xa2b30000);
}

TEST_CASE("raw and structured buffers check their range") {
  WaveRun w;
  w.memory.resize(1024);
  for (unsigned i = 0; i < 256; ++i)
    std::memcpy(&w.memory[4 * i], &i, 4);
  w.v = {{1, iota(0, 8)}, {2, iota(0, 1)}};
  w.s = {{10, 256}, {11, 0x00020000}};
  w.readV = {4, 5, 6};
  // 256 bytes raw: lanes from 32 on are out of range; two dwords are checked one by one.
  w.run("s_mov_b64 s[8:9], s[2:3]\nbuffer_load_dwordx2 v[4:5], v1, s[8:11], 0 offen offset:4\n"
        "s_or_b32 s9, s9, 0x100000\ns_mov_b32 s10, 20\nbuffer_load_dword v6, v2, s[8:11], 0 idxen "
        "offset:4\n"
        "s_mov_b64 s[8:9], s[2:3]\ns_mov_b32 s10, 256\nbuffer_store_dword v1, v1, s[8:11], 0 offen "
        "offset:512\n");
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(w.outV[4][i] == (i < 32 ? 2 * i + 1 : 0));
    CHECK(w.outV[5][i] == (i < 31 ? 2 * i + 2 : 0));
    CHECK(w.outV[6][i] == (i < 20 ? 4 * i + 1 : 0));
  }
  CHECK(word(w.memory, 512) == 128);
}

TEST_CASE("scratch is private to a lane, and the flat aperture reaches it") {
  WaveRun w;
  w.v = {{1, iota(1000)}, {2, iota(0, 0)}};
  w.readV = {4, 5};
  w.run("v_mov_b32 v10, 16\nscratch_store_dword v10, v1, off offset:4\nscratch_load_dword v4, v10, "
        "off offset:4\n"
        "s_mov_b64 s[20:21], src_private_base\nv_mov_b32 v11, s21\nv_mov_b32 v10, "
        "20\nflat_load_dword v5, v[10:11]\n");
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(w.outV[4][i] == 1000 + i);
    CHECK(w.outV[5][i] == 1000 + i);
  }
  w.run("v_mov_b32 v10, 256\nscratch_load_dword v4, v10, off", true);
  CHECK(!w.result.ok);
  CHECK(w.result.fault.message.find("scratch") != std::string::npos);
}

TEST_CASE("global atomics give what was there before") {
  WaveRun w;
  w.memory.assign(256, 0);
  w.v[1].fill(0);
  w.v = {{1, w.v[1]}, {2, iota(1)}, {3, iota(0, 0)}};
  w.readV = {4, 6};
  w.run("global_atomic_add v4, v1, v2, s[2:3] sc0\nglobal_atomic_umax v1, v2, s[2:3] offset:8\n"
        "v_cvt_f32_u32 v5, v2\nglobal_atomic_add_f32 v1, v5, s[2:3] offset:16\n"
        "v_mov_b32 v6, 5\nglobal_atomic_inc v6, v1, v6, s[2:3] offset:24 sc0\n");
  CHECK(word(w.memory, 0) == 64 * 65 / 2);
  CHECK(word(w.memory, 8) == 64);
  CHECK(asF32(word(w.memory, 16)) == 2080.0f);
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(w.outV[4][i] == i * (i + 1) / 2);
    CHECK(w.outV[6][i] == i % 6);
  }
  w.v[1].fill(2);
  w.run("global_atomic_add v1, v2, s[2:3]", true);
  CHECK(w.result.fault.message.find("misaligned") != std::string::npos);
}

TEST_CASE("values move between lanes and scalars") {
  WaveRun w;
  w.v = {{1, iota(100)}, {3, iota(0)}, {4, iota(0)}};
  w.exec = 0xffffffffffffff00;
  w.readV = {3, 4};
  w.readS = {20, 21, 22};
  w.run("v_readfirstlane_b32 s20, v1\nv_readlane_b32 s21, v1, 6\ns_mov_b32 s23, 5\nv_writelane_b32 "
        "v3, s23, 2\n"
        "v_mbcnt_lo_u32_b32 v4, -1, 0\nv_mbcnt_hi_u32_b32 v4, -1, v4\ns_mov_b64 s[24:25], "
        "exec\ns_mov_b64 exec, 0\n"
        "v_readfirstlane_b32 s22, v1\ns_mov_b64 exec, s[24:25]\n");
  CHECK(w.outS[20] == 108);
  CHECK(w.outS[21] == 106);
  CHECK(w.outS[22] == 100);
  CHECK(w.outV[3][2] == 5);
  for (unsigned i = 8; i < 64; ++i)
    CHECK(w.outV[4][i] == i);
}
