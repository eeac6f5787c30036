// gfx1250's clusters of workgroups: their barrier, and what is wrong with one. Where workgroups are in
// their cluster is tested by what LLVM compiles (tests/builder/run/cluster_test.cpp).
#include "wave_test.h"

#include "emulator/core/checks.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

namespace {
WaveRun inClusters(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> cluster) {
  WaveRun w("gfx1250");
  w.grid = grid;
  w.cluster = cluster;
  w.memory.resize(4096);
  return w;
}
std::string faultOf(WaveRun &w, const std::string &text) {
  w.run(text, true);
  CHECK_FALSE(w.result.ok);
  return w.result.fault.message;
}

/// Calls the barrier as LLVM's llvm.amdgcn.s.cluster.barrier does.
const std::string kBarrier = "s_barrier_signal_isfirst -1\n"
                             "s_barrier_wait -1\n"
                             "s_cbranch_scc0 1\n" // over the next instruction
                             "s_barrier_signal -3\n"
                             "s_barrier_wait -3\n";
/// The number of the workgroup in its cluster to s9.
const std::string kRank = "s_getreg_b32 s9, hwreg(HW_REG_IB_STS2, 21, 4)\n";

/// A tensor load of 32 dwords from the beginning of memory for the workgroups of s8.
const std::string kLoad = "s_mov_b32 s16, 1\n"
                          "s_mov_b32 s17, 0\n"
                          "s_mov_b32 s18, s2\n"
                          "s_or_b32 s19, s3, 0x80000000\n"
                          "s_or_b32 s20, s8, 0x20000\n"
                          "s_mov_b32 s21, 0x200000\n"
                          "s_mov_b32 s22, 0x10000\n"
                          "s_mov_b32 s23, 0x200000\n"
                          "s_mov_b32 s24, 1\n"
                          "s_mov_b32 s25, 32\n"
                          "s_mov_b32 s26, 0\n"
                          "s_mov_b32 s27, 0\n"
                          "tensor_load_to_lds s[16:19], s[20:27]\n"
                          "s_wait_tensorcnt 0\n";
} // namespace

TEST_CASE("gfx1250: the workgroups of a cluster meet at its barrier, again and again") {
  for (unsigned waves : {1u, 3u}) {
    WaveRun w = inClusters({4, 2, 1}, {4, 2, 1});
    w.waves = waves;
    // Each of the eight workgroups adds 1, and all find the sum after each barrier.
    w.v = {{1, iota(0, 0)}, {2, iota(1, 0)}};
    w.s = {{10, 3}, {13, 0}};
    w.run("again:\n" + kBarrier +
          "v_cmp_eq_u32 vcc_lo, 0, v43\n" // the first thread of the workgroup
          "s_and_saveexec_b32 s14, vcc_lo\n"
          "global_atomic_add_u32 v1, v2, s[2:3] scope:SCOPE_DEV\n"
          "s_wait_storecnt 0\n"
          "s_mov_b32 exec_lo, s14\n" +
          kBarrier +
          "global_load_b32 v3, v1, s[2:3] scope:SCOPE_DEV\n"
          "s_wait_loadcnt 0\n"
          "v_readfirstlane_b32 s15, v3\n"
          "s_add_co_i32 s13, s13, 8\n"
          "s_cmp_eq_u32 s15, s13\n"
          "s_cbranch_scc0 wrong\n"
          "s_sub_co_i32 s10, s10, 1\n"
          "s_cmp_lg_u32 s10, 0\n"
          "s_cbranch_scc1 again\n"
          "s_branch right\n"
          "wrong:\n"
          "s_trap 2\n"
          "right:\n");
    CHECK(w.result.ok);
  }
}

TEST_CASE("gfx1250: what would keep a cluster at its barrier for ever is told") {
  WaveRun w = inClusters({2, 1, 1}, {2, 1, 1});
  CHECK_THAT(
      faultOf(w, kRank + "s_cmp_eq_u32 s9, 1\n"
                         "s_cbranch_scc1 2\n"
                         "s_barrier_signal -3\n"
                         "s_barrier_wait -3\n"),
      Catch::Contains("waits at the barrier of its cluster, where not all workgroups signal"));
  w = inClusters({2, 1, 1}, {2, 1, 1});
  CHECK_THAT(faultOf(w, "s_barrier_signal -3\ns_barrier_signal -3\ns_barrier_wait -3\n"),
             Catch::Contains("signals at the barrier of its cluster again"));
  for (const char *text : {"s_barrier_signal -3\n", "s_barrier_wait -3\n"}) {
    w = inClusters({2, 1, 1}, {1, 1, 1});
    CHECK_THAT(faultOf(w, text),
               Catch::Contains("the barrier of a cluster, in a launch without clusters"));
  }
}

