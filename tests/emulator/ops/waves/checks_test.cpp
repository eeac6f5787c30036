// Planted mistakes, which the checks must find, and correct code, in which they must find nothing.
#include "operands.h"

#include <tuple>

using namespace flyemu;
using namespace flyemu::test;

namespace {
constexpr unsigned kAll = kCheckMemory | kCheckRace | kCheckInit | kCheckSync;

bool found(const WaveRun &w, Check check, const std::string &part) {
  for (const Finding &f : w.result.findings)
    if (f.check == check && f.message.find(part) != std::string::npos)
      return true;
  return false;
}
std::string all(const WaveRun &w) {
  std::string s;
  for (const Finding &f : w.result.findings)
    s += f.message + "\n";
  return s;
}
} // namespace

TEST_CASE("correct code has no findings") {
  WaveRun w;
  w.checks = kAll;
  w.waves = 2;
  w.lds = 256;
  w.v = {{1, iota(0, 4)}, {2, iota(7)}};
  w.readV = {3};
  // Each wave writes the same words, but a barrier stands between them and no wave reads before the
  // last one.
  w.run("v_lshrrev_b32 v5, 6, v0\nv_and_b32 v5, 1, v5\nv_cmp_eq_u32 vcc, 0, v5\n"
        "s_and_saveexec_b64 s[20:21], vcc\nds_write_b32 v1, v2\ns_mov_b64 exec, s[20:21]\n"
        "s_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v3, v1\n");
  INFO(all(w));
  CHECK(w.result.findings.empty());
  CHECK(w.outV[3] == w.v[2]);
}

TEST_CASE("a race in LDS names both instructions") {
  WaveRun w;
  w.checks = kCheckRace;
  w.waves = 2;
  w.lds = 256;
  w.v = {{1, iota(0, 4)}, {2, iota(7)}};
  w.run("ds_write_b32 v1, v2\nds_read_b32 v3, v1\n");
  INFO(all(w));
  CHECK(found(w, kCheckRace, "ds_write_b32 v1, v2"));
  CHECK(found(w, kCheckRace, "read and write"));
  w.run("v_lshrrev_b32 v5, 6, v0\nv_cmp_eq_u32 vcc, 0, v5\ns_and_saveexec_b64 s[20:21], vcc\n"
        "ds_write_b32 v1, v2\ns_mov_b64 exec, s[20:21]\nds_read_b32 v3, v1\n");
  INFO(all(w));
  CHECK(found(w, kCheckRace, "ds_read_b32 v3, v1"));
  CHECK(found(w, kCheckRace, "write and read"));
  w.run("ds_add_u32 v1, v2\n"); // atomics do not race with each other
  CHECK(w.result.findings.empty());
}

TEST_CASE("races are told byte by byte beside wide accesses") {
  WaveRun w;
  w.checks = kCheckRace;
  w.waves = 2;
  w.lds = 2048;
  w.memory.resize(4096);
  w.v = {{1, iota(0, 16)}, {2, iota(7)}, {3, iota(0)}};
  // v5 is 16 * lane + the wave, v9 differs between the waves.
  const std::string wide = "ds_write_b128 v1, v[8:11]\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                           "v_lshrrev_b32 v5, 6, v0\nv_add_u32 v9, v5, v2\nv_add_u32 v5, v5, v1\n",
                    values = "v_mov_b32 v8, 1\nv_mov_b32 v9, v0\nv_mov_b32 v10, 2\n"
                             "v_mov_b32 v11, 3\nv_lshrrev_b32 v12, 6, v0\nv_lshlrev_b32 v12, 10, "
                             "v12\nv_add_u32 v1, v1, v12\n";
  const std::string back = "v_sub_u32 v5, v5, v12\n"; // to where the first wave has written
  w.run(values + wide + back + "ds_write_b8 v5, v9\n");
  INFO(all(w));
  CHECK(w.result.findings.empty()); // neighbouring bytes
  w.run(values + wide + back + "ds_write_b16 v5, v9\n");
  INFO(all(w));
  CHECK(found(w, kCheckRace, "LDS byte 1 ")); // the first wave's second byte, in its lane 0
  CHECK(found(w, kCheckRace, "lane 0, at"));
  w.run(values + wide + back + "ds_write_b8 v5, v9\ns_nop 0\nds_read_b128 v[16:19], v1\n");
  INFO(all(w));
  CHECK(found(w, kCheckRace, "read and write of LDS byte 1 "));
}

