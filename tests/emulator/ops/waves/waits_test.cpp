// Waits that are missing or too weak, which the wait check must find, and code that has what it
// needs, in which it must find nothing.
#include "operands.h"

#include "emulator/observe/waits/wait_check.h"

using namespace flyemu;
using namespace flyemu::test;

namespace {
std::string all(const WaveRun &w) {
  std::string s;
  for (const Finding &f : w.result.findings)
    s += f.message + "\n";
  return s;
}
/// Whether the only findings are about the instructions at both places.
bool found(const WaveRun &w, const std::string &part, const std::string &first,
           const std::string &second) {
  for (const Finding &f : w.result.findings)
    if (f.check == kCheckWait && f.message.find(part) != std::string::npos &&
        f.message.find(first) != std::string::npos &&
        f.message.find("at +", f.message.find(first)) != std::string::npos &&
        f.message.find(second) != std::string::npos)
      return true;
  return false;
}
/// A run of `text` with the wait check, with values that land late.
WaveRun ran(const std::string &target, const std::string &text, unsigned waves = 1,
            uint32_t slice = kDefaultSlice) {
  WaveRun w(target);
  w.checks = kCheckWait;
  w.landLate = true;
  w.waves = waves;
  w.slice = slice;
  w.lds = 4096;
  w.memory.resize(4096);
  for (size_t i = 0; i < w.memory.size(); i += 4) {
    const auto value = static_cast<uint32_t>(i + 1);
    std::memcpy(w.memory.data() + i, &value, 4);
  }
  w.v = {{1, iota(0, 4)}, {2, iota(7, 1)}};
  w.readV = {9};
  w.run(text);
  return w;
}

struct Case {
  std::string target, text;
  std::string mistake, first; ///< empty: none
};
} // namespace

