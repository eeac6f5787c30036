// How gfx1250 computes addresses: offsets that count elements, signed offsets, scratch by flat
// addresses, buffers with 45 bits of records.
#include "wave_test.h"

#include "emulator/ops/coverage.h"
#include "emulator/ops/refused.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

using namespace flyemu;
using namespace flyemu::test;

namespace {
/// Dwords 0, 1, 2, ...
std::vector<uint8_t> counting(unsigned dwords) {
  std::vector<uint8_t> bytes(4 * dwords);
  for (unsigned i = 0; i < dwords; ++i)
    std::memcpy(bytes.data() + 4 * i, &i, 4);
  return bytes;
}
} // namespace

TEST_CASE("gfx1250: offsets of lanes and waves count what is moved, if scale_offset says so") {
  WaveRun w("gfx1250");
  w.memory = counting(1024);
  w.v = {{1, iota(3)}, {2, iota(1, 0)}, {20, iota(0, 0)}};
  w.s = {{8, 5}};
  w.readV = {4, 6, 7, 10, 12};
  w.readS = {10, 12};
  w.run("global_load_b32 v4, v1, s[2:3] scale_offset\n"
        "global_load_b64 v[6:7], v1, s[2:3] offset:16 scale_offset\n"
        "global_load_u16 v10, v1, s[2:3] scale_offset\n"
        "s_load_b32 s10, s[2:3], s8 offset:0x4 scale_offset\n"
        "s_load_b64 s[12:13], s[2:3], s8 offset:0x0 scale_offset\n"
        "s_wait_loadcnt 0\n"
        "v_mov_b32 v20, 0x40\n"
        "global_atomic_add_u32 v12, v20, v2, s[2:3] th:TH_ATOMIC_RETURN scale_offset\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[4][i] == 3 + i);
    CHECK(w.outV[6][i] == 4 + 2 * (3 + i));
    CHECK(w.outV[7][i] == 5 + 2 * (3 + i));
    CHECK(w.outV[10][i] == ((3 + i) % 2 ? 0 : (3 + i) / 2));
    CHECK(w.outV[12][i] == 0x40 + i);
  }
  CHECK(w.outS[10] == 6);
  CHECK(w.outS[12] == 10);
}

TEST_CASE("gfx1250: the check of scalar addresses counts offsets as the load does") {
  WaveRun w("gfx1250");
  w.memory = counting(1024);
  w.s = {{8, 5}};
  w.readS = {10};
  w.checks = kCheckMemory;
  w.run("s_load_b32 s10, s[2:3], s8 offset:0x4 scale_offset\n");
  CHECK(w.outS[10] == 6);
  CHECK(w.result.findings.empty());
  w.run("s_load_b32 s10, s[2:3], s8 offset:0x4\n"); // byte 9
  REQUIRE(w.result.findings.size() == 1);
  CHECK_THAT(w.result.findings[0].message, Catch::Contains("no multiple of 4"));
}

TEST_CASE("gfx1250: the lanes' offsets to a scalar address are signed") {
  WaveRun w("gfx1250");
  w.memory = counting(1024);
  w.v = {{1, iota(0u - 128, 4)}};
  w.readV = {4};
  w.run("s_add_nc_u64 s[8:9], s[2:3], 0x100\n"
        "global_load_b32 v4, v1, s[8:9]\n");
  for (unsigned i = 0; i < 32; ++i)
    CHECK(w.outV[4][i] == 64 - 32 + i);
}

TEST_CASE("gfx1250: flat addresses reach the scratch of every lane") {
  WaveRun w("gfx1250");
  w.v = {{1, iota(1000)}, {2, iota(0)}};
  w.readV = {10, 11};
  w.run("s_mov_b32 s8, 16\n"
        "scratch_store_b32 off, v1, s8 offset:4\n"
        "s_wait_storecnt 0\n"
        // This lane's: the base, the lane in bits 52 on, the offset.
        "v_lshlrev_b32 v5, 20, v2\n"
        "v_mov_b32 v4, 20\n"
        "v_add_nc_u64 v[6:7], src_flat_scratch_base_lo, v[4:5]\n"
        "flat_load_b32 v10, v[6:7]\n"
        // That of the lane with the other parity.
        "v_xor_b32 v3, 1, v2\n"
        "v_lshlrev_b32 v5, 20, v3\n"
        "v_add_nc_u64 v[6:7], src_flat_scratch_base_lo, v[4:5]\n"
        "flat_load_b32 v11, v[6:7]\n"
        "s_wait_loadcnt_dscnt 0\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[10][i] == 1000 + i);
    CHECK(w.outV[11][i] == 1000 + (i ^ 1));
  }
}

