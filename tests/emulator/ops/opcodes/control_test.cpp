// Program flow, messages, barriers, hardware registers; scalar memory.
#include "machine.h"

#include "emulator/isa/kernel_descriptor.h"

#include "emulator/ops/memory/atomics.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
} // namespace

TEST_CASE("opcodes: branches match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    struct Branch {
      const char *name;
      bool (*taken)(bool scc, u64 vcc, u64 exec);
    };
    static const Branch kBranches[] = {
        {"s_branch", [](bool, u64, u64) { return true; }},
        {"s_cbranch_scc0", [](bool s, u64, u64) { return !s; }},
        {"s_cbranch_scc1", [](bool s, u64, u64) { return s; }},
        {"s_cbranch_vccz", [](bool, u64 v, u64) { return v == 0; }},
        {"s_cbranch_vccnz", [](bool, u64 v, u64) { return v != 0; }},
        {"s_cbranch_execz", [](bool, u64, u64 e) { return e == 0; }},
        {"s_cbranch_execnz", [](bool, u64, u64 e) { return e != 0; }},
        // No debugger is there.
        {"s_cbranch_cdbgsys", [](bool, u64, u64) { return false; }},
        {"s_cbranch_cdbguser", [](bool, u64, u64) { return false; }},
        {"s_cbranch_cdbgsys_or_user", [](bool, u64, u64) { return false; }},
        {"s_cbranch_cdbgsys_and_user", [](bool, u64, u64) { return false; }},
    };
    std::vector<size_t> ids;
    for (const Branch &b : kBranches)
      ids.push_back(m.add("s_mov_b32 s20, 1\n" + std::string(b.name) +
                          " 1\ns_mov_b32 s20, 2\n"
                          "s_mov_b32 s21, 3"));
    const size_t call = m.add("s_call_b64 s[30:31], 2\ns_mov_b32 s21, 5\ns_branch 2\n"
                              "s_mov_b32 s20, 7\ns_setpc_b64 s[30:31]\ns_mov_b32 s22, 9");
    const size_t swap =
        m.add("s_getpc_b64 s[30:31]\ns_add_u32 s30, s30, 20\ns_addc_u32 s31, s31, 0\n"
              "s_swappc_b64 s[34:35], s[30:31]\ns_mov_b32 s20, 11\ns_branch 2\n"
              "s_mov_b32 s21, 12\ns_setpc_b64 s[34:35]\ns_mov_b32 s22, 13");
    m.build();
    for (size_t i = 0; i < std::size(kBranches); ++i) {
      if (!m.accepted(ids[i]))
        continue;
      for (bool scc : {false, true})
        for (u64 vcc : {u64(0), u64(4)})
          for (u64 exec : {u64(0), u64(8)}) {
            m.wave.scc = scc;
            m.setS64(106, vcc);
            m.setExec(exec);
            INFO(target << ": " << kBranches[i].name << " " << m.run(ids[i]));
            CHECK(m.s(20) == (kBranches[i].taken(scc, vcc, exec) ? 1 : 2));
            CHECK(m.s(21) == 3);
          }
    }
    REQUIRE(m.accepted(call));
    CHECK(m.run(call) == "");
    CHECK((m.s(20) == 7 && m.s(21) == 5 && m.s(22) == 9));
    REQUIRE(m.accepted(swap));
    CHECK(m.run(swap) == "");
    CHECK((m.s(20) == 11 && m.s(21) == 12 && m.s(22) == 13));
  }
}

