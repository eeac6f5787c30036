// Races in global memory: of lanes of one wave, of waves of one workgroup, and of workgroups that
// count themselves with and without fences, on any number of threads.
#include "assemble.h"
#include "wave_test.h"

#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

namespace {
std::string all(const DispatchResult &result) {
  std::string text;
  for (const Finding &f : result.findings)
    text += f.message + "\n";
  return text;
}

struct Case {
  const char *target, *text, *message; ///< null: nothing is wrong
};

/// One or two waves; v1 is 4 * lane, v2 the lane, v3 0, s20 the wave's number.
void check(const Case &c, unsigned waves, unsigned checks = kCheckRace) {
  const auto &[target, text, message] = c;
  WaveRun w(target);
  w.waves = waves;
  w.checks = checks;
  w.lds = 1024;
  w.memory.resize(4096);
  w.v = {{1, iota(0, 4)}, {2, iota(0)}, {3, iota(0, 0)}};
  const bool wave32 = w.target[3] != '9';
  w.run("v_readfirstlane_b32 s20, v0\ns_lshr_b32 s20, s20, " + std::string(wave32 ? "5" : "6") +
        "\n" + text + "\n");
  INFO(target << ", " << waves << " waves: " << text << "\n" << all(w.result));
  if (message)
    CHECK_THAT(all(w.result), Catch::Contains(message));
  else
    CHECK(w.result.findings.empty());
}

/// Workgroups that each write a word of their own and count themselves; the last one reads all. What
/// stands before and after the count is given.
DispatchResult count(const std::string &target, const std::string &release,
                     const std::string &acquire, unsigned threads, unsigned groups = 512) {
  const bool gfx9 = target[3] == '9', gfx12 = target[4] == '2';
  const std::string load = gfx9 ? "global_load_dword " : "global_load_b32 ",
                    store = gfx9 ? "global_store_dword " : "global_store_b32 ",
                    wait = gfx12 ? "s_wait_loadcnt 0\ns_wait_storecnt 0\n" : "s_waitcnt vmcnt(0)\n",
                    id = gfx12 ? "ttmp9" : "s2",
                    add = std::string(gfx9 ? "global_atomic_add v4, v3, v5, s[0:1]"
                                           : "global_atomic_add_u32 v4, v3, v5, s[0:1]") +
                          (target == "gfx90a" || target == "gfx1100" ? " glc"
                           : gfx12 ? " th:TH_ATOMIC_RETURN scope:SCOPE_DEV"
                                   : " sc0"),
                    exec = gfx9 ? "s_mov_b64 exec, 1\n" : "s_mov_b32 exec_lo, 1\n";
  // The parts begin at word 32. All lanes of the last workgroup add parts.
  const std::string text =
      "v_mov_b32 v9, v0\n" + exec + "v_mov_b32 v3, 0\nv_mov_b32 v5, 1\n" + "s_lshl_b32 s4, " + id +
      ", 2\nv_mov_b32 v2, s4\n" + store + "v2, v5, s[0:1] offset:128\n" + release + "\n" + wait +
      add + "\n" + wait + acquire + "\nv_readfirstlane_b32 s5, v4\ns_cmp_lg_u32 s5, " +
      std::to_string(groups - 1) +
      "\ns_cbranch_scc1 ends\nv_mov_b32 v6, 0\nv_mov_b32 v2, 0\ns_mov_b32 s6, " +
      std::to_string(groups) + "\nnext: " + load + "v7, v2, s[0:1] offset:128\n" + wait +
      (gfx9 ? "v_add_u32" : "v_add_nc_u32") + " v6, v6, v7\n" +
      (gfx9 ? "v_add_u32" : "v_add_nc_u32") +
      " v2, 4, v2\ns_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\n"
      "s_cbranch_scc1 next\n" +
      store + "v3, v6, s[0:1] offset:64\nends: s_endpgm\n";
  std::vector<uint32_t> words = assemble(target, text), memory(1024);
  KernelCode kernel;
  kernel.name = "counts";
  kernel.program = decodeProgram(target, words.data(), words.size() * 4);
  kernel.entry = reinterpret_cast<uint64_t>(words.data());
  kernel.descriptor.properties = static_cast<uint16_t>(1 << 3 | (gfx9 ? 0 : 1 << 10));
  kernel.descriptor.rsrc2 = 2 << 1 | 1 << 7;
  kernel.descriptor.rsrc1 = 0xf0 << 12;
  kernel.descriptor.rsrc3 = 63;
  TestMemory map;
  map.add(memory.data(), memory.size() * 4);
  Dispatch launch;
  launch.kernel = &kernel;
  launch.grid = {groups, 1, 1};
  launch.block = {gfx9 ? 64u : 32u, 1, 1};
  launch.kernarg = reinterpret_cast<uint64_t>(memory.data());
  launch.kernargSize = 8;
  Options options;
  options.threads = threads;
  options.checks = kCheckRace;
  DispatchResult result = runDispatch(launch, map, options);
  INFO(result.fault.message);
  REQUIRE(result.ok);
  CHECK(memory[16] == groups);
  return result;
}
} // namespace