TEST_CASE("gfx1250: a raw buffer ends where its 45 bits of records say, and others are refused") {
  WaveRun w("gfx1250");
  w.memory = counting(1024);
  w.v = {{1, iota(0, 4)}};
  w.readV = {4, 5};
  // 80 bytes: their low seven bits are bits 57 to 63.
  const std::string descriptor = "s_mov_b64 s[8:9], s[2:3]\n"
                                 "s_and_b32 s9, s9, 0x1ffffff\n"
                                 "s_or_b32 s9, s9, 0xa0000000\n"
                                 "s_mov_b64 s[10:11], 0\n";
  w.run(descriptor + "buffer_load_b32 v4, v1, s[8:11], null offen\n"
                     "s_mov_b32 s10, 1\n" // 128 bytes more
                     "buffer_load_b32 v5, v1, s[8:11], null offen offset:96\n");
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(w.outV[4][i] == (i < 20 ? i : 0));
    CHECK(w.outV[5][i] == (i < 28 ? i + 24 : 0));
  }
  w.run(descriptor + "s_mov_b32 s11, 0x4000\nbuffer_load_b32 v4, v1, s[8:11], null offen\n", true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("only raw buffers are emulated"));
}

TEST_CASE(
    "gfx1250: transfers whose order is not known, and those that are not there, are refused") {
  const struct {
    const char *text, *why;
  } cases[] = {
      {"global_load_tr16_b128 v[4:7], v1, s[2:3]", "whose order of elements is not known here"},
      {"ds_load_tr6_b96 v[4:6], v1", "does not implement this instruction"},
  };
  for (const auto &c : cases) {
    INFO(c.text);
    WaveRun w("gfx1250");
    w.memory = counting(1024);
    w.lds = 1024;
    w.v = {{1, iota(0, 16)}, {2, iota(0, 4)}};
    w.run(c.text, true);
    REQUIRE_FALSE(w.result.ok);
    CHECK_THAT(w.result.fault.message, Catch::Contains(c.why));
  }
}

TEST_CASE("gfx1250: what other targets load and this one refuses counts as missing") {
  const struct {
    const char *code, *name, *why;
  } cases[] = {
      {"global_load_tr8_b64 v[4:5], v1, s[2:3]\n", "global_load_tr_b64", "whose order of elements"},
      {"global_load_tr16_b128 v[4:7], v1, s[2:3]\n", "global_load_tr_b128",
       "whose order of elements"},
      {"s_buffer_load_b32 s4, s[8:11], 0x0\n", "s_buffer_load_b32", "through a buffer descriptor"},
      {"s_buffer_load_b512 s[16:31], s[8:11], 0x0\n", "s_buffer_load_b512",
       "through a buffer descriptor"},
  };
  const Coverage here = coverage("gfx1250"), there = coverage("gfx1201");
  const auto has = [](const std::vector<std::string> &names, const char *name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto &c : cases) {
    INFO(c.code);
    WaveRun w("gfx1250");
    w.memory = counting(1024);
    w.v = {{1, iota(0, 16)}};
    w.run(c.code, true);
    REQUIRE_FALSE(w.result.ok);
    CHECK_THAT(w.result.fault.message, Catch::Contains(c.why));
    CHECK(has(here.missing, c.name));
    CHECK_FALSE(has(here.implemented, c.name));
    CHECK(has(there.implemented, c.name));
  }
}

TEST_CASE("gfx1250: each instruction that is missing has a reason, and none that is executed has") {
  const Coverage here = coverage("gfx1250");
  const Machine &machine = *findMachine("gfx1250");
  for (const std::string &name : here.missing) {
    CAPTURE(name);
    CHECK(refusalOf(name, machine) != nullptr);
  }
  CHECK(here.missing.size() == 115);
  CHECK(here.implemented.size() == 1211);
}