TEST_CASE("opcodes: gfx9: forks and joins run both sides") {
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    // The join's operand is the depth before the fork; lanes with a condition get 10, others 20.
    Machine m(target);
    const size_t immediate = m.add("s_cbranch_i_fork s[30:31], 3\n" // to the side that passed
                                   "v_mov_b32 v8, 20\ns_cbranch_join s29\ns_branch 2\n"
                                   "v_mov_b32 v8, 10\ns_cbranch_join s29\n"
                                   "s_mov_b64 exec, -1\nv_add_u32 v8, v8, 1");
    const size_t address = m.add("s_getpc_b64 s[34:35]\ns_add_u32 s34, s34, 24\n"
                                 "s_addc_u32 s35, s35, 0\ns_cbranch_g_fork s[30:31], s[34:35]\n"
                                 "v_mov_b32 v8, 20\ns_cbranch_join s29\ns_branch 2\n"
                                 "v_mov_b32 v8, 10\ns_cbranch_join s29\n"
                                 "s_mov_b64 exec, -1\nv_add_u32 v8, v8, 1");
    m.build();
    for (size_t id : {immediate, address}) {
      REQUIRE(m.accepted(id));
      for (u64 condition : {u64(0), ~u64(0), u64(0xff), ~u64(0xff)}) {
        m.setMode(0xf0);
        m.setS64(30, condition);
        m.s(29) = 0;
        m.setExec(~u64(0));
        std::fill_n(m.row(8), 64, 0u);
        INFO(target << " " << std::hex << condition << " " << m.run(id));
        bool ok = true;
        for (unsigned lane = 0; lane < 64; ++lane)
          ok = ok && m.row(8)[lane] == (condition >> lane & 1 ? 11 : 21);
        CHECK(ok);
      }
    }
  }
}

TEST_CASE("opcodes: gfx9: vector instructions are skipped while VSKIP is on") {
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    const size_t id = m.add("v_mov_b32 v8, 1\ns_setvskip 1, 0\nv_mov_b32 v8, 2\ns_mov_b32 s20, 3\n"
                            "s_setvskip 0, 0\nv_add_u32 v8, v8, 4");
    m.build();
    m.setMode(0xf0);
    m.setExec(~u64(0));
    CHECK(m.run(id) == "");
    CHECK(m.row(8)[5] == 5);
    CHECK(m.s(20) == 3);
  }
}

TEST_CASE("opcodes: gfx9: register indexing matches the reference") {
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    const size_t read = m.add("s_set_gpr_idx_on s8, gpr_idx(SRC0)\nv_mov_b32 v8, v2\n"
                              "s_set_gpr_idx_off"),
                 write = m.add("s_set_gpr_idx_on s8, gpr_idx(DST)\nv_mov_b32 v8, v2\n"
                               "s_set_gpr_idx_off"),
                 change = m.add("s_set_gpr_idx_on s8, gpr_idx(DST)\ns_set_gpr_idx_idx s9\n"
                                "v_mov_b32 v8, v2\ns_set_gpr_idx_mode gpr_idx(SRC0)\n"
                                "v_mov_b32 v20, v2\ns_set_gpr_idx_off");
    m.build();
    for (unsigned r = 0; r < 32; ++r)
      std::fill_n(m.row(r), 64, 100 + r);
    m.setExec(~u64(0));
    m.s(8) = 3;
    m.s(9) = 6;
    for (size_t id : {read, write, change})
      CHECK(m.run(id) == "");
    CHECK(m.row(8)[1] == 105);
    CHECK(m.row(11)[1] == 102);
    CHECK(m.row(14)[1] == 102);
    CHECK(m.row(20)[1] == 105); // v8, which the first snippet has changed
  }
}