TEST_CASE("waves that write the same value are a class of their own") {
  WaveRun w;
  w.waves = 2;
  w.lds = 256;
  w.memory.resize(4096);
  w.v = {{1, iota(0, 4)}, {2, iota(7)}};
  const std::string same = "ds_write_b32 v1, v2\n",
                    other = "v_add_u32 v9, v0, v2\nds_write_b32 v1, v9\n",
                    half = "v_lshrrev_b32 v9, 6, v0\nv_lshlrev_b32 v9, 24, v9\n"
                           "v_or_b32 v9, v9, v2\nds_write_b32 v1, v9\n";
  w.checks = kCheckRace;
  w.run(same);
  CHECK(w.result.findings.empty());
  w.run(other);
  CHECK(found(w, kCheckRace, "write and write"));
  w.run(half); // the upper byte alone differs
  CHECK(found(w, kCheckRace, "write and write"));
  w.checks = kCheckRaceSame;
  w.run(same);
  CHECK(found(w, kCheckRaceSame, "both write the same value"));
  w.run(other);
  CHECK(w.result.findings.empty());
  w.checks = kCheckRace | kCheckRaceSame;
  w.run(same + "s_barrier\n" + other);
  CHECK(w.result.findings.size() == 2);
  // The first wave has read what the second one writes.
  w.checks = kCheckRace;
  w.run(same + "ds_read_b32 v3, v1\n");
  CHECK(found(w, kCheckRace, "read and write"));
}

TEST_CASE("the operands of memory instructions are those that they have") {
  constexpr const char *kData = "used as stored data", *kAddress = "used as an address";
  // v1, v[4:5] and v[10:13] have values; v[14:21] have none, nor has v0, which is the second data
  // operand's field of what has no second operand.
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"gfx942", "ds_write_b64 v1, v[4:5]", nullptr},
      {"gfx942", "ds_write_b128 v1, v[10:13]", nullptr},
      {"gfx942", "ds_write_b64 v1, v[14:15]", kData},
      {"gfx942", "ds_write2_b32 v1, v4, v14", kData},
      {"gfx942", "ds_write2_b32 v1, v4, v5 offset1:1", nullptr},
      {"gfx942", "ds_write2st64_b64 v1, v[4:5], v[14:15]", kData},
      {"gfx942", "ds_add_u32 v1, v14", kData},
      {"gfx942", "ds_cmpst_b32 v1, v4, v14", kData},
      {"gfx942", "ds_cmpst_rtn_b32 v16, v1, v4, v5\nglobal_store_dword v1, v16, s[2:3]", nullptr},
      {"gfx942", "ds_read_b64 v[14:15], v1\nglobal_store_dword v1, v16, s[2:3]", kData},
      {"gfx942", "ds_read_b64 v[14:15], v1\nglobal_store_dwordx2 v1, v[14:15], s[2:3]", nullptr},
      {"gfx942", "ds_read2_b32 v[14:15], v1 offset1:1\nglobal_store_dwordx2 v1, v[14:15], s[2:3]",
       nullptr},
      {"gfx942", "ds_read_b32 v4, v14", kAddress},
      {"gfx942", "ds_swizzle_b32 v4, v14 offset:0x8055", nullptr},
      {"gfx942", "ds_bpermute_b32 v4, v1, v14", nullptr},
      {"gfx942", "ds_bpermute_b32 v4, v14, v1", kAddress},
      {"gfx942", "global_atomic_add v1, v14, s[2:3]", kData},
      {"gfx942", "global_atomic_cmpswap v1, v[4:5], s[2:3]", nullptr},
      {"gfx942", "global_atomic_cmpswap v1, v[14:15], s[2:3]", kData},
      {"gfx942", "global_atomic_add v1, v4, s[2:3]\nglobal_store_dword v1, v14, s[2:3]", kData},
      {"gfx942", "global_atomic_add v14, v1, v4, s[2:3] sc0\nglobal_store_dword v1, v14, s[2:3]",
       nullptr},
      {"gfx942", "global_load_short_d16 v4, v1, s[2:3]", nullptr},
      {"gfx1100", "ds_store_b128 v1, v[10:13]", nullptr},
      {"gfx1201", "ds_store_b128 v1, v[10:13]", nullptr},
      {"gfx1201", "ds_store_2addr_b32 v1, v4, v14", kData},
      {"gfx1201", "global_atomic_add_u32 v1, v14, s[2:3]", kData},
  };
  for (const auto &[target, text, message] : cases) {
    WaveRun w(target);
    w.checks = kCheckInit;
    w.lds = 8192;
    w.memory.resize(4096);
    w.v = {{1, iota(0, 16)}};
    for (unsigned r : {4, 5, 10, 11, 12, 13})
      w.v[r] = iota(r);
    const bool gfx12 = w.target == "gfx1201";
    const std::string wait = gfx12 ? "s_wait_dscnt 0\n" : "s_waitcnt lgkmcnt(0)\n";
    // What is read from LDS is written first.
    w.run("ds_" + std::string(w.target == "gfx942" ? "write" : "store") + "_b128 v1, v[10:13]\n" +
          wait + text + "\n");
    INFO(target << ": " << text << "\n" << all(w));
    if (message)
      CHECK(found(w, kCheckInit, message));
    else
      CHECK(w.result.findings.empty());
  }
}

