// The harness itself, and one test of each kind: scalar, vector, compare, branch, masked lanes,
// memory, faults.
#include "wave_test.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

TEST_CASE("vector addition writes the lanes that EXEC has on") {
  WaveRun w;
  w.v = {{1, iota(100)}, {2, iota(5, 3)}, {3, iota(7, 0)}};
  w.exec = 0x00ff00ff12345678;
  w.readV = {3};
  w.run("v_add_u32 v3, v1, v2");
  for (unsigned i = 0; i < 64; ++i)
    CHECK(w.outV[3][i] == (w.exec >> i & 1 ? 105 + 4 * i : 7));
  CHECK(w.outExec == w.exec);
}

TEST_CASE("scalar arithmetic sets SCC") {
  WaveRun w;
  w.s = {{8, 0xffffffff}, {9, 2}};
  w.readS = {10, 11};
  w.run("s_add_u32 s10, s8, s9\ns_addc_u32 s11, 5, 0");
  CHECK(w.outS[10] == 1);
  CHECK(w.outS[11] == 6);
  CHECK(w.outScc == 0);
  w.run("s_sub_u32 s10, s9, s8");
  CHECK(w.outS[10] == 3);
  CHECK(w.outScc == 1);
}

TEST_CASE("a comparison saves EXEC and branches") {
  WaveRun w;
  w.v = {{1, iota(0)}, {2, iota(0, 0)}};
  w.readV = {2};
  w.readS = {8};
  w.run("v_cmp_gt_u32 vcc, 10, v1\n"
        "s_mov_b32 s8, 0\n"
        "s_and_saveexec_b64 s[10:11], vcc\n"
        "s_cbranch_execz skip\n"
        "v_mov_b32 v2, 42\n"
        "s_mov_b32 s8, 1\n"
        "skip:\n"
        "s_or_b64 exec, exec, s[10:11]\n");
  for (unsigned i = 0; i < 64; ++i)
    CHECK(w.outV[2][i] == (i < 10 ? 42u : 0u));
  CHECK(w.outVcc == 0x3ff);
  CHECK(w.outS[8] == 1);
  CHECK(w.outExec == ~uint64_t(0));
}

TEST_CASE("global memory is reached through lane addresses") {
  WaveRun w;
  w.memory.resize(1024);
  for (unsigned i = 0; i < 256; ++i)
    std::memcpy(&w.memory[4 * i], &i, 4);
  w.v = {{1, iota(0, 16)}};
  w.readV = {4, 5, 6, 7};
  w.run("global_load_dwordx4 v[4:7], v1, s[2:3]\n"
        "s_waitcnt vmcnt(0)\n"
        "v_add_u32 v4, 1000, v4\n"
        "global_store_dword v1, v4, s[2:3]\n");
  for (unsigned i = 0; i < 64; ++i) {
    CHECK(w.outV[4][i] == 4 * i + 1000);
    CHECK(w.outV[7][i] == 4 * i + 3);
    uint32_t x;
    std::memcpy(&x, &w.memory[16 * i], 4);
    CHECK(x == 4 * i + 1000);
  }
}

TEST_CASE("an unmapped address is a fault that names lane, address and instruction") {
  WaveRun w;
  w.memory.resize(256);
  w.v = {{1, iota(0, 4)}};
  w.v[1][37] = 1 << 20;
  w.run("global_load_dword v4, v1, s[2:3]", true);
  REQUIRE(!w.result.ok);
  CHECK(w.result.fault.lane == 37);
  CHECK(w.result.fault.address == reinterpret_cast<uint64_t>(w.memory.data()) + (1 << 20));
  CHECK(w.result.fault.instruction.find("global_load_dword v4, v1, s[2:3]") == 0);
  CHECK(w.result.fault.message.find("'tested'") != std::string::npos);
}

TEST_CASE("an endless loop ends at the instruction limit") {
  WaveRun w;
  w.run("again:\ns_branch again", true);
  REQUIRE(!w.result.ok);
  CHECK(w.result.fault.message.find("limit") != std::string::npos);
  CHECK(w.result.fault.instruction.find("s_branch") == 0);
}

TEST_CASE("an instruction that is not implemented stops the launch") {
  WaveRun w;
  w.run("s_rfe_b64 s[8:9]", true);
  REQUIRE(!w.result.ok);
  CHECK(w.result.fault.message.find("does not implement") != std::string::npos);
  CHECK(w.result.fault.instruction.find("s_rfe_b64 s[8:9]") == 0);
}