TEST_CASE("opcodes: instructions without an effect on the state match the reference") {
  static const char *const kNothing[] = {"s_nop 3",
                                         "s_waitcnt vmcnt(0)",
                                         "s_setprio 2",
                                         "s_icache_inv",
                                         "s_incperflevel 1",
                                         "s_decperflevel 1",
                                         "s_ttracedata",
                                         "s_wakeup",
                                         "s_dcache_inv",
                                         "s_dcache_wb",
                                         "s_dcache_inv_vol",
                                         "s_dcache_wb_vol",
                                         "s_dcache_discard s[8:9], 0x10",
                                         "s_dcache_discard_x2 s[8:9], 0x10",
                                         "s_atc_probe 1, s[8:9], 0x10",
                                         "s_atc_probe_buffer 1, s[8:11], 0x10",
                                         "s_gl1_inv",
                                         "s_sethalt 0",
                                         "s_sleep 1",
                                         "s_sleep_var s8",
                                         "s_version 1",
                                         "s_delay_alu 0",
                                         "s_clause 3",
                                         "s_inst_prefetch 1",
                                         "s_set_inst_prefetch_distance 1",
                                         "s_waitcnt_depctr 0",
                                         "s_waitcnt_vscnt null, 0",
                                         "s_waitcnt_vmcnt null, 0",
                                         "s_waitcnt_expcnt null, 0",
                                         "s_waitcnt_lgkmcnt null, 0",
                                         "s_wait_idle",
                                         "s_wait_event 1",
                                         "s_wait_loadcnt 0",
                                         "s_wait_storecnt 0",
                                         "s_wait_samplecnt 0",
                                         "s_wait_bvhcnt 0",
                                         "s_wait_expcnt 0",
                                         "s_wait_dscnt 0",
                                         "s_wait_kmcnt 0",
                                         "s_wait_loadcnt_dscnt 0",
                                         "s_wait_storecnt_dscnt 0",
                                         "s_wait_alu 0",
                                         "s_prefetch_inst s[8:9], 0, s10, 1",
                                         "s_prefetch_inst_pc_rel 0, s10, 1",
                                         "s_prefetch_data s[8:9], 0, s10, 1",
                                         "s_prefetch_data_pc_rel 0, s10, 1",
                                         "s_buffer_prefetch_data s[8:11], 0, s12, 1",
                                         "v_nop",
                                         "v_clrexcp",
                                         "v_pipeflush",
                                         "s_ttracedata_imm 1"};
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<size_t> ids;
    for (const char *text : kNothing)
      ids.push_back(m.add(text));
    m.build();
    for (size_t id : ids) {
      if (!m.accepted(id))
        continue;
      for (unsigned r = 0; r < 128; ++r)
        m.s(r) = r * 0x1010101;
      m.setExec(0x5555);
      m.setS64(8, m.address());
      std::vector<uint32_t> scalars(m.wave.s, m.wave.s + 128), rows(m.row(0), m.row(64));
      INFO(target << ": " << m.text(id) << " " << m.run(id));
      CHECK(std::equal(scalars.begin(), scalars.end(), m.wave.s));
      CHECK(std::equal(rows.begin(), rows.end(), m.row(0)));
    }
  }
}

TEST_CASE("opcodes: ends, faults, messages, barriers match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    struct Stopping {
      const char *text;
      Stop stop;
      const char *fault; ///< a word of the message; null: none
    };
    static const Stopping kStops[] = {
        {"s_endpgm", Stop::End, nullptr},
        {"s_endpgm_saved", Stop::End, nullptr},
        {"s_setkill 1", Stop::End, nullptr},
        {"s_setkill 0", Stop::None, nullptr},
        {"s_barrier", Stop::Barrier, nullptr},
        {"s_barrier_wait -1", Stop::Barrier, nullptr},
        {"s_trap 2", Stop::None, "trap"},
        {"s_sethalt 1", Stop::None, "halt"},
        {"s_sendmsghalt 0", Stop::None, "halt"},
        {"s_sendmsg 0", Stop::None, nullptr},
        {"s_code_end", Stop::None, "end of the code"},
        {"s_barrier_signal 3", Stop::None, "named barrier"},
    };
    std::vector<size_t> ids;
    for (const Stopping &s : kStops)
      ids.push_back(m.add(s.text));
    const size_t first = m.add("s_barrier_signal_isfirst -1\ns_get_barrier_state s20, -1"),
                 plain = m.add("s_barrier_signal -1"), grid = m.add("ds_gws_barrier v2 gds"),
                 otherGrid = m.add("ds_gws_barrier v2 offset:1 gds"),
                 clock = m.add(m.gfx9 ? "s_memtime s[20:21]\ns_memrealtime s[22:23]"
                                      : "s_sendmsg_rtn_b64 s[20:21], 0x83\n"
                                        "s_sendmsg_rtn_b32 s22, 0x83"),
                 allocate = m.add("s_alloc_vgpr 64");
    m.build();
    for (size_t i = 0; i < std::size(kStops); ++i) {
      if (!m.accepted(ids[i]))
        continue;
      INFO(target << ": " << kStops[i].text);
      const std::string fault = m.run(ids[i]);
      CHECK(fault.empty() == !kStops[i].fault);
      if (kStops[i].fault)
        CHECK(fault.find(kStops[i].fault) != std::string::npos);
      else
        CHECK(m.wave.stop == kStops[i].stop);
    }
    REQUIRE(m.accepted(clock));
    m.setS64(20, 0);
    CHECK(m.run(clock) == "");
    CHECK(m.s64(20) != 0);
    if (!m.gfx12) {
      // The barrier of the whole grid: the first active lane says how many come, less one.
      GridBarrier barrier;
      m.wave.group->grid = &barrier;
      CHECK_THAT(m.run(grid), Catch::Contains("not cooperative"));
      barrier.exists = true;
      CHECK_THAT(m.run(otherGrid), Catch::Contains("not cooperative"));
      m.setExec(0x10);
      m.row(2)[4] = 2;
      for (unsigned arrival = 0; arrival < 7; ++arrival) {
        CHECK(m.run(grid) == "");
        CHECK(m.wave.stop == Stop::Yield);
        CHECK(m.wave.gridTarget == (arrival / 3 + 1) * 3);
        CHECK(barrier.arrived == arrival + 1);
      }
      m.setExec(~uint64_t(0));
      continue;
    }
    m.wave.group->waves.resize(3);
    m.wave.group->barrierSignals = 0;
    for (unsigned wave = 0; wave < 3; ++wave) {
      CHECK(m.run(first) == "");
      CHECK(m.wave.scc == (wave == 0));
      CHECK(m.s(20) == (1 | 3 << 4 | (wave + 1) % 3 << 16));
    }
    CHECK(m.run(plain) == "");
    CHECK(m.wave.group->barrierSignals == 1);
    CHECK(m.run(allocate) == "");
    CHECK(m.wave.scc == 1);
  }
}