TEST_CASE("registers that are used before a load into them has landed") {
  const std::string read = "is read before the load into it has landed, for which ",
                    overwritten = "is overwritten before the load into it has landed, for which ";
  const Case cases[] = {
      // Each counter, and how many may be left.
      {"gfx942", "global_load_dword v3, v1, s[2:3]\nv_mov_b32 v9, v3", "v3 " + read + "vmcnt(0)",
       "global_load_dword v3"},
      {"gfx942", "global_load_dword v3, v1, s[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v9, v3", "", ""},
      {"gfx942",
       "global_load_dword v3, v1, s[2:3]\nglobal_load_dword v4, v1, s[2:3]\ns_waitcnt vmcnt(1)\n"
       "v_mov_b32 v9, v3",
       "", ""},
      {"gfx942",
       "global_load_dword v3, v1, s[2:3]\nglobal_load_dword v4, v1, s[2:3]\ns_waitcnt vmcnt(1)\n"
       "v_mov_b32 v9, v4",
       "v4 " + read + "vmcnt(0)", "global_load_dword v4"},
      {"gfx942",
       "global_load_dword v3, v1, s[2:3]\nglobal_load_dword v4, v1, s[2:3]\ns_waitcnt vmcnt(2)\n"
       "v_mov_b32 v9, v3",
       "v3 " + read + "vmcnt(1)", "global_load_dword v3"},
      // Stores count with loads on gfx9, and apart from gfx10 on.
      {"gfx90a",
       "global_load_dword v3, v1, s[2:3]\nglobal_store_dword v1, v2, s[2:3]\ns_waitcnt vmcnt(1)\n"
       "v_mov_b32 v9, v3",
       "", ""},
      {"gfx1100",
       "global_load_b32 v3, v1, s[2:3]\nglobal_store_b32 v1, v2, s[2:3]\ns_waitcnt vmcnt(1)\n"
       "v_mov_b32 v9, v3",
       "v3 " + read + "vmcnt(0)", "global_load_b32 v3"},
      {"gfx1100", "global_load_b32 v3, v1, s[2:3]\ns_waitcnt_vscnt null, 0\nv_mov_b32 v9, v3",
       "v3 " + read + "vmcnt(0)", "global_load_b32 v3"},
      // Atomic operations that return.
      {"gfx942", "global_atomic_add v3, v1, v2, s[2:3] sc0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v9, v3",
       "v3 " + read + "vmcnt(0)", "global_atomic_add v3"},
      {"gfx942", "global_atomic_add v1, v2, s[2:3]\nv_mov_b32 v9, v2", "", ""},
      // LDS ends in order, scalar memory in none.
      {"gfx942", "ds_read_b32 v3, v1\nds_read_b32 v4, v1\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v9, v3",
       "", ""},
      {"gfx942", "ds_read_b32 v3, v1\nds_read_b32 v4, v1\ns_waitcnt vmcnt(0)\nv_mov_b32 v9, v3",
       "v3 " + read + "lgkmcnt(1)", "ds_read_b32 v3"},
      {"gfx942",
       "s_load_dword s20, s[2:3], 0\ns_load_dword s21, s[2:3], 4\ns_waitcnt lgkmcnt(1)\n"
       "v_mov_b32 v9, s20",
       "s20 " + read + "lgkmcnt(0)", "s_load_dword s20"},
      {"gfx942",
       "ds_read_b32 v3, v1\ns_load_dword s21, s[2:3], 4\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v9, v3",
       "v3 " + read + "lgkmcnt(0)", "ds_read_b32 v3"},
      {"gfx942", "s_load_dwordx2 vcc, s[2:3], 0\nv_cndmask_b32 v9, v1, v2, vcc",
       "vcc_lo " + read + "lgkmcnt(0)", "s_load_dwordx2 vcc"},
      {"gfx942", "ds_bpermute_b32 v3, v1, v2\nv_mov_b32 v9, v3", "v3 " + read + "lgkmcnt(0)",
       "ds_bpermute_b32 v3"},
      // A flat access counts in two counters, on gfx9 in no order.
      {"gfx942",
       "v_mov_b32 v5, s3\nv_add_co_u32 v4, vcc, s2, v1\nflat_load_dword v3, v[4:5]\n"
       "s_waitcnt vmcnt(0)\nv_mov_b32 v9, v3",
       "v3 " + read + "lgkmcnt(0)", "flat_load_dword v3"},
      {"gfx942",
       "v_mov_b32 v5, s3\nv_add_co_u32 v4, vcc, s2, v1\nflat_load_dword v3, v[4:5]\n"
       "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v9, v3",
       "", ""},
      // Counters of their own on gfx12.
      {"gfx1201",
       "global_load_b32 v3, v1, s[2:3]\ns_wait_dscnt 0\ns_wait_kmcnt 0\nv_mov_b32 v9, v3",
       "v3 " + read + "loadcnt(0)", "global_load_b32 v3"},
      {"gfx1201", "ds_load_b32 v3, v1\ns_wait_loadcnt 0\ns_wait_kmcnt 0\nv_mov_b32 v9, v3",
       "v3 " + read + "dscnt(0)", "ds_load_b32 v3"},
      {"gfx1201", "s_load_b32 s20, s[2:3], 0\ns_wait_loadcnt_dscnt 0\nv_mov_b32 v9, s20",
       "s20 " + read + "kmcnt(0)", "s_load_b32 s20"},
      {"gfx1201",
       "ds_load_b32 v3, v1\nglobal_load_b32 v4, v1, s[2:3]\ns_wait_loadcnt_dscnt 0\n"
       "v_add_nc_u32 v9, v3, v4\ns_wait_dscnt 0",
       "", ""},
      {"gfx1201", "s_load_b32 s20, s[2:3], 0\ns_wait_kmcnt 0\nv_mov_b32 v9, s20", "", ""},
      {"gfx1201", "global_load_b32 v3, v1, s[2:3]\ns_wait_idle\nv_mov_b32 v9, v3", "", ""},
      {"gfx1201",
       "global_load_b32 v3, v1, s[2:3]\nglobal_inv scope:SCOPE_DEV\ns_wait_loadcnt 1\n"
       "v_mov_b32 v9, v3",
       "", ""},
      // Overwritten: by arithmetic, by a load of another counter, and, which lands in order but on
      // gfx12, by another load.
      {"gfx942", "global_load_dword v3, v1, s[2:3]\nv_mov_b32 v3, 0", "v3 " + overwritten,
       "global_load_dword v3"},
      {"gfx942", "global_load_dword v3, v1, s[2:3]\nds_read_b32 v3, v1", "v3 " + overwritten,
       "global_load_dword v3"},
      {"gfx942",
       "global_load_dword v3, v1, s[2:3]\nglobal_load_dword v3, v1, s[2:3] offset:4\n"
       "s_waitcnt vmcnt(0)\nv_mov_b32 v9, v3",
       "", ""},
      {"gfx1201", "global_load_b32 v3, v1, s[2:3]\nglobal_load_b32 v3, v1, s[2:3] offset:4",
       "v3 " + overwritten, "global_load_b32 v3"},
      // Accumulation registers, and wide operands.
      {"gfx942",
       "v_mov_b32 v9, 0\nglobal_load_dwordx4 a[4:7], v9, s[2:3]\ns_nop 1\nv_accvgpr_read_b32 v9, "
       "a6",
       "a6 " + read + "vmcnt(0)", "global_load_dwordx4 a[4:7]"},
      {"gfx1100",
       "v_mov_b32 v9, 0\nglobal_load_b128 v[4:7], v9, s[2:3]\n"
       "v_dual_mov_b32 v8, v1 :: v_dual_mov_b32 v9, v6",
       "v6 " + read + "vmcnt(0)", "global_load_b128 v[4:7]"},
      {"gfx1100",
       "global_load_b32 v6, v1, s[2:3]\n"
       "v_dual_mul_f32 v8, v1, v2 :: v_dual_fmac_f32 v7, v2, v1",
       "", ""},
      {"gfx1100",
       "global_load_b32 v7, v1, s[2:3]\n"
       "v_dual_mul_f32 v8, v1, v2 :: v_dual_fmac_f32 v7, v2, v1",
       "v7 " + read + "vmcnt(0)", "global_load_b32 v7"},
      // A store's data may be overwritten at once.
      {"gfx942",
       "global_store_dword v1, v2, s[2:3]\nv_mov_b32 v2, 0\nds_write_b32 v1, v2\n"
       "v_mov_b32 v2, 0",
       "", ""},
  };
  for (const Case &c : cases) {
    const WaveRun w = ran(c.target, c.text);
    INFO(c.target << "\n" << c.text << "\n" << all(w));
    if (c.mistake.empty())
      CHECK(w.result.findings.empty());
    else
      CHECK(found(w, c.mistake, c.first, "workgroup (0, 0, 0), wave 0"));
  }
}