TEST_CASE("lanes that store different values to one place by one instruction race") {
  const char *kDifferent = "lanes of one wave store different values by one instruction to",
             *kSame = "lanes of one wave store the same value by one instruction to";
  for (const Case &c : {
           // y(0) += x(lane)
           Case{"gfx942",
                "global_load_dword v4, v3, s[2:3]\ns_waitcnt vmcnt(0)\nv_add_u32 v4, v4, v2\n"
                "global_store_dword v3, v4, s[2:3]",
                kDifferent},
           {"gfx942", "global_store_dword v3, v2, s[2:3]", "lanes 0-63, at"},
           {"gfx942", "s_mov_b64 exec, 5\nglobal_store_dword v3, v2, s[2:3]", "lanes 0, 2, at"},
           {"gfx942", "global_store_dword v1, v2, s[2:3]", nullptr},
           {"gfx942", "global_store_dword v3, v3, s[2:3]", nullptr},
           {"gfx942", "v_lshrrev_b32 v4, 1, v2\nglobal_store_byte v4, v2, s[2:3]", kDifferent},
           {"gfx942",
            "v_lshlrev_b32 v5, 8, v2\nv_lshrrev_b32 v4, 1, v2\n"
            "global_store_byte v4, v5, s[2:3]",
            nullptr},
           {"gfx942",
            "v_lshlrev_b32 v5, 8, v2\nv_lshrrev_b32 v4, 1, v2\n"
            "global_store_byte_d16_hi v4, v5, s[2:3]",
            nullptr},
           {"gfx942", "global_store_dwordx2 v1, v[2:3], s[2:3]", kDifferent}, // halves overlap
           {"gfx942", "ds_write_b32 v3, v2", kDifferent},
           {"gfx942", "ds_write_b32 v3, v3", nullptr},
           {"gfx942", "ds_write2_b32 v3, v3, v2 offset1:1", kDifferent},
           {"gfx942", "ds_write2_b32 v3, v2, v3 offset1:1", kDifferent},
           {"gfx942", "ds_write2_b32 v3, v3, v3 offset1:1", nullptr},
           {"gfx942", "v_xor_b32 v4, 60, v1\nds_write_b32 v4, v2", nullptr},
           {"gfx942", "ds_add_u32 v3, v2", nullptr},
           {"gfx942", "global_atomic_add v3, v2, s[2:3]", nullptr},
           {"gfx942", "v_mov_b32 v5, s3\nv_mov_b32 v4, s2\nflat_store_dword v[4:5], v2",
            kDifferent},
           {"gfx942",
            "s_mov_b64 s[22:23], src_shared_base\nv_mov_b32 v4, 0\nv_mov_b32 v5, s23\n"
            "flat_store_dword v[4:5], v2",
            kDifferent},
           {"gfx1100", "global_store_b32 v3, v2, s[2:3]", kDifferent},
           {"gfx1201", "ds_store_b32 v3, v2", kDifferent},
       })
    check(c, 1);
  check({"gfx942", "global_store_dword v3, v3, s[2:3]", kSame}, 1, kCheckRaceSame);
  check({"gfx942", "global_store_dword v3, v2, s[2:3]", nullptr}, 1, kCheckRaceSame);
}