TEST_CASE("reads of what nobody wrote") {
  WaveRun w;
  w.checks = kCheckInit;
  w.lds = 256;
  w.memory.resize(4096);
  w.v = {{1, iota(0, 4)}};
  w.run("ds_read_b32 v3, v1\n");
  CHECK(found(w, kCheckInit, "LDS byte 0"));
  w.run("v_add_u32 v9, v10, v1\nv_and_b32 v9, 63, v9\nglobal_load_dword v3, v9, s[2:3]\n");
  CHECK(found(w, kCheckInit, "used as an address"));
  w.run("v_mov_b32 v10, 4\nv_add_u32 v9, v10, v1\nglobal_load_dword v3, v9, s[2:3]\n");
  CHECK(w.result.findings.empty());
  // A lane that was off when the register was written has no value when it is on again.
  w.run(
      "s_mov_b64 s[20:21], exec\ns_mov_b64 exec, 0xff\nv_mov_b32 v9, 0\ns_mov_b64 exec, s[20:21]\n"
      "v_mov_b32 v8, v9\nglobal_store_dword v1, v8, s[2:3]\n");
  CHECK(found(w, kCheckInit, "lanes 8-63,"));
}

TEST_CASE("scalar registers that nobody wrote are reported where they are read") {
  constexpr const char *kAddress = "scalar register that was never written is used as an address",
                       *kVector = "a register that was never written is used as an address",
                       *kData = "a register that was never written is used as stored data",
                       *kBranch = "a branch is decided by a value that was never written",
                       *kLane = "a lane is on by a condition that was never written";
  // s30 and s31 have no value, s[8:11] and v1 do. What is found is null where nothing is wrong.
  const std::pair<const char *, const char *> cases[] = {
      {"s_and_b32 s20, s30, 60\nv_add_u32 v9, s20, v1\nglobal_load_dword v3, v9, s[2:3]", kVector},
      {"v_mov_b32 v9, s30\nglobal_store_dword v1, v9, s[2:3]", kData},
      {"s_add_u32 s20, s30, 1\ns_addc_u32 s21, 0, 0\nv_mov_b32 v9, s21\n"
       "global_store_dword v1, v9, s[2:3]",
       kData},
      {"v_cndmask_b32 v9, v1, v1, s[30:31]\nglobal_store_dword v1, v9, s[2:3]", kData},
      // A pair of halves has a value where one of them has.
      {"v_pack_b32_f16 v9, v1, s30\nglobal_store_short v1, v9, s[2:3]", nullptr},
      {"v_cvt_pkrtz_f16_f32 v9, s30, v1\nglobal_store_dword v1, v9, s[2:3]", nullptr},
      {"v_pack_b32_f16 v9, s30, s30\nglobal_store_short v1, v9, s[2:3]", kData},
      // Addresses of all kinds.
      {"s_mov_b32 s4, s2\ns_and_b32 s5, s30, 0\ns_or_b32 s5, s5, s3\n"
       "global_load_dword v3, v1, s[4:5]",
       nullptr},
      {"s_mov_b32 s4, s2\ns_and_b32 s5, s30, 1\ns_lshr_b32 s5, s5, s8\ns_andn2_b32 s5, s3, s5\n"
       "s_or_b32 s5, s5, s3\nglobal_load_dword v3, v1, s[4:5]",
       nullptr},
      {"s_and_b32 s4, s30, 4\ns_add_u32 s4, s2, s4\ns_addc_u32 s5, s3, 0\n"
       "global_load_dword v3, v1, s[4:5]",
       kAddress},
      {"s_and_b32 s20, s30, 4\ns_load_dword s21, s[2:3], s20", kAddress},
      {"buffer_load_dword v3, v1, s[8:11], s30 offen", kAddress},
      {"buffer_load_dword v3, v1, s[8:11], s9 offen", nullptr},
      {"s_mov_b32 s9, s30\nbuffer_load_dword v3, v1, s[8:11], 0 offen", kAddress},
      {"global_load_lds_dword v1, s[2:3]", kAddress},
      {"s_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[2:3]", nullptr},
      // Branches, and bits that settle them.
      {"s_cmp_gt_u32 s30, 5\ns_cbranch_scc1 past\npast:", kBranch},
      {"s_or_b32 s20, s30, 1\ns_cbranch_scc0 past\npast:", nullptr},
      {"s_and_b32 s20, s30, 1\ns_cbranch_scc0 past\npast:", kBranch},
      {"s_or_b32 s20, s30, 1\ns_cmp_eq_u32 s20, 0\ns_cbranch_scc1 past\npast:", nullptr},
      {"s_or_b32 s20, s30, 1\ns_bitcmp1_b32 s20, 0\ns_cbranch_scc0 past\npast:", nullptr},
      {"s_or_b32 s20, s30, 1\ns_lshl_b32 s20, s20, 4\ns_bitcmp1_b32 s20, 5\n"
       "s_cbranch_scc0 past\npast:",
       kBranch},
      {"s_cmp_eq_u32 s2, s2\ns_cselect_b32 s20, 1, s30\ns_cmp_lg_u32 s20, 0\n"
       "s_cbranch_scc0 past\npast:",
       nullptr},
      {"s_cmp_eq_u32 s2, s2\ns_cselect_b32 s20, s30, 1\ns_cmp_lg_u32 s20, 0\n"
       "s_cbranch_scc0 past\npast:",
       kBranch},
      {"v_cmp_eq_u32 vcc, 0, v20\ns_cbranch_vccz past\npast:", kBranch},
      {"v_cmp_eq_u32 vcc, 0, v20\ns_and_b64 vcc, vcc, 0\ns_cbranch_vccz past\npast:", nullptr},
      {"v_cmp_eq_u32 vcc, 0, v20\ns_and_saveexec_b64 s[20:21], vcc\n"
       "global_store_dword v1, v1, s[2:3]\ns_mov_b64 exec, s[20:21]",
       kLane},
      // Through a lane of a vector register, as spilled.
      {"v_writelane_b32 v9, s30, 3\nv_readlane_b32 s20, v9, 3\ns_cmp_lg_u32 s20, 0\n"
       "s_cbranch_scc0 past\npast:",
       kBranch},
      {"v_writelane_b32 v9, s2, 3\nv_readlane_b32 s20, v9, 3\ns_cmp_lg_u32 s20, 0\n"
       "s_cbranch_scc0 past\npast:",
       nullptr},
      {"v_readfirstlane_b32 s20, v20\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc0 past\npast:", kBranch},
      // What instructions read and write besides the operands of their text.
      {"s_mov_b64 vcc, s[30:31]\nv_div_fmas_f32 v9, v1, v1, v1\ns_mov_b64 vcc, 0\n"
       "global_store_dword v1, v9, s[2:3]",
       kData},
      {"s_mov_b64 vcc, 0\nv_div_fmas_f32 v9, v1, v1, v1\nglobal_store_dword v1, v9, s[2:3]",
       nullptr},
      {"v_mov_b32 v0, v20\nv_nop\nglobal_store_dword v1, v0, s[2:3]", kData},
      {"v_mov_b32 v9, v1\nv_swap_b32 v9, v20\nglobal_store_dword v1, v20, s[2:3]", nullptr},
      {"v_mov_b32 v9, v1\nv_swap_b32 v9, v20\nglobal_store_dword v1, v9, s[2:3]", kData},
      {"s_mov_b32 s0, s30\ns_set_gpr_idx_idx s8\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc0 past\npast:",
       kBranch},
      {"s_and_b32 s20, s30, 1\ns_set_gpr_idx_on s8, gpr_idx()\ns_set_gpr_idx_off\n"
       "s_cbranch_scc0 past\npast:",
       kBranch},
  };
  for (const auto &[text, message] : cases) {
    WaveRun w;
    w.checks = kCheckInit;
    w.lds = 256;
    w.memory.resize(4096);
    w.v = {{1, iota(0, 4)}};
    w.s = {{8, 0}, {9, 0}, {10, 0}, {11, 0}};
    w.run(std::string(text) + "\ns_cmp_eq_u32 s2, s2\n");
    INFO(text);
    INFO(all(w));
    if (message)
      CHECK(found(w, kCheckInit, message));
    else
      CHECK(w.result.findings.empty());
  }
}