TEST_CASE("gfx1250: a load for several workgroups is one that each of them makes") {
  WaveRun w = inClusters({4, 1, 1}, {4, 1, 1});
  w.lds = 256;
  w.run("s_mov_b32 s8, 15\n" + kLoad);
  CHECK(w.result.ok);
  w = inClusters({4, 1, 1}, {4, 1, 1});
  w.lds = 256;
  CHECK_THAT(faultOf(w, "s_mov_b32 s8, 7\n" + kLoad),
             Catch::Contains("workgroup 3 of the cluster loads for others, and not for itself"));
  w = inClusters({2, 1, 1}, {2, 1, 1});
  w.lds = 256;
  CHECK_THAT(faultOf(w, "s_mov_b32 s8, 7\n" + kLoad),
             Catch::Contains("a load for workgroup 2 of a cluster of 2"));
  w = inClusters({2, 1, 1}, {2, 1, 1});
  w.lds = 256;
  CHECK_THAT(faultOf(w, kRank +
                            "s_mov_b32 s8, 3\n"
                            "s_cmp_eq_u32 s9, 0\n"
                            "s_cbranch_scc1 loads\n"
                            "s_endpgm\n"
                            "loads:\n" +
                            kLoad),
             Catch::Contains("for workgroup 1 too, which asked for it 0 times, not 1"));
  // A gather of one row of four: the same one, and another one in each workgroup.
  const std::string gather = "s_mov_b32 s8, 3\n" + kLoad.substr(0, kLoad.find("tensor_load")) +
                             "s_mov_b32 s16, 0xc0000001\n"
                             "s_mov_b32 s22, 0x40000\n"
                             "tensor_load_to_lds s[16:19], s[20:27], s[28:31], s[32:35]\n"
                             "s_wait_tensorcnt 0\n";
  w = inClusters({2, 1, 1}, {2, 1, 1});
  w.lds = 256;
  w.run("s_mov_b32 s28, 2\n" + gather);
  CHECK(w.result.ok);
  w = inClusters({2, 1, 1}, {2, 1, 1});
  w.lds = 256;
  CHECK_THAT(faultOf(w, kRank + "s_mov_b32 s28, s9\n" + gather),
             Catch::Contains("which asked for it 0 times, not 1"));
}

TEST_CASE("gfx1250: loads of a cluster give each workgroup what it asks for") {
  for (const char *mask : {"0", "15"}) {
    WaveRun w = inClusters({4, 1, 1}, {4, 1, 1});
    w.lds = 1024;
    w.checks = *checksNamed("all");
    for (unsigned i = 0; i < 1024; ++i)
      reinterpret_cast<uint32_t *>(w.memory.data())[i] = 1000 + i;
    w.v = {{1, iota(0, 16)}, {2, iota(64, 16)}};
    w.readV = {4, 6, 7, 8, 10, 11};
    w.run("s_mov_b32 m0, " + std::string(mask) +
          "\ncluster_load_b32 v4, v1, s[2:3] offset:8\n"
          "cluster_load_b64 v[6:7], v1, s[2:3]\n"
          "cluster_load_b128 v[8:11], v1, s[2:3]\n"
          "cluster_load_async_to_lds_b128 v2, v1, s[2:3]\n"
          "s_wait_loadcnt 0\ns_wait_asynccnt 0\n"
          "ds_load_b32 v10, v2 offset:4\n"
          "s_wait_dscnt 0\n");
    CHECK(w.result.findings.empty());
    for (unsigned i = 0; i < 32; ++i) {
      CHECK(w.outV[4][i] == 1002 + 4 * i);
      CHECK(w.outV[6][i] == 1000 + 4 * i);
      CHECK(w.outV[7][i] == 1001 + 4 * i);
      CHECK(w.outV[8][i] == 1000 + 4 * i);
      CHECK(w.outV[11][i] == 1003 + 4 * i);
      CHECK(w.outV[10][i] == 1001 + 4 * i);
    }
  }
}

TEST_CASE("gfx1250: what is wrong with a load of a cluster is told") {
  const std::string load = "cluster_load_b32 v4, v1, s[2:3]\ns_wait_loadcnt 0\n";
  struct Case {
    std::string text;
    const char *why;
    uint32_t groups;
  };
  const Case cases[] = {
      {"s_mov_b32 m0, 7\n" + load, "workgroup 3 of the cluster loads for others", 4},
      {"s_mov_b32 m0, 31\n" + load, "a load for workgroup 4 of a cluster of 4", 4},
      {"s_mov_b32 m0, 0x30003\n" + load, "bits of M0 beyond the mask's 16", 2},
      {"s_mov_b32 m0, 1\n" + load, "in a launch without clusters: there the mask is 0", 1},
      {kRank + "s_mov_b32 m0, 3\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 loads\ns_endpgm\nloads:\n" +
           load,
       "a load to lane 0 was asked for by other workgroups of the cluster for workgroup 1 too", 2},
  };
  for (const Case &c : cases) {
    WaveRun w = inClusters({c.groups, 1, 1}, {c.groups, 1, 1});
    w.v = {{1, iota(0, 4)}};
    CHECK_THAT(faultOf(w, c.text), Catch::Contains(c.why));
  }
}

TEST_CASE("gfx1250: clusters that do not fit are refused") {
  struct Case {
    std::array<uint32_t, 3> grid, cluster;
    const char *why;
  };
  const Case cases[] = {
      {{3, 1, 1}, {2, 1, 1}, "a grid of 3 workgroups along x, and clusters of 2"},
      {{1, 4, 1}, {1, 0, 1}, "a grid of 4 workgroups along y, and clusters of 0"},
      {{32, 1, 1}, {32, 1, 1}, "a cluster of 32 workgroups; it has at most 16"},
  };
  for (const Case &c : cases) {
    WaveRun w = inClusters(c.grid, c.cluster);
    CHECK_THAT(faultOf(w, "s_nop 0\n"), Catch::Contains(c.why));
  }
  WaveRun other("gfx1201");
  other.grid = other.cluster = {2, 1, 1};
  CHECK_THAT(faultOf(other, "s_nop 0\n"),
             Catch::Contains("clusters of workgroups, which gfx1201 does not have"));
}
