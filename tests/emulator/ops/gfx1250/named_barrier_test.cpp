// gfx1250's named barriers: who meets whom, and what would wait for ever.
#include "wave_test.h"

#include "emulator/core/checks.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

namespace {
WaveRun ofWaves(unsigned waves) {
  WaveRun w("gfx1250");
  w.waves = waves;
  w.namedBarriers = 4;
  w.lds = 1024;
  w.checks = *checksNamed("all");
  return w;
}
std::string faultOf(WaveRun &w, const std::string &text) {
  w.run(text, true);
  CHECK_FALSE(w.result.ok);
  return w.result.fault.message;
}
/// Gives barrier `number` its members before any wave joins it.
std::string given(unsigned number, unsigned members) {
  return "s_mov_b32 m0, " + std::to_string(members << 16 | number) +
         "\ns_barrier_init m0\ns_barrier_signal -1\ns_barrier_wait -1\n";
}
/// The number of the wave to s9, and the byte of a thread's dword in LDS to v1.
const std::string kPlace = "v_readfirstlane_b32 s9, v43\n"
                           "s_lshr_b32 s9, s9, 5\n"
                           "v_lshlrev_b32 v1, 2, v43\n";
} // namespace

TEST_CASE("gfx1250: two of three waves meet at a named barrier, again and again") {
  for (uint32_t slice : {1u, 7u, kDefaultSlice}) {
    WaveRun w = ofWaves(3);
    w.slice = slice;
    w.s = {{10, 3}, {11, 0}};
    w.readV = {4};
    // Waves 1 and 2 write a dword a thread, and read the other's in each round; wave 0 has no part.
    w.run(kPlace + given(1, 2) +
          "s_cmp_eq_u32 s9, 0\n"
          "s_cbranch_scc1 out\n"
          "s_barrier_join 1\n"
          "v_xor_b32 v2, 0x180, v1\n"
          "again:\n"
          "v_add_nc_u32 v3, s10, v1\n"
          "ds_store_b32 v1, v3\n"
          "s_wait_dscnt 0\n"
          "s_barrier_signal 1\n"
          "s_barrier_wait 1\n"
          "ds_load_b32 v4, v2\n"
          "s_wait_dscnt 0\n"
          "v_sub_nc_u32 v5, v4, v2\n"
          "v_cmp_ne_u32 vcc_lo, s10, v5\n"
          "s_or_b32 s11, s11, vcc_lo\n"
          "s_barrier_signal 1\n"
          "s_barrier_wait 1\n"
          "s_sub_co_i32 s10, s10, 1\n"
          "s_cmp_lg_u32 s10, 0\n"
          "s_cbranch_scc1 again\n"
          "s_cmp_eq_u32 s11, 0\n"
          "s_cbranch_scc1 out\n"
          "s_trap 2\n"
          "out:\n");
    CHECK(w.result.ok);
    CHECK(w.result.findings.empty());
    // Wave 2's neighbour is wave 1, whose last round wrote its place and 1.
    for (unsigned lane = 0; lane < 32; ++lane)
      CHECK(w.outV[4][lane] == 4 * (32 + lane) + 1);
  }
}

TEST_CASE("gfx1250: a wave signals without waiting, and its signals are not lost") {
  WaveRun w = ofWaves(2);
  w.readV = {4};
  // Wave 0 fills and signals barrier 1, where wave 1 is the member that waits.
  w.run(kPlace + given(1, 1) +
            "s_cmp_eq_u32 s9, 0\n"
            "s_cbranch_scc0 reads\n"
            "v_mov_b32 v3, 77\n"
            "ds_store_b32 v1, v3\n"
            "s_wait_dscnt 0\n"
            "s_mov_b32 m0, 1\n"
            "s_barrier_signal m0\n"
            "s_branch out\n"
            "reads:\n"
            "s_barrier_join 1\n"
            "s_barrier_wait 1\n"
            "v_add_nc_u32 v2, 0xffffff80, v1\n"
            "ds_load_b32 v4, v2\n"
            "s_wait_dscnt 0\n"
            "out:\n",
        true);
  // The wave that joins after the signal waits for the next one, which never comes.
  if (!w.result.ok)
    CHECK_THAT(w.result.fault.message,
               Catch::Contains("waits at named barrier 1 for ever: 0 of 1 members"));
  // Joined before, it is let go.
  WaveRun joined = ofWaves(2);
  joined.readV = {4};
  joined.run(kPlace + "s_barrier_join 1\n" + given(1, 1) +
             "s_cmp_eq_u32 s9, 0\n"
             "s_cbranch_scc0 reads\n"
             "v_mov_b32 v3, 77\n"
             "ds_store_b32 v1, v3\n"
             "s_wait_dscnt 0\n"
             "s_mov_b32 m0, 1\n"
             "s_barrier_signal m0\n"
             "s_branch out\n"
             "reads:\n"
             "s_barrier_wait 1\n"
             "v_add_nc_u32 v2, 0xffffff80, v1\n"
             "ds_load_b32 v4, v2\n"
             "s_wait_dscnt 0\n"
             "out:\n");
  CHECK(joined.result.findings.empty());
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(joined.outV[4][lane] == 77);
}