TEST_CASE("a barrier that says whose signal was first writes SCC") {
  WaveRun w("gfx1201");
  w.checks = kCheckInit;
  w.run("s_cmp_gt_u32 s30, 5\ns_barrier_signal_isfirst -1\ns_barrier_wait -1\n"
        "s_cbranch_scc0 past\npast:\n");
  INFO(all(w));
  CHECK(w.result.findings.empty());
  w.run("s_cmp_gt_u32 s30, 5\ns_cbranch_scc0 past\npast:\n");
  CHECK(found(w, kCheckInit, "a branch is decided by a value that was never written"));
}

TEST_CASE("accesses out of LDS's bounds are reported, misaligned ones are none but atomics") {
  WaveRun w;
  w.checks = kCheckMemory;
  w.lds = 128;
  w.v = {{1, iota(0, 4)}, {2, iota(2, 0)}};
  w.run("ds_write_b32 v1, v1\n");
  CHECK(found(w, kCheckMemory, "at 128 of 128"));
  w.run("ds_read_b32 v3, v2\n");
  CHECK(w.result.findings.empty());
  w.run("ds_add_u32 v2, v1\n");
  CHECK(found(w, kCheckMemory, "misaligned atomic"));
}

TEST_CASE("barriers in divergent code, and waves that do not come") {
  WaveRun w;
  w.checks = kCheckSync;
  w.waves = 2;
  w.v = {{1, iota(0)}};
  w.run("v_cmp_gt_u32 vcc, 5, v1\ns_and_saveexec_b64 s[20:21], vcc\ns_barrier\ns_mov_b64 exec, "
        "s[20:21]\n");
  CHECK(found(w, kCheckSync, "divergent"));
  w.run("v_readfirstlane_b32 s20, v0\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 "
        "other\ns_barrier\ns_branch past\n"
        "other:\ns_barrier\npast:\n");
  CHECK(found(w, kCheckSync, "different barriers"));
  // The second wave is a barrier behind the first, which is no mistake.
  w.run("v_readfirstlane_b32 s20, v0\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc0 early\ns_barrier\n"
        "early:\ns_barrier\ns_barrier\ns_cbranch_scc1 done\ns_barrier\ndone:\n");
  CHECK(w.result.findings.empty());
  w.run("v_readfirstlane_b32 s20, v0\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc0 "
        "stay\ns_endpgm\nstay:\ns_barrier\n");
  CHECK(found(w, kCheckSync, "has ended"));
}