TEST_CASE("what lands late is there after the wait and not before") {
  const std::string load = "v_mov_b32 v9, 5\nglobal_load_dword v9, v1, s[2:3]\n";
  auto value = [](const WaveRun &w, unsigned lane) { return w.outV.at(9)[lane]; };
  CHECK(value(ran("gfx942", load + "s_waitcnt vmcnt(0)"), 3) == 13);
  CHECK(value(ran("gfx942", load + "v_add_u32 v9, 1, v9"), 3) == 13); // it lands on the sum
  CHECK(value(ran("gfx942", load + "v_mov_b32 v8, v9\ns_waitcnt vmcnt(0)\nv_mov_b32 v9, v8"), 3) ==
        WaitCheck::kPoison);
  // Lanes that are off keep what they have.
  const WaveRun part =
      ran("gfx942", "v_mov_b32 v9, 5\ns_mov_b64 exec, 0xff\nglobal_load_dword v9, v1, s[2:3]\n"
                    "s_mov_b64 exec, -1\nv_mov_b32 v8, v9\ns_waitcnt vmcnt(0)\n");
  CHECK(value(part, 7) == 29);
  CHECK(value(part, 8) == 5);
  CHECK(value(ran("gfx942", "s_load_dword s20, s[2:3], 4\nv_mov_b32 v9, s20"), 0) ==
        WaitCheck::kPoison);
  CHECK(value(ran("gfx942", "ds_write_b32 v1, v2\ns_mov_b32 m0, 0\n"
                            "global_load_lds_dword v1, s[2:3]\nds_read_b32 v9, v1\n"
                            "s_waitcnt lgkmcnt(0)\n"),
              3) == WaitCheck::kPoison);
  CHECK(value(ran("gfx942", "ds_write_b32 v1, v2\ns_mov_b32 m0, 0\n"
                            "global_load_lds_dword v1, s[2:3]\ns_waitcnt vmcnt(0)\n"
                            "ds_read_b32 v9, v1\ns_waitcnt lgkmcnt(0)\n"),
              3) == 13);
  // Early, the mistake is reported and the value is there.
  WaveRun early;
  early.checks = kCheckWait;
  early.memory.resize(256, 9);
  early.v = {{1, iota(0, 4)}};
  early.readV = {9};
  early.run("global_load_dword v3, v1, s[2:3]\nv_mov_b32 v9, v3\n");
  CHECK(early.outV[9][3] == 0x09090909);
  CHECK(early.result.findings.size() == 1);
}