TEST_CASE("opcodes: mode registers match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t get = m.add("s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 8)"),
                 set = m.add("s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s8"),
                 setImmediate = m.add("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5"),
                 round = m.add("s_round_mode 10"), denorm = m.add("s_denorm_mode 6");
    m.build();
    m.setMode(0xf0);
    CHECK(m.run(get) == "");
    CHECK(m.s(20) == 0xf0);
    m.s(8) = 0x3;
    CHECK(m.run(set) == "");
    CHECK(m.run(setImmediate) == "");
    CHECK(m.run(get) == "");
    CHECK(m.s(20) == 0x35);
    if (m.accepted(round)) {
      CHECK(m.run(round) == "");
      CHECK(m.run(denorm) == "");
      CHECK(m.run(get) == "");
      CHECK(m.s(20) == 0x6a);
    }
  }
}

TEST_CASE("opcodes: hardware registers have a meaning, or are refused by name") {
  struct Case {
    const char *targets, *name;
    uint32_t value, mask = ~0u;
    const char *fault = nullptr;
  };
  // The wave is the sixth of eight of the 84th workgroup, with 1,000 bytes of LDS; the descriptor
  // says 5 granules of vector registers, accumulation registers from the 12th quad, 3 of scalar
  // ones.
  const Case cases[] = {
      {"gfx90a gfx942 gfx950 gfx1100", "HW_REG_STATUS", 1 | 1 << 11 | 1 << 16, ~(1u << 10)},
      {"gfx1201", "HW_REG_WAVE_STATUS", 1 << 11 | 1 << 16, ~(1u << 10)},
      {"gfx1201", "HW_REG_WAVE_STATE_PRIV", 1 << 9},
      // 83 is die 3, then 10 of that: engine 2, unit 2, first group. Wave 5: SIMD 1, slot 1.
      {"gfx942 gfx950", "HW_REG_HW_ID", 1 | 1 << 4 | 2 << 8 | 2 << 13},
      {"gfx942 gfx950", "HW_REG_XCC_ID", 3},
      // Without dies: engine 3, unit 4, third group.
      {"gfx90a", "HW_REG_HW_ID", 1 | 1 << 4 | 4 << 8 | 3 << 13 | 2 << 16},
      {"gfx1100", "HW_REG_HW_ID1", 2 | 1 << 8 | 4 << 10 | 3 << 18},
      {"gfx1100", "HW_REG_HW_ID2", 2 << 16},
      {"gfx1201", "HW_REG_WAVE_HW_ID1", 2 | 1 << 8 | 4 << 10 | 3 << 18},
      {"gfx1201", "HW_REG_WAVE_HW_ID2", 2 << 16},
      {"gfx90a gfx942 gfx950", "HW_REG_GPR_ALLOC", 5 << 6 | 11 << 12 | 3 << 24},
      {"gfx1100", "HW_REG_GPR_ALLOC", 5 << 12},
      {"gfx1201", "HW_REG_WAVE_GPR_ALLOC", 5 << 12},
      {"gfx90a gfx942 gfx1100", "HW_REG_LDS_ALLOC", 2 << 12},
      {"gfx950", "HW_REG_LDS_ALLOC", 1 << 12},
      {"gfx1201", "HW_REG_WAVE_LDS_ALLOC", 2 << 12},
      {"gfx90a gfx942 gfx950 gfx1100 gfx1201", "HW_REG_IB_STS", 0},
      {"gfx90a gfx942 gfx950 gfx1100", "HW_REG_SH_MEM_BASES", 2 | 1 << 16},
      {"gfx1100", "HW_REG_SHADER_CYCLES", 0, 0xfff00000},
      {"gfx1201", "HW_REG_SHADER_CYCLES_LO", 0, 0},
      {"gfx1201", "HW_REG_SHADER_CYCLES_HI", 0, 0},
      {"gfx1201", "HW_REG_WAVE_SCHED_MODE", 0},
      {"gfx1201", "HW_REG_WAVE_EXCP_FLAG_PRIV", 0},
      {"gfx1201", "HW_REG_WAVE_TRAP_CTRL", 0},
      {"gfx90a gfx942 gfx950 gfx1100", "HW_REG_TRAPSTS", 0, ~0u, "TRAPSTS"},
      {"gfx90a gfx942 gfx950 gfx1100", "HW_REG_TRAPSTS, 28, 1", 0},
      {"gfx1201", "HW_REG_WAVE_EXCP_FLAG_USER", 0, ~0u, "WAVE_EXCP_FLAG_USER"},
      {"gfx1201", "HW_REG_WAVE_DVGPR_ALLOC_LO", 0, ~0u, "WAVE_DVGPR_ALLOC_LO"},
      {"gfx90a gfx942", "HW_REG_TBA_LO", 0, ~0u, "TBA_LO"},
      {"gfx942", "HW_REG_SQ_PERF_SNAPSHOT_DATA", 0, ~0u, "PERF_SNAPSHOT"},
      {"gfx1201", "HW_REG_PERF_SNAPSHOT_DATA1", 0, ~0u, "PERF_SNAPSHOT"},
      {"gfx1100", "4", 0, ~0u, "gfx1100 does not have"},
      {"gfx90a", "20", 0, ~0u, "gfx90a does not have"},
      {"gfx1201", "3", 0, ~0u, "gfx1201 does not have"},
  };
  KernelDescriptor descriptor;
  descriptor.rsrc1 = 5 | 3 << 6;
  descriptor.rsrc3 = 11;
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<std::pair<const Case *, size_t>> ids;
    for (const Case &c : cases)
      if ((std::string(c.targets) + " ").find(std::string(target) + " ") != std::string::npos)
        ids.push_back({&c, m.add(std::string("s_getreg_b32 s20, hwreg(") + c.name + ")")});
    m.build();
    m.wave.descriptor = &descriptor;
    m.wave.group->waves.resize(8);
    m.wave.group->number = 83;
    m.wave.index = 5;
    m.wave.ldsSize = 1000;
    m.wave.scc = 1;
    for (const auto &[c, id] : ids) {
      INFO(target << ": " << m.text(id));
      REQUIRE(m.accepted(id));
      const std::string fault = m.run(id);
      if (c->fault)
        CHECK_THAT(fault, Catch::Contains(c->fault));
      else
        CHECK((fault + std::to_string(m.s(20) & c->mask)) == std::to_string(c->value));
    }
  }
}