TEST_CASE("waves of a workgroup race in global memory where no barrier stands between") {
  const char *kBarrier = "are not ordered by a barrier of the workgroup: the other is workgroup "
                         "(0, 0, 0), wave 0";
  const std::string store = "v_mov_b32 v4, s20\nglobal_store_dword v1, v4, s[2:3]\n",
                    load = "global_load_dword v5, v1, s[2:3]\ns_waitcnt vmcnt(0)\n",
                    barrier = "s_waitcnt vmcnt(0)\ns_barrier\n",
                    first = "s_cmp_lg_u32 s20, 0\ns_cbranch_scc1 past\n" + store + "past:\n";
  const std::pair<std::string, const char *> cases[] = {
      {store, kBarrier},
      {first, nullptr},
      {first + load, kBarrier},
      {first + barrier + load, nullptr},
      {load + barrier + first, nullptr},
      {load + first, kBarrier},
      {first + barrier + load + "s_cmp_lg_u32 s20, 1\ns_cbranch_scc1 done\n" + store + "done:\n",
       kBarrier}, // the first wave reads what the second one writes
      {first + barrier + load + barrier + "s_cmp_lg_u32 s20, 1\ns_cbranch_scc1 done\n" + store +
           "done:\n",
       nullptr},
      // Waves that tell each other by atomic operations.
      {first + "ds_add_u32 v1, v3\n" + load, nullptr},
      {"v_mov_b32 v4, 7\nglobal_store_dword v1, v4, s[2:3]\n", nullptr}, // the same value
  };
  for (const auto &[text, message] : cases)
    check({"gfx942", text.c_str(), message}, 2);
}

TEST_CASE("workgroups that count themselves need both fences, on any number of threads") {
  struct Fences {
    const char *target, *release, *acquire, *noAcquire;
    bool releases; ///< by an instruction
  };
  for (const Fences &f :
       {Fences{"gfx90a", "", "buffer_wbinvl1_vol", "", false},
        {"gfx942", "buffer_wbl2 sc1", "buffer_inv sc1", "", true},
        {"gfx950", "buffer_wbl2 sc1", "buffer_inv sc1", "buffer_inv sc0", true},
        {"gfx1100", "", "buffer_gl1_inv\nbuffer_gl0_inv", "buffer_gl0_inv", false},
        {"gfx1201", "", "global_inv scope:SCOPE_DEV", "global_inv scope:SCOPE_SE", false}})
    for (const unsigned threads : {1u, 2u, 8u})
      for (unsigned run = 0; run < 2; ++run) {
        INFO(f.target << ", " << threads << " threads");
        CHECK(all(count(f.target, f.release, f.acquire, threads)) == "");
        CHECK_THAT(all(count(f.target, f.release, f.noAcquire, threads)),
                   Catch::Contains("are not ordered by an acquire of device scope") &&
                       Catch::Contains("write and read of global memory"));
        if (!f.releases)
          continue;
        CHECK_THAT(all(count(f.target, "", f.acquire, threads)),
                   Catch::Contains("by a release of device scope (buffer_wbl2 sc1)"));
        // A fence of the workgroup's scope is none for the device.
        CHECK_THAT(all(count(f.target, "buffer_wbl2 sc0", f.acquire, threads)),
                   Catch::Contains("by a release of device scope (buffer_wbl2 sc1)"));
      }
}