TEST_CASE("LDS that is used while it is loaded to") {
  const std::string load = "s_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[2:3]\n",
                    read = "ds_read_b32 v9, v1\ns_waitcnt lgkmcnt(0)\n";
  // One wave: its own wait is enough.
  WaveRun w = ran("gfx942", load + read);
  INFO(all(w));
  CHECK(found(w, "is read while a load to it is under way, for which vmcnt(0) would wait",
              "global_load_lds_dword", "at +"));
  CHECK(ran("gfx942", load + "s_waitcnt vmcnt(0)\n" + read).result.findings.empty());
  w = ran("gfx942", load + "ds_write_b32 v1, v2\n");
  CHECK(found(w, "is written while a load to it", "global_load_lds_dword", "ds_write_b32"));

  // Two waves: the first loads, the second reads.
  const std::string choose =
      "v_readfirstlane_b32 s20, v0\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 second\n";
  auto both = [&](const std::string &first, const std::string &second) {
    return ran("gfx942", choose + first + "s_branch past\nsecond:\n" + second + "past:\n", 2);
  };
  const std::string waits = "s_waitcnt vmcnt(0)\n", barrier = "s_barrier\n";
  w = both(load + waits + barrier, barrier + read);
  INFO(all(w));
  CHECK(w.result.findings.empty());
  w = both(load + barrier + waits, barrier + read); // the wait comes too late
  CHECK(!w.result.findings.empty());
  w = both(load + waits, read); // no barrier
  INFO(all(w));
  CHECK(found(w, "before a barrier after wave 0 has waited for a load to it",
              "global_load_lds_dword", "ds_read_b32"));
  // The first reads, the second loads over it.
  CHECK(both(read + barrier, barrier + load + waits).result.findings.empty());
  w = both(read, load + waits);
  INFO(all(w));
  CHECK(found(w, "is loaded to while wave 0 may still access it", "ds_read_b32",
              "global_load_lds_dword"));
  w = both("ds_read_b32 v9, v1\n" + barrier + "s_waitcnt lgkmcnt(0)\n", barrier + load + waits);
  INFO(all(w));
  CHECK(found(w, "while wave 0 may still read it, which did not wait for that before the barrier",
              "ds_read_b32", "global_load_lds_dword"));
}

TEST_CASE("accesses to LDS alone have one order for all waves") {
  // Each wave writes its own half and reads the other's; compilers leave out the wait before the
  // barrier.
  const std::string code = "v_lshlrev_b32 v5, 2, v0\nds_write_b32 v5, v2\ns_barrier\n"
                           "v_xor_b32 v6, 0x100, v5\nds_read_b32 v9, v6\ns_waitcnt lgkmcnt(0)\n";
  const WaveRun w = ran("gfx942", code, 2);
  INFO(all(w));
  CHECK(w.result.findings.empty());
}

TEST_CASE("loads of 16 bits keep the other half of their register") {
  // Both halves are loaded before either has landed.
  for (const char *target : {"gfx942", "gfx1100", "gfx1201"}) {
    const bool gfx9 = std::string(target) == "gfx942", gfx12 = std::string(target) == "gfx1201";
    const std::string low = gfx9 ? "global_load_short_d16 " : "global_load_d16_b16 ",
                      high = gfx9 ? "global_load_short_d16_hi " : "global_load_d16_hi_b16 ",
                      wait = gfx12 ? "s_wait_loadcnt " : "s_waitcnt vmcnt",
                      zero = gfx12 ? "0\n" : "(0)\n", one = gfx12 ? "1\n" : "(1)\n";
    const std::string loads = low + "v9, v1, s[2:3]\n" + high + "v9, v1, s[2:3] offset:4\n";
    const WaveRun w = ran(target, loads + wait + zero);
    INFO(target << "\n" << all(w));
    CHECK(w.result.findings.empty());
    CHECK(w.outV.at(9)[3] == (13u | 17u << 16));
    // A store of 16 bits reads the half that it stores.
    const std::string store = gfx9 ? "ds_write_b16" : "ds_store_b16";
    CHECK(ran(target, loads + wait + one + store + " v1, v9\n" + wait + zero)
              .result.findings.empty());
    CHECK(found(ran(target, loads + wait + one + store + "_d16_hi v1, v9\n" + wait + zero),
                "v9 is read before the load into it has landed", high.substr(0, 20), store));
    const WaveRun early = ran(target, loads + wait + one + "v_mov_b32 v8, v9\n" + wait + zero);
    CHECK(
        found(early, "v9 is read before the load into it has landed", high.substr(0, 20), "at +"));
  }
}

