// The timeline of a launch: what each wave does from when to when, by the estimate's clock.
#include "timed.h"

#include "emulator/observe/timeline.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace flyemu;
using namespace flyemu::test;

namespace {
uint64_t took(const TimelineEvent &event) { return event.end - event.start; }
} // namespace

TEST_CASE("a wave waits for its load until the load ends") {
  const Timed t("v_lshlrev_b32 v1, 2, v0\nglobal_load_dword v2, v1, s[0:1]\nv_mov_b32 v3, 0\n"
                "s_waitcnt vmcnt(0)\nv_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], 0\n");
  const auto load = t.of(Activity::MemoryUnderWay, 0), wait = t.of(Activity::Wait, 0),
             matrix = t.of(Activity::MatrixUnderWay, 0), issue = t.of(Activity::Memory, 0);
  REQUIRE(load.size() == 1);
  REQUIRE(wait.size() == 1);
  REQUIRE(matrix.size() == 1);
  REQUIRE(issue.size() == 1);
  CHECK(load[0].start == issue[0].end);
  CHECK(load[0].end - load[0].start >= 500); // the model's latency
  CHECK(wait[0].end == load[0].end);
  CHECK(wait[0].start > load[0].start);
  CHECK(matrix[0].start == wait[0].end);
  CHECK(matrix[0].end - matrix[0].start == 32); // 8 passes of 4 cycles
  CHECK(t.kernel.program->text(load[0].inst).starts_with("global_load_dword"));
}