TEST_CASE("opcodes: the shader's clock goes on") {
  for (const char *target : {"gfx1100", "gfx1201"}) {
    Machine m(target);
    const size_t clock = m.add(m.gfx12 ? "s_getreg_b32 s20, hwreg(HW_REG_SHADER_CYCLES_LO)\n"
                                         "s_getreg_b32 s21, hwreg(HW_REG_SHADER_CYCLES_HI)"
                                       : "s_getreg_b32 s20, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\n"
                                         "s_mov_b32 s21, 0"),
                 real = m.add("s_sendmsg_rtn_b64 s[22:23], sendmsg(MSG_RTN_GET_REALTIME)"),
                 doorbell = m.add("s_sendmsg_rtn_b32 s22, sendmsg(MSG_RTN_GET_DOORBELL)");
    m.build();
    u64 last = 0;
    bool moved = false;
    for (int i = 0; i < 100; ++i) {
      REQUIRE(m.run(clock) == "");
      moved |= i > 0 && m.s64(20) != last;
      last = m.s64(20);
    }
    CHECK(moved);
    CHECK(m.run(real) == "");
    const u64 first = m.s64(22);
    CHECK(m.run(real) == "");
    CHECK(m.s64(22) - first < 100000000);
    CHECK_THAT(m.run(doorbell), Catch::Contains("doorbell"));
  }
}