TEST_CASE("gfx1250: the state of a named barrier") {
  WaveRun w = ofWaves(1);
  w.readS = {8, 9, 10};
  w.run(given(3, 5) + "s_barrier_signal 3\ns_barrier_signal 3\n"
                      "s_get_barrier_state s8, 3\n"
                      "s_barrier_signal_isfirst 2\n",
        true);
  CHECK_THAT(
      w.result.fault.message,
      Catch::Contains("a signal at named barrier 2, which no s_barrier_init gave its members"));
  w = ofWaves(1);
  w.readS = {8, 9, 10};
  w.run(given(3, 5) + "s_barrier_signal 3\ns_barrier_signal_isfirst 3\n"
                      "s_cselect_b32 s9, 1, 0\n"
                      "s_get_barrier_state s8, 3\n"
                      "s_mov_b32 m0, 0x50003\n"
                      "s_barrier_init m0\n"
                      "s_get_barrier_state s10, m0\n"
                      "s_wait_kmcnt 0\n");
  CHECK(w.outS[8] == (1u | 5 << 4 | 2 << 16));
  CHECK(w.outS[9] == 0);
  CHECK(w.outS[10] == (1u | 5 << 4));
}

TEST_CASE("gfx1250: what is wrong at a named barrier is told") {
  WaveRun w = ofWaves(2);
  CHECK_THAT(faultOf(w, given(1, 3) + "s_barrier_join 1\ns_barrier_signal 1\ns_barrier_wait 1\n"),
             Catch::Contains("waits at named barrier 1 for ever: 2 of 3 members have signalled"));
  // One wave waits at the workgroup's own barrier meanwhile.
  w = ofWaves(2);
  CHECK_THAT(faultOf(w, kPlace + given(1, 2) +
                            "s_cmp_eq_u32 s9, 0\n"
                            "s_cbranch_scc1 2\n"
                            "s_barrier_signal -1\n"
                            "s_barrier_wait -1\n"
                            "s_barrier_join 1\ns_barrier_signal 1\ns_barrier_wait 1\n"),
             Catch::Contains("waits at named barrier 1 for ever: 1 of 2 members have signalled"));
  w = ofWaves(1);
  CHECK_THAT(faultOf(w, "s_barrier_wait 1\n"), Catch::Contains("by a wave that has joined none"));
  w = ofWaves(1);
  CHECK_THAT(faultOf(w, given(5, 1)),
             Catch::Contains("named barrier 5, of a kernel whose descriptor has 4, from 1 on"));
  w = ofWaves(1);
  w.namedBarriers = 0;
  CHECK_THAT(faultOf(w, "s_barrier_join 1\n"),
             Catch::Contains("named barrier 1, of a kernel whose descriptor has 0"));
  WaveRun other("gfx1201");
  CHECK_THAT(faultOf(other, "s_barrier_signal 1\n"), Catch::Contains("a named barrier"));
}

TEST_CASE("gfx1250: without the named barrier the waves race") {
  WaveRun w = ofWaves(2);
  w.run(kPlace + "v_xor_b32 v2, 0x80, v1\n"
                 "ds_store_b32 v1, v1\n"
                 "s_wait_dscnt 0\n"
                 "ds_load_b32 v4, v2\n"
                 "s_wait_dscnt 0\n",
        true);
  CHECK_FALSE(w.result.findings.empty());
}