TEST_CASE("what the workgroup has loaded before comes from its cache, once it has arrived") {
  // Both waves load the same lines, the second one a little later, and the first one twice more.
  const Timed t("v_and_b32 v1, 63, v0\nv_lshlrev_b32 v1, 2, v1\nv_readfirstlane_b32 s4, v0\n"
                "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 load\ns_nop 0\ns_nop 0\nload:\n"
                "global_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\ns_cmp_eq_u32 s4, 0\n"
                "s_cbranch_scc0 end\nglobal_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                "global_load_dword v3, v1, s[0:1] offset:256\ns_waitcnt vmcnt(0)\nend:\n");
  const auto first = t.of(Activity::MemoryUnderWay, 0), second = t.of(Activity::MemoryUnderWay, 1);
  REQUIRE(first.size() == 3);
  REQUIRE(second.size() == 1);
  CHECK(took(first[0]) >= 880);
  CHECK(second[0].start > first[0].start);
  CHECK(second[0].end >= first[0].end); // the lines are on their way, and no earlier there
  CHECK(took(second[0]) < took(first[0]) + 16);
  CHECK(took(first[1]) >= 120); // of the vector cache
  CHECK(took(first[1]) < 213);
  CHECK(took(first[2]) >= 880); // other lines
}

TEST_CASE("a later round of workgroups finds in the last cache what an earlier one has loaded") {
  // How long a load of two lines is under way in each of two workgroups.
  const auto secondTook = [](uint64_t together, uint64_t cacheBytes, unsigned cacheLatency) {
    const Timed t("v_and_b32 v1, 63, v0\nv_lshlrev_b32 v1, 2, v1\n"
                  "global_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n",
                  2, "gfx942", 64, [&](Dispatch &launch, Options &options) {
                    launch.residentGroups = together;
                    options.memoryLatency = 1000;
                    options.lastLevelLatency = cacheLatency;
                    options.lastLevelBytes = cacheBytes;
                  });
    std::array<uint64_t, 2> cycles;
    for (uint64_t group = 0; group < 2; ++group) {
      const auto load = t.of(Activity::MemoryUnderWay, 0, group);
      REQUIRE(load.size() == 1);
      cycles[group] = took(load[0]);
    }
    CHECK(cycles[0] >= 1000);
    CHECK(cycles[0] < 1020);
    return cycles[1];
  };
  const uint64_t again = secondTook(1, 1 << 20, 400);
  CHECK(again >= 400);
  CHECK(again < 420);
  CHECK(secondTook(2, 1 << 20, 400) >= 1000); // both run at the same time, and wait together
  CHECK(secondTook(1, 128, 400) >= 1000);     // a cache of one line
  CHECK(secondTook(1, 1 << 20, 0) >= 1000);   // no such cache
  CHECK(secondTook(0, 1 << 20, 400) >= 1000); // it is not known how many run at the same time
}

TEST_CASE("scratch is no farther than L2, and takes the lines over which lanes' dwords alternate") {
  struct Case {
    const char *target, *load;
    uint64_t lines; ///< that the load touches
    uint64_t least, most;
  };
  const Case cases[] = {
      {"gfx942", "scratch_load_dword v2, off, off offset:16", 2, 120, 213},
      {"gfx950", "scratch_load_dwordx4 v[4:7], off, off offset:16", 8, 120, 213},
      {"gfx1201", "scratch_load_b32 v2, off, off offset:16", 1, 73, 222},
      {"gfx1201", "scratch_load_b64 v[4:5], off, off offset:16", 2, 73, 222},
  };
  for (const Case &c : cases) {
    INFO(c.target << ": " << c.load);
    const bool isRdna = std::string_view(c.target) == "gfx1201";
    const std::string store = isRdna ? "scratch_store_b128 off, v[4:7], off offset:16\n"
                                       "s_wait_storecnt 0x0\n"
                                     : "scratch_store_dwordx4 off, v[4:7], off offset:16\n"
                                       "s_waitcnt vmcnt(0)\n",
                      wait = isRdna ? "s_wait_loadcnt 0x0\n" : "s_waitcnt vmcnt(0)\n";
    const unsigned lanes = isRdna ? 32 : 64;
    const Timed plain(store, 1, c.target, lanes);
    const Timed t(store + c.load + "\n" + wait, 1, c.target, lanes);
    const auto loads = t.of(Activity::MemoryUnderWay, 0);
    REQUIRE(loads.size() == 2); // the store is one, too
    CHECK(took(loads[1]) >= c.least);
    CHECK(took(loads[1]) < c.most);
    const auto lines = [](const Timed &launch) {
      return launch.result.counters.TCP_TOTAL_CACHE_ACCESSES;
    };
    CHECK(lines(t) - lines(plain) == 2 * c.lines); // of two workgroups
  }
}

TEST_CASE("memory serves waves in the order of their clocks, whichever runs first") {
  // Each load takes the path for 32 lines of 2 cycles. Wave 0, which the emulator begins with, has four of them, and comes 32 cycles after
  // wave 1, which is less than the load of wave 1 takes.
  const Timed t("v_and_b32 v1, 63, v0\nv_lshlrev_b32 v1, 6, v1\nv_readfirstlane_b32 s4, v0\n"
                "s_cmp_eq_u32 s4, 0\ns_cbranch_scc0 load\ns_nop 7\n"
                "global_load_dword v2, v1, s[0:1]\nglobal_load_dword v3, v1, s[0:1]\n"
                "global_load_dword v4, v1, s[0:1]\nload:\nglobal_load_dword v5, v1, s[0:1]\n"
                "s_waitcnt vmcnt(0)\n");
  const auto late = t.of(Activity::MemoryUnderWay, 0), early = t.of(Activity::MemoryUnderWay, 1);
  REQUIRE(late.size() == 4);
  REQUIRE(early.size() == 1);
  const uint64_t latency = 882; // 420 ns at 2,100 MHz
  CHECK(late[0].start > early[0].start);
  CHECK(late[0].start < early[0].start + 64);
  CHECK(took(early[0]) >= latency + 64);
  CHECK(took(early[0]) <= latency + 66);   // the lines may be 33
  CHECK(late[0].end >= early[0].end + 32); // the path is the other one's until it has left
}

TEST_CASE(
    "a wave that waits in a loop for another one of its workgroup does not keep it from running") {
  // Wave 1 reads a word until wave 0, which takes its time, has written it: in LDS, where each look takes time, and in
  // global memory, where looks take none, so that the clock of wave 1 stays the earlier one.
  for (const bool inLds : {true, false}) {
    const std::string begin = "v_readfirstlane_b32 s4, v0\nv_mov_b32 v1, 0\n"
                              "ds_write_b32 v1, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                              "s_cmp_eq_u32 s4, 0\ns_cbranch_scc0 look\n";
    std::string work;
    for (int i = 0; i < 40; ++i)
      work += "s_nop 15\n";
    const std::string write =
        inLds ? "ds_write_b32 v1, v2\n" : "global_store_dword v1, v2, s[0:1] offset:64\n";
    const std::string read =
        inLds ? "ds_read_b32 v3, v1\n" : "global_load_dword v3, v1, s[0:1] offset:64 sc1\n";
    const Timed t(begin + work + "v_mov_b32 v2, 1\n" + write + "s_branch end\nlook:\n" + read +
                  "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_readfirstlane_b32 s5, v3\n"
                  "s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 look\nend:\n");
    INFO((inLds ? "LDS" : "global memory"));
    const auto events = [&](unsigned wave) {
      return t.of(inLds ? Activity::Lds : Activity::Memory, wave);
    };
    REQUIRE(!events(0).empty());
    REQUIRE(events(1).size() > 1);
    CHECK(events(0).back().start >= 40 * 64); // the work of wave 0
    if (inLds)
      CHECK(events(1).back().start > events(0).back().start);
  }
}

TEST_CASE("a wave that comes early waits at the barrier for the last one") {
  const Timed t("v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 past\n"
                "v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], 0\n"
                "v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], v[16:31]\n"
                "v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], v[16:31]\npast:\ns_barrier\n");
  const auto early = t.of(Activity::Barrier, 0), matrix = t.of(Activity::Matrix, 1);
  REQUIRE(early.size() == 1);
  REQUIRE(matrix.size() == 3);
  CHECK(t.of(Activity::Barrier, 1).empty());
  CHECK(early[0].start < matrix[2].start);
  CHECK(early[0].end > matrix[2].end);
  CHECK(early[0].end < t.of(Activity::MatrixUnderWay, 1)[2].end); // sums may still be under way
}

TEST_CASE("a wave does one thing at a time, and as many workgroups are kept as asked for") {
  for (const uint64_t groups : {1, 2, 5}) {
    const Timed t("v_lshlrev_b32 v1, 2, v0\nglobal_load_dword v2, v1, s[0:1]\n"
                  "s_waitcnt vmcnt(0)\nds_write_b32 v1, v2\ns_waitcnt lgkmcnt(0)\n",
                  groups);
    std::vector<uint64_t> seen;
    for (const TimelineEvent &e : t.result.timeline) {
      CHECK(e.start <= e.end);
      seen.push_back(e.group);
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    CHECK(seen.size() == std::min<uint64_t>(groups, 2));
    uint64_t last = 0;
    for (const TimelineEvent &e : t.result.timeline)
      if (e.group == 0 && e.wave == 1 && e.activity < Activity::MemoryUnderWay) {
        CHECK(e.start >= last);
        last = e.end;
      }
  }
}

TEST_CASE("a timeline as a trace and as a picture") {
  const Timed t("v_lshlrev_b32 v1, 2, v0\nglobal_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n");
  const std::string trace = chromeTrace(t.result.timeline, t.kernel, 5000);
  INFO(trace);
  CHECK(trace.starts_with(
      R"({"ph":"M","name":"process_name","pid":5000,"args":{"name":"timed, workgroup 0"}})"));
  CHECK(trace.find(R"({"ph":"X","name":"v_lshlrev_b32_e32 v1, 2, v0","cat":"vector","pid":5000,)"
                   R"("tid":0,"ts":0.000,"dur":0.004,"args":{"source":"some \"file\".cpp:7"}})") !=
        std::string::npos);
  CHECK(trace.find(R"({"ph":"b","name":"global_load_dword)") != std::string::npos);
  const std::string picture = timelineSvg(t.result.timeline, t.kernel);
  INFO(picture);
  CHECK(picture.starts_with("<svg "));
  CHECK(picture.ends_with("</svg>\n"));
  CHECK(picture.find("0: wave 1</text>") != std::string::npos);
  CHECK(picture.find("matrix</text>") != std::string::npos);
}

TEST_CASE("how often a wave looks whether another one is ready is no time") {
  // Reads one dword until a counter of the wave's own says that it is enough.
  const auto looks = [](unsigned times) {
    const Timed t("v_mov_b32 v1, 0\ns_movk_i32 s4, " + std::to_string(times) +
                  "\nglobal_load_dword v2, v1, s[0:1] sc1\ns_waitcnt vmcnt(0)\n"
                  "s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 65530\n");
    return t.result.timing.groupCycles / t.result.timing.groups;
  };
  const uint64_t once = looks(1), twice = looks(2);
  CHECK(once > 500); // a load's latency
  CHECK(twice <= once);
  CHECK(once - twice <= 8); // the path to memory, which the first look takes
  CHECK(looks(1000) == twice);
  // The same with work between the looks is work, and so are reads of other lines.
  const auto works = [](const char *between) {
    const Timed t(std::string("v_mov_b32 v1, 0\ns_movk_i32 s4, 10\n"
                              "global_load_dword v2, v1, s[0:1] sc1\ns_waitcnt vmcnt(0)\n") +
                  between + "s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 65528\n");
    return t.result.timing.groupCycles / t.result.timing.groups;
  };
  CHECK(works("global_store_dword v1, v2, s[0:1] offset:256\n") > 2 * once);
  CHECK(works("v_add_u32_e32 v1, 0x80, v1\n") > 2 * once);
}