TEST_CASE("buffers whose format says the size move whole registers, unless of 16 bits") {
  // A buffer of dwords (CDNA3 ISA, buffer resource descriptor: unsigned integers of 32 bits).
  const std::string buffer = "s_mov_b32 s4, s2\ns_and_b32 s5, s3, 0xffff\ns_movk_i32 s6, 0x1000\n"
                             "s_mov_b32 s7, 0x24004\n",
                    high = "global_load_short_d16_hi v9, v1, s[2:3]\n",
                    wait = "\ns_waitcnt vmcnt(0)", read = "v9 is read before the load into it";
  const auto of = [&](const std::string &text) { return ran("gfx942", buffer + text + wait); };
  const std::string whole = "buffer_store_format_x v9, v1, s[4:7], 0 offen",
                    low = "buffer_store_format_d16_x v9, v1, s[4:7], 0 offen";
  CHECK(found(of(high + whole), read, "global_load_short_d16_hi v9", "buffer_store_format_x"));
  CHECK(of(high + low).result.findings.empty());
  // One half of the register, and both.
  const std::string one = "buffer_load_format_d16_x v9, v1, s[4:7], 0 offen\n",
                    two = "buffer_load_format_d16_xy v9, v1, s[4:7], 0 offen\n",
                    ofHigh = "ds_write_b16_d16_hi v1, v9\ns_waitcnt lgkmcnt(0)";
  CHECK(of(one + ofHigh).result.findings.empty());
  CHECK(found(of(two + ofHigh), read, "buffer_load_format_d16_xy v9", "ds_write_b16_d16_hi"));
}

namespace {
/// A ring of four stages of LDS, each loaded by two loads of each of two waves; after its wait and
/// a barrier, each wave reads what the other has loaded. `waits[i]` is the number of loads that may
/// be left before stage i is read.
std::string ring(const std::array<int, 8> &waits, bool readsEnd = true) {
  std::string code = "v_lshrrev_b32 v5, 6, v0\nv_readfirstlane_b32 s20, v5\n"
                     "s_lshl_b32 s21, s20, 9\nv_and_b32 v6, 63, v0\nv_lshlrev_b32 v6, 2, v6\n"
                     "s_xor_b32 s22, s21, 0x200\nv_add_u32 v7, s22, v6\nv_mov_b32 v9, 0\n";
  auto load = [&](int stage) {
    for (int half = 0; half < 2; ++half)
      code += "s_add_u32 m0, s21, " + std::to_string(stage % 4 * 1024 + half * 256) +
              "\nv_add_u32 v8, " + std::to_string(stage * 256 + half * 128) +
              ", v6\nglobal_load_lds_dword v8, s[2:3]\n";
  };
  for (int stage = 0; stage < 3; ++stage)
    load(stage);
  for (int stage = 0; stage < 8; ++stage) {
    if (waits[stage] >= 0)
      code += "s_waitcnt vmcnt(" + std::to_string(waits[stage]) + ")\n";
    code += "s_barrier\n";
    // The stage that is loaded next was read before the barrier.
    if (stage + 3 < 8)
      load(stage + 3);
    for (int half = 0; half < 2; ++half)
      code += "ds_read_b32 v" + std::to_string(10 + half) +
              ", v7 offset:" + std::to_string(stage % 4 * 1024 + half * 256) + "\n";
    if (readsEnd)
      code += "s_waitcnt lgkmcnt(0)\nv_add_u32 v9, v9, v10\nv_add_u32 v9, v9, v11\n";
  }
  return code + "s_waitcnt lgkmcnt(0)\n";
}
} // namespace