TEST_CASE("opcodes: writes of hardware registers take effect or are refused") {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1", ""},
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 0", ""},
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 1", "MODE"},
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1", "register indexing"},
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 7), 0", ""},
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 7), 4", "TRAPSTS"},
      {"gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 0, 1), 1", "does not write"},
      {"gfx1100", "s_setreg_imm32_b32 hwreg(HW_REG_HW_ID1, 0, 1), 1", "does not write"},
      {"gfx1201",
       "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2\n"
       "s_getreg_b32 s20, hwreg(HW_REG_WAVE_SCHED_MODE)\ns_sub_u32 s21, s20, 2",
       ""},
      {"gfx1201", "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_TRAP_CTRL, 0, 7), 1", "WAVE_TRAP_CTRL"},
  };
  for (const auto &[target, text, fault] : cases) {
    Machine m(target);
    const size_t id = m.add(text);
    m.build();
    INFO(target << ": " << text);
    REQUIRE(m.accepted(id));
    m.s(21) = 0;
    const std::string got = m.run(id);
    if (*fault)
      CHECK_THAT(got, Catch::Contains(fault));
    else
      CHECK((got.empty() && m.s(21) == 0));
  }
}

TEST_CASE("opcodes: gfx11: loops over the halves of a wave match the reference") {
  Machine m("gfx1100");
  const size_t begin = m.add("s_subvector_loop_begin s20, 1\ns_nop 1\ns_mov_b32 s21, 1"),
               end = m.add("s_nop 2\ns_subvector_loop_end s20, 1\ns_mov_b32 s21, 2\ns_nop 1");
  m.build();
  auto set = [&](uint32_t low, uint32_t high, uint32_t saved) {
    m.s(126) = low;
    m.s(127) = high;
    m.s(20) = saved;
    m.s(21) = 0;
  };
  set(5, 6, 0); // both halves: the low one first, the other one kept
  CHECK(m.run(begin) == "");
  CHECK((m.s(126) == 5 && m.s(127) == 0 && m.s(20) == 6));
  set(0, 6, 9);
  CHECK(m.run(begin) == "");
  CHECK((m.s(126) == 0 && m.s(127) == 6 && m.s(20) == 0));
  set(5, 0, 6); // the low half is done: again, with the high one
  CHECK(m.run(end) == "");
  CHECK((m.s(126) == 0 && m.s(127) == 6 && m.s(20) == 5 && m.s(21) == 0));
  set(0, 6, 5); // both are done
  CHECK(m.run(end) == "");
  CHECK((m.s(126) == 5 && m.s(127) == 6 && m.s(21) == 2));
}

