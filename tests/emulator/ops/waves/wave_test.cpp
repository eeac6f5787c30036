#include "wave_test.h"

#include "assemble.h"

#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

namespace flyemu::test {

namespace {
std::string num(uint64_t x) { return std::to_string(x); }

/// Code around the tested code: loads registers from the area that the kernarg pointer points at,
/// and stores them. The area: 64 vector rows, then scalars; EXEC, VCC after them. What is stored
/// goes to an area after it, so that it can't race with what another wave still loads.
constexpr unsigned kScalars = 64 * 256, kMasks = kScalars + 128 * 4, kArea = kMasks + 64;
} // namespace

void WaveRun::run(const std::string &text, bool mayFault) {
  const bool gfx12 = target.rfind("gfx12", 0) == 0, gfx9 = target.rfind("gfx9", 0) == 0;
  const bool wave32 = !gfx9;
  std::vector<uint8_t> area(std::size_t(2) * kArea, 0);
  auto put = [&](unsigned at, const void *p, unsigned bytes) {
    std::memcpy(area.data() + at, p, bytes);
  };
  for (auto &[r, lanes] : v)
    put(r * 256, lanes.data(), 256);
  for (auto &[r, x] : s)
    put(kScalars + 4 * r, &x, 4);
  put(kMasks, &exec, 8);
  put(kMasks + 8, &vcc, 8);

  const std::string wait =
      gfx12 ? "s_wait_loadcnt 0\ns_wait_kmcnt 0\n" : "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  const std::string load = gfx9 ? "global_load_dword " : "global_load_b32 ";
  const std::string store = gfx9 ? "global_store_dword " : "global_store_b32 ";
  const std::string sload = gfx9 ? "s_load_dword " : "s_load_b32 ",
                    sload2 = gfx9 ? "s_load_dwordx2 " : "s_load_b64 ";
  std::string code = "s_mov_b64 s[50:51], s[0:1]\ns_mov_b64 s[52:53], s[2:3]\nv_and_b32 v40, " +
                     std::string(wave32 ? "31" : "63") +
                     ", v0\n"
                     "v_lshlrev_b32 v40, 2, v40\nv_mov_b32 v43, v0\n";
  for (auto &[r, lanes] : v) {
    code += "s_add_u32 s54, s50, " + num(r * 256) + "\ns_addc_u32 s55, s51, 0\n";
    code += load + "v" + num(r) + ", v40, s[54:55]\n";
  }
  for (auto &[r, x] : s)
    code += sload + "s" + num(r) + ", s[50:51], " + num(kScalars + 4 * r) + "\n";
  code += wave32 ? sload + "s56, s[50:51], " + num(kMasks) + "\n" + sload + "vcc_lo, s[50:51], " +
                       num(kMasks + 8) + "\n"
                 : sload2 + "s[56:57], s[50:51], " + num(kMasks) + "\n" + sload2 +
                       "vcc, s[50:51], " + num(kMasks + 8) + "\n";
  code += wait;
  code += wave32 ? "s_mov_b32 exec_lo, s56\n" : "s_mov_b64 exec, s[56:57]\n";
  code += "tested:\n" + text + "\n";
  code += wait;
  code += "s_cselect_b32 s60, 1, 0\n";
  code += wave32 ? "s_mov_b32 s58, exec_lo\ns_mov_b32 s59, 0\ns_mov_b32 exec_lo, -1\ns_mov_b32 "
                   "s62, vcc_lo\ns_mov_b32 s63, 0\n"
                 : "s_mov_b64 s[58:59], exec\ns_mov_b64 exec, -1\ns_mov_b64 s[62:63], vcc\n";
  if (waves > 1) // the last wave alone stores
    code += "v_readfirstlane_b32 s61, v43\ns_cmp_lt_u32 s61, " +
            num((wave32 ? 32 : 64) * (waves - 1)) + "\ns_cbranch_scc1 ends\n";
  for (unsigned r : readV)
    code += "s_add_u32 s54, s50, " + num(kArea + r * 256) + "\ns_addc_u32 s55, s51, 0\n" + store +
            "v40, v" + num(r) + ", s[54:55]\n";
  auto putScalar = [&](const std::string &reg, unsigned at) {
    code += "s_add_u32 s54, s50, " + num(kArea + at) +
            "\ns_addc_u32 s55, s51, 0\nv_mov_b32 v42, 0\nv_mov_b32 v41, " + reg + "\n" + store +
            "v42, v41, s[54:55]\n";
  };
  code += wave32 ? "s_mov_b32 exec_lo, 1\n" : "s_mov_b64 exec, 1\n";
  for (unsigned r : readS)
    putScalar("s" + num(r), kScalars + 4 * r);
  putScalar("s58", kMasks);
  putScalar("s59", kMasks + 4);
  putScalar("s62", kMasks + 8);
  putScalar("s63", kMasks + 12);
  putScalar("s60", kMasks + 16);
  code += "ends:\ns_endpgm\n";

  std::vector<uint32_t> words = assemble(target, code);
  KernelCode kernel;
  kernel.name = "tested";
  kernel.program = decodeProgram(target, words.data(), words.size() * 4);
  kernel.entry = reinterpret_cast<uint64_t>(words.data());
  KernelDescriptor &d = kernel.descriptor;
  d.groupSegmentFixedSize = lds;
  d.privateSegmentFixedSize = 256;
  d.properties = static_cast<uint16_t>(1 << 3 | 1 << 1 |
                                       (wave32 ? 1 << 10 : 0)); // dispatch and kernarg pointers
  d.rsrc2 = 4 << 1;
  d.rsrc1 = (mode & 255) << 12 | (mode >> 8 & 1) << 21 | (mode >> 9 & 1) << 23;
  d.rsrc3 = 63 | namedBarriers / 4 << 14;
  TestMemory map;
  map.add(area.data(), area.size());
  if (!memory.empty())
    map.add(memory.data(), memory.size());
  Dispatch launch;
  launch.kernel = &kernel;
  launch.grid = grid;
  launch.cluster = cluster;
  launch.block = {(wave32 ? 32u : 64u) * waves, 1, 1};
  // s[0:1] is the dispatch pointer, s[2:3] the kernarg pointer: the area goes first, memory second.
  launch.dispatchPacket = reinterpret_cast<uint64_t>(area.data());
  launch.kernarg = memory.empty() ? reinterpret_cast<uint64_t>(area.data())
                                  : reinterpret_cast<uint64_t>(memory.data());
  launch.kernargSize = 8;
  Options options;
  options.threads = 1;
  options.instructionLimit = 1 << 20;
  options.checks = checks;
  options.landLate = landLate;
  options.order = order;
  options.slice = slice;
  options.counters = counters;
  result = runDispatch(launch, map, options);
  INFO(result.fault.message);
  if (!mayFault)
    REQUIRE(result.ok);
  const uint8_t *stored = area.data() + kArea;
  for (unsigned r : readV)
    std::memcpy(outV[r].data(), stored + r * 256, wave32 ? 128 : 256);
  for (unsigned r : readS)
    std::memcpy(&outS[r], stored + kScalars + 4 * r, 4);
  std::memcpy(&outExec, stored + kMasks, 8);
  std::memcpy(&outVcc, stored + kMasks + 8, 8);
  std::memcpy(&outScc, stored + kMasks + 16, 4);
}

} // namespace flyemu::test