TEST_CASE("each wait of a ring of four stages, left out or weakened by one") {
  // Three stages of two loads are under way; at the end fewer.
  const std::array<int, 8> right = {4, 4, 4, 4, 4, 4, 2, 0};
  for (const char *target : {"gfx942", "gfx950"}) {
    const WaveRun good = ran(target, ring(right), 2);
    INFO(target << "\n" << all(good));
    CHECK(good.result.findings.empty());
    uint32_t sum = 0; // lane 0's: the words at the beginnings of all halves
    for (uint32_t half = 0; half < 16; ++half)
      sum += half * 128 + 1;
    CHECK(good.outV.at(9)[0] == sum);
    for (size_t stage = 0; stage < right.size(); ++stage)
      for (bool leftOut : {false, true}) {
        std::array<int, 8> weak = right;
        weak[stage] = leftOut ? -1 : weak[stage] + 1;
        // Instruction by instruction, so that no wave is ahead of the other by a wait.
        const WaveRun w = ran(target, ring(weak), 2, 1);
        INFO("stage " << stage << (leftOut ? " without its wait" : " with a weaker one") << "\n"
                      << all(w));
        CHECK(
            found(w, "is read while a load to it by wave", "global_load_lds_dword", "ds_read_b32"));
        CHECK(w.outV.at(9)[0] != sum);
      }
  }
  // Reads that no wave waits for before the stage is loaded anew.
  const WaveRun w = ran("gfx942", ring(right, false), 2);
  INFO(all(w));
  CHECK(found(w, "may still read it, which did not wait", "ds_read_b32", "global_load_lds_dword"));
}

TEST_CASE("a cache is written back before others learn what was written") {
  const std::string early = "before the cache that keeps it is written back, for which ";
  const std::string add942 = "global_atomic_add v1, v2, s[2:3]",
                    store942 = "global_store_dword v1, v2, s[2:3]",
                    store1201 = "global_store_b32 v1, v2, s[2:3]";
  const Case cases[] = {
      {"gfx942", "buffer_wbl2 sc1\n" + add942, early + "vmcnt(0)", "buffer_wbl2"},
      {"gfx950", "buffer_wbl2 sc1\n" + store942 + " sc1", early + "vmcnt(0)", "buffer_wbl2"},
      {"gfx942", "buffer_wbl2 sc0 sc1\ns_barrier\n" + add942, early + "vmcnt(0)", "buffer_wbl2"},
      {"gfx942", "buffer_wbl2 sc1\ns_waitcnt lgkmcnt(0)\n" + add942, early + "vmcnt(0)",
       "buffer_wbl2"},
      {"gfx942", "buffer_wbl2 sc1\ns_waitcnt vmcnt(1)\n" + add942, early + "vmcnt(0)",
       "buffer_wbl2"},
      {"gfx942", "buffer_wbl2 sc1\ns_waitcnt vmcnt(0)\n" + add942, "", ""},
      {"gfx942", add942 + "\nbuffer_wbl2 sc1\ns_waitcnt vmcnt(0)\n" + store942 + " sc1", "", ""},
      {"gfx942", "buffer_wbl2 sc1\n" + store942 + "\ns_waitcnt vmcnt(0)", "", ""}, // a plain store
      {"gfx90a", "buffer_wbl2\n" + store942, early + "vmcnt(0)", "buffer_wbl2"},
      {"gfx90a", "buffer_wbl2\ns_waitcnt vmcnt(0)\n" + store942, "", ""},
      {"gfx1201", "global_wb scope:SCOPE_SYS\n" + store1201 + " scope:SCOPE_SYS",
       early + "storecnt(0)", "global_wb"},
      {"gfx1201", "global_wb scope:SCOPE_SYS\ns_wait_loadcnt 0\n" + store1201 + " scope:SCOPE_SYS",
       early + "storecnt(0)", "global_wb"},
      {"gfx1201", "global_wb scope:SCOPE_SYS\ns_wait_storecnt 0\n" + store1201 + " scope:SCOPE_SYS",
       "", ""},
      // A wave has come to a barrier when it signals.
      {"gfx1201",
       "global_wb scope:SCOPE_SYS\ns_barrier_signal -1\ns_wait_storecnt 0\ns_barrier_wait -1",
       early + "storecnt(0)", "global_wb"},
      {"gfx1201",
       "s_barrier_signal -1\nglobal_wb scope:SCOPE_SYS\ns_barrier_wait -1\ns_wait_storecnt 0", "",
       ""},
  };
  for (const Case &c : cases) {
    const WaveRun w = ran(c.target, c.text + "\ns_endpgm");
    INFO(c.target << ": " << c.text << "\n" << all(w));
    CHECK(w.result.findings.empty() == c.mistake.empty());
    CHECK((c.mistake.empty() || found(w, c.mistake, c.first, "")));
  }
}