TEST_CASE("opcodes: scalar loads and stores match the reference") {
  struct Access {
    const char *gfx9, *later;
    unsigned bytes;
    bool isSigned;
    int where; ///< 0 plain, 1 buffer, 2 scratch
    bool store;
  };
  static const Access kAccesses[] = {
      {"s_load_dword", "s_load_b32", 4, false, 0, false},
      {"s_load_dwordx2", "s_load_b64", 8, false, 0, false},
      {"-", "s_load_b96", 12, false, 0, false},
      {"s_load_dwordx4", "s_load_b128", 16, false, 0, false},
      {"s_load_dwordx8", "s_load_b256", 32, false, 0, false},
      {"s_load_dwordx16", "s_load_b512", 64, false, 0, false},
      {"-", "s_load_i8", 1, true, 0, false},
      {"-", "s_load_u8", 1, false, 0, false},
      {"-", "s_load_i16", 2, true, 0, false},
      {"-", "s_load_u16", 2, false, 0, false},
      {"s_buffer_load_dword", "s_buffer_load_b32", 4, false, 1, false},
      {"s_buffer_load_dwordx2", "s_buffer_load_b64", 8, false, 1, false},
      {"-", "s_buffer_load_b96", 12, false, 1, false},
      {"s_buffer_load_dwordx4", "s_buffer_load_b128", 16, false, 1, false},
      {"s_buffer_load_dwordx8", "s_buffer_load_b256", 32, false, 1, false},
      {"s_buffer_load_dwordx16", "s_buffer_load_b512", 64, false, 1, false},
      {"-", "s_buffer_load_i8", 1, true, 1, false},
      {"-", "s_buffer_load_u8", 1, false, 1, false},
      {"-", "s_buffer_load_i16", 2, true, 1, false},
      {"-", "s_buffer_load_u16", 2, false, 1, false},
      {"s_scratch_load_dword", "-", 4, false, 2, false},
      {"s_scratch_load_dwordx2", "-", 8, false, 2, false},
      {"s_scratch_load_dwordx4", "-", 16, false, 2, false},
      {"s_store_dword", "-", 4, false, 0, true},
      {"s_store_dwordx2", "-", 8, false, 0, true},
      {"s_store_dwordx4", "-", 16, false, 0, true},
      {"s_buffer_store_dword", "-", 4, false, 1, true},
      {"s_buffer_store_dwordx2", "-", 8, false, 1, true},
      {"s_buffer_store_dwordx4", "-", 16, false, 1, true},
      {"s_scratch_store_dword", "-", 4, false, 2, true},
      {"s_scratch_store_dwordx2", "-", 8, false, 2, true},
      {"s_scratch_store_dwordx4", "-", 16, false, 2, true},
  };
  for (const char *target : kTargets) {
    Machine m(target);
    struct Entry {
      const Access *a;
      size_t id;
      unsigned at; ///< from the base
    };
    std::vector<Entry> entries;
    for (const Access &a : kAccesses) {
      const std::string name = m.gfx9 ? a.gfx9 : a.later;
      if (name == "-")
        continue;
      const unsigned n = std::max(1u, a.bytes / 4);
      const std::string data = (n == 1 ? "s32" : "s[32:" + std::to_string(31 + n) + "]") +
                               (a.where == 1 ? ", s[8:11]" : ", s[8:9]");
      entries.push_back({&a, m.add(name + " " + data + ", 0x40"), 64});
      entries.push_back({&a, m.add(name + " " + data + ", s14"), a.where == 2 ? 32 * 64u : 32u});
      if (m.gfx12)
        entries.push_back({&a, m.add(name + " " + data + ", s14 offset:0x10"), 48});
    }
    m.build();
    for (const Entry &e : entries) {
      const Access &a = *e.a;
      INFO(target << ": " << m.text(e.id));
      if (!m.accepted(e.id))
        continue;
      for (size_t k = 0; k < m.memory.size(); ++k)
        m.memory[k] = static_cast<uint8_t>(k * 37 + (k >> 8) * 11 + 129);
      for (unsigned r = 32; r < 64; ++r)
        m.s(r) = 0x11111111 * (r % 16) + r;
      m.setS64(8, m.address());
      m.s(10) = 120; // records: dwords beyond give zero, and stores vanish
      m.s(11) = 0;
      m.s(14) = 32;
      std::vector<uint8_t> memory = m.memory;
      std::vector<uint32_t> want(m.wave.s + 32, m.wave.s + 64);
      const unsigned limit = a.where == 1 ? 120 : 1u << 16;
      if (a.store) {
        for (unsigned d = 0; d < a.bytes; d += 4)
          if (e.at + d + 4 <= limit)
            std::memcpy(&memory[e.at + d], &want[d / 4], 4);
      } else if (a.bytes < 4) {
        uint32_t x = 0;
        std::memcpy(&x, &memory[e.at], a.bytes);
        const unsigned up = 32 - 8 * a.bytes;
        want[0] = a.isSigned ? static_cast<uint32_t>(static_cast<int32_t>(x << up) >> up) : x;
      } else {
        for (unsigned d = 0; d < a.bytes / 4; ++d) {
          want[d] = 0;
          if (e.at + 4 * d + 4 <= limit)
            std::memcpy(&want[d], &memory[e.at + 4 * d], 4);
        }
      }
      if (m.gfx1250 && a.where == 1) { // no source describes its descriptors in scalar memory
        CHECK(m.run(e.id) ==
              "scalar memory through a buffer descriptor of gfx1250 is not emulated");
        continue;
      }
      CHECK(m.run(e.id) == "");
      CHECK(m.memory == memory);
      CHECK(std::equal(want.begin(), want.end(), m.wave.s + 32));
    }
  }
}

TEST_CASE("opcodes: scalar atomics match the reference") {
  struct Atomic {
    const char *name;
    u64 (*f)(u64 m, u64 x, u64 c, unsigned bits);
  };
  auto sx = [](u64 x, unsigned bits) { return int64_t(x << (64 - bits)) >> (64 - bits); };
  static const auto s = sx;
  static const Atomic kAtomics[] = {
      {"swap", [](u64, u64 x, u64, unsigned) { return x; }},
      {"cmpswap", [](u64 m, u64 x, u64 c, unsigned) { return m == c ? x : m; }},
      {"add", [](u64 m, u64 x, u64, unsigned) { return m + x; }},
      {"sub", [](u64 m, u64 x, u64, unsigned) { return m - x; }},
      {"smin", [](u64 m, u64 x, u64, unsigned b) { return s(x, b) < s(m, b) ? x : m; }},
      {"umin", [](u64 m, u64 x, u64, unsigned) { return std::min(m, x); }},
      {"smax", [](u64 m, u64 x, u64, unsigned b) { return s(x, b) > s(m, b) ? x : m; }},
      {"umax", [](u64 m, u64 x, u64, unsigned) { return std::max(m, x); }},
      {"and", [](u64 m, u64 x, u64, unsigned) { return m & x; }},
      {"or", [](u64 m, u64 x, u64, unsigned) { return m | x; }},
      {"xor", [](u64 m, u64 x, u64, unsigned) { return m ^ x; }},
      {"inc", [](u64 m, u64 x, u64, unsigned) { return m >= x ? 0 : m + 1; }},
      {"dec", [](u64 m, u64 x, u64, unsigned) { return m == 0 || m > x ? x : m - 1; }},
  };
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    struct Entry {
      const Atomic *a;
      unsigned bits;
      bool buffer, returns;
      size_t id;
    };
    std::vector<Entry> entries;
    for (const Atomic &a : kAtomics)
      for (unsigned bits : {32u, 64u})
        for (bool buffer : {false, true})
          for (bool returns : {false, true}) {
            const unsigned n = bits / 32 * (std::string(a.name) == "cmpswap" ? 2 : 1);
            entries.push_back(
                {&a, bits, buffer, returns,
                 m.add(std::string(buffer ? "s_buffer_atomic_" : "s_atomic_") + a.name +
                       (bits == 64 ? "_x2" : "") +
                       (n == 1 ? " s32" : " s[32:" + std::to_string(31 + n) + "]") +
                       (buffer ? ", s[8:11]" : ", s[8:9]") + ", 0x20" + (returns ? " glc" : ""))});
          }
    m.build();
    for (const Entry &e : entries) {
      INFO(target << ": " << m.text(e.id));
      REQUIRE(m.accepted(e.id));
      for (u64 memory : {u64(0), u64(5), u64(0x8000000080000000), ~u64(0)})
        for (u64 x : {u64(1), u64(5), u64(0x7fffffff7fffffff), u64(0xfffffffffffffffe)})
          for (u64 c : {u64(5), x}) {
            const u64 mask = e.bits == 64 ? ~u64(0) : 0xffffffff;
            m.setS64(8, m.address());
            m.s(10) = 4096;
            m.s(11) = 0;
            std::memcpy(&m.memory[32], &memory, 8);
            m.setS64(32, x);
            m.setS64(32 + e.bits / 32, c);
            CHECK(m.run(e.id) == "");
            u64 got = 0;
            std::memcpy(&got, &m.memory[32], e.bits / 8);
            CHECK(got == (e.a->f(memory & mask, x & mask, c & mask, e.bits) & mask));
            CHECK((m.s64(32) & mask) == (e.returns ? memory & mask : x & mask));
          }
    }
  }
}

} // namespace flyemu::test
