// The registers that a wave starts with (LLVM AMDGPUUsage, "Initial Kernel Execution State").
#include "assemble.h"
#include "emulated_targets.h"
#include "wave_test.h"

#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

namespace {
constexpr auto &kTargets = kEmulatorTargets;

/// A launch whose code begins with what the launch has set; s[0:1] is the kernarg pointer unless
/// the descriptor puts more before it.
struct Start {
  explicit Start(std::string cpu)
      : target(std::move(cpu)), gfx9(target[3] == '9'), gfx12(target.rfind("gfx12", 0) == 0) {
    d.properties = static_cast<uint16_t>(1 << 3 | (gfx9 ? 0 : 1 << 10));
    d.rsrc2 = 2 << 1;
    d.rsrc1 = 0xf0 << 12 | 1 << 21 | 1 << 23;
    d.rsrc3 = 63;
    d.privateSegmentFixedSize = 64;
    launch.block = {gfx9 ? 64u : 32u, 1, 1};
  }

  std::string target;
  bool gfx9, gfx12;
  KernelDescriptor d;
  Dispatch launch;
  unsigned checks = 0;
  unsigned entry = 0; ///< bytes of code before the kernel
  std::string pointer = "s[0:1]";
  DispatchResult result;
  std::vector<uint32_t> out;

  void userRegisters(unsigned n) { d.rsrc2 = (d.rsrc2 & ~(31u << 1)) | n << 1; }
  void askWorkgroupId(unsigned axis) { d.rsrc2 |= 1u << (7 + axis); }

  /// Runs `text`, which leaves a value in v10 and the index of its place in v11.
  void run(const std::string &text) {
    const std::string code = text + "\nv_lshlrev_b32 v11, 2, v11\n" +
                             (gfx9 ? "global_store_dword" : "global_store_b32") + " v11, v10, " +
                             pointer + "\ns_endpgm\n";
    std::vector<uint32_t> words = assemble(target, code);
    out.assign(4096, 0xeeeeeeee);
    KernelCode kernel;
    kernel.name = "starts";
    kernel.program = decodeProgram(target, words.data(), words.size() * 4);
    kernel.entry = reinterpret_cast<uint64_t>(words.data()) + entry;
    kernel.descriptor = d;
    TestMemory memory;
    memory.add(out.data(), out.size() * 4);
    launch.kernel = &kernel;
    launch.kernarg = reinterpret_cast<uint64_t>(out.data());
    launch.kernargSize = 64;
    Options options;
    options.threads = 1;
    options.checks = checks;
    result = runDispatch(launch, memory, options);
  }
  std::string findings() const {
    std::string all;
    for (const Finding &f : result.findings)
      all += f.message + "\n";
    return all;
  }
};
} // namespace

TEST_CASE("launch: gfx12 has the wave's number in TTMP8, and the workgroup in TTMP9 and TTMP7") {
  for (const char *target : {"gfx1200", "gfx1201"}) {
    Start k(target);
    for (unsigned axis = 0; axis < 3; ++axis)
      k.askWorkgroupId(axis);
    k.launch.block = {32, 4, 1};
    k.launch.grid = {3, 2, 5};
    k.checks = kCheckInit;
    // A place for each wave: ((z * 2 + y) * 3 + x) * 4 + wave. Lane 0 is the one that stores.
    const std::string place = "s_and_b32 s5, ttmp7, 0xffff\ns_lshr_b32 s6, ttmp7, 16\n"
                              "s_mul_i32 s6, s6, 2\ns_add_u32 s6, s6, s5\ns_mul_i32 s6, s6, 3\n"
                              "s_add_u32 s6, s6, ttmp9\ns_mul_i32 s6, s6, 4\n"
                              "s_add_u32 s6, s6, s4\nv_mov_b32 v11, s6\n";
    for (const char *number :
         {"s_bfe_u32 s4, ttmp8, 0x50019\n", "s_lshr_b32 s4, ttmp8, 25\ns_and_b32 s4, s4, 31\n"}) {
      k.run(number + place + "v_mov_b32 v10, s6");
      INFO(target << ": " << k.result.fault.message << k.findings());
      REQUIRE(k.result.ok);
      CHECK(k.result.findings.empty());
      for (uint32_t i = 0; i < 3 * 2 * 5 * 4; ++i)
        REQUIRE(k.out[i] == i);
      CHECK(k.out[3 * 2 * 5 * 4] == 0xeeeeeeee);
    }
    // Nobody says what else is in TTMP8.
    k.run("v_mov_b32 v10, ttmp8\nv_mov_b32 v11, 0");
    CHECK_THAT(k.findings(), Catch::Contains("used as stored data"));
    // Coordinates that the descriptor does not ask for are zero.
    k.d.rsrc2 &= ~(1u << 9);
    k.run("v_mov_b32 v10, ttmp7\nv_mov_b32 v11, ttmp9");
    CHECK(k.result.findings.empty());
    CHECK((k.out[0] < 2 && k.out[1] < 2 && k.out[2] < 2));
  }
}

TEST_CASE("launch: trap temporaries that no launch sets are faults") {
  const std::pair<const char *, const char *> cases[] = {
      {"gfx90a", "v_mov_b32 v10, ttmp9"},
      {"gfx942", "s_mov_b32 s4, ttmp8"},
      {"gfx950", "s_bfe_u32 s4, ttmp7, 3"},
      {"gfx1100", "v_mov_b32 v10, ttmp9"},
      {"gfx1201", "v_mov_b32 v10, ttmp4"},
      {"gfx1201", "s_mov_b64 s[4:5], ttmp[8:9]\nv_mov_b32 v10, ttmp10"},
      {"gfx1201", "s_mov_b32 ttmp9, 0"},
      {"gfx1201", "s_mov_b64 s[4:5], ttmp[6:7]"}};
  for (const auto &[target, text] : cases) {
    Start k(target);
    k.run(std::string(text) + "\nv_mov_b32 v11, 0");
    INFO(target << ": " << text);
    CHECK_FALSE(k.result.ok);
    CHECK_THAT(k.result.fault.message, Catch::Contains("trap temporary register"));
    CHECK_THAT(k.result.fault.instruction, Catch::Contains("ttmp"));
  }
}

TEST_CASE("launch: coordinates of work-items are packed, and zero where nobody asks for them") {
  for (const char *target : kTargets)
    for (unsigned mode = 0; mode < 4; ++mode) {
      Start k(target);
      k.launch.block = {5, 3, 4};
      k.d.rsrc2 |= mode << 11;
      // The lane's number within the group is found by counting lanes.
      k.run(std::string("v_mbcnt_lo_u32_b32 v11, -1, 0\n") +
            (k.gfx9 ? "v_mbcnt_hi_u32_b32 v11, -1, v11\n" : "") + "v_mov_b32 v10, v0");
      INFO(target << ", mode " << mode << ": " << k.result.fault.message);
      REQUIRE(k.result.ok == (mode < 3));
      if (mode == 3) {
        CHECK_THAT(k.result.fault.message, Catch::Contains("work-item ids"));
        continue;
      }
      // The first wave of a wave32 target has 32 of them; the second wave overwrites 28 of these.
      const uint32_t first = k.gfx9 ? 0 : 32, count = k.gfx9 ? 60 : 28;
      for (uint32_t lane = 0; lane < count; ++lane) {
        const uint32_t i = first + lane, x = i % 5, y = i / 5 % 3, z = i / 15;
        REQUIRE(k.out[lane] == (x | (mode > 0 ? y << 10 : 0) | (mode > 1 ? z << 20 : 0)));
      }
    }
}

TEST_CASE("launch: registers of the descriptor come in their order") {
  for (const char *target : kTargets) {
    Start k(target);
    // Dispatch pointer, kernarg pointer, dispatch id, private segment size; ids; workgroup info.
    k.d.properties |= 1 << 1 | 1 << 4 | 1 << 6;
    k.userRegisters(7);
    k.askWorkgroupId(1);
    k.d.rsrc2 |= 1 << 10;
    k.d.privateSegmentFixedSize = 62;
    k.launch.dispatchId = 0x123456789;
    k.launch.grid = {1, 2, 1};
    k.launch.block = {k.gfx9 ? 192u : 96u, 1, 1};
    k.pointer = "s[2:3]";
    const std::string id = k.gfx12 ? "ttmp7" : "s7", info = k.gfx12 ? "s7" : "s8";
    auto read = [&](const std::string &value) {
      k.run("v_mov_b32 v11, " + id + "\nv_mov_b32 v10, " + value);
      INFO(target << ": " << value << ": " << k.result.fault.message);
      REQUIRE(k.result.ok);
      return k.out[1];
    };
    k.checks = kCheckInit;
    CHECK(read("s4") == 0x23456789);
    CHECK(read("s5") == 1);
    CHECK(read("s6") == 64);
    CHECK(read(id) == 1);
    CHECK((read(info) & 0x7fffffff) == 3);
    CHECK(k.findings() == "");
    // Only the first wave has bit 31.
    k.run("v_mov_b32 v10, " + info + "\nv_lshrrev_b32 v11, 31, v10");
    CHECK((k.out[0] == 3 && k.out[1] == 0x80000003));
    // What the launch counts and has no value for.
    k.userRegisters(9);
    k.run("v_mov_b32 v10, s8\nv_mov_b32 v11, 0");
    CHECK_THAT(k.findings(), Catch::Contains("used as stored data"));
  }
}

TEST_CASE("launch: a queue that does not exist has no address") {
  Start k("gfx942");
  k.d.properties |= 1 << 2;
  k.userRegisters(4);
  k.pointer = "s[2:3]";
  k.checks = kCheckInit;
  k.run("v_mov_b32 v10, s0\nv_mov_b32 v11, 0");
  CHECK(k.result.ok);
  CHECK_THAT(k.findings(), Catch::Contains("used as stored data"));
  k.launch.queue = 0x1234;
  k.run("v_mov_b32 v10, s0\nv_mov_b32 v11, 0");
  CHECK(k.findings() == "");
  CHECK(k.out[0] == 0x1234);
}

TEST_CASE("launch: vector registers past v0 have no value") {
  for (const char *target : kTargets) {
    Start k(target);
    k.checks = kCheckInit;
    k.run("v_mov_b32 v10, v1\nv_mov_b32 v11, 0");
    CHECK_THAT(k.findings(), Catch::Contains("used as stored data"));
    k.run("v_mov_b32 v10, v0\nv_mov_b32 v11, 0");
    CHECK(k.findings() == "");
  }
}

TEST_CASE("launch: descriptors that ask for what the target does not have are refused") {
  struct Case {
    const char *target;
    uint16_t properties;
    unsigned user, preload;
    uint32_t rsrc2;
    const char *part;
  };
  const Case cases[] = {
      {"gfx942", 1 << 0, 6, 0, 0, "buffer of the private segment"},
      {"gfx942", 1 << 5, 4, 0, 0, "address of flat scratch"},
      {"gfx1100", 0, 4, 2, 0, "preloads arguments"},
      {"gfx942", 0, 20, 0, 0, "20 user registers"},
      {"gfx950", 0, 2, 0, 1 << 27, "arithmetic exceptions"},
      {"gfx1201", 1 << 1, 2, 0, 0, "more user registers than it counts"},
  };
  for (const Case &c : cases) {
    Start k(c.target);
    k.d.properties |= c.properties;
    k.userRegisters(c.user);
    k.d.kernargPreload = static_cast<uint16_t>(c.preload);
    k.d.rsrc2 |= c.rsrc2;
    k.run("v_mov_b32 v11, 0");
    INFO(c.target << ": " << k.result.fault.message);
    CHECK_FALSE(k.result.ok);
    CHECK_THAT(k.result.fault.message, Catch::Contains(c.part));
  }
}

TEST_CASE("launch: a gfx12 grid past the 16 bits of a coordinate is refused") {
  Start k("gfx1201");
  k.launch.grid = {1, 65537, 1};
  k.run("v_mov_b32 v11, 0");
  CHECK_FALSE(k.result.ok);
  CHECK_THAT(k.result.fault.message, Catch::Contains("65537"));
}

TEST_CASE("launch: gfx90a finds its scratch by a buffer and by an address") {
  Start k("gfx90a");
  // Buffer, kernarg pointer, flat scratch; the wave's offset follows.
  k.d.properties |= 1 << 0 | 1 << 5;
  k.userRegisters(8);
  k.d.rsrc2 |= 1;
  k.pointer = "s[4:5]";
  k.checks = kCheckInit;
  k.launch.block = {128, 1, 1};
  const std::string prolog =
      "s_add_u32 s0, s0, s8\ns_addc_u32 s1, s1, 0\n"
      "s_add_u32 flat_scratch_lo, s6, s8\ns_addc_u32 flat_scratch_hi, s7, 0\n"
      "s_mov_b64 s[10:11], src_private_base\nv_mov_b32 v11, v0\n"
      "v_add_u32 v9, 100, v0\n";
  // A stack pointer counts the bytes of all lanes.
  for (const char *way :
       {"buffer_store_dword v9, off, s[0:3], 0 offset:8\nbuffer_load_dword v10, off, s[0:3], 0 "
        "offset:8",
        "s_movk_i32 s32, 0x200\nbuffer_store_dword v9, off, s[0:3], s32 offset:4\n"
        "buffer_load_dword v10, off, s[0:3], 0 offset:12",
        "v_mov_b32 v1, 16\nbuffer_store_dword v9, v1, s[0:3], 0 offen\n"
        "v_mov_b32 v2, 16\nv_mov_b32 v3, s11\nflat_load_dword v10, v[2:3]",
        "s_movk_i32 s32, 20\nscratch_store_dword off, v9, s32\n"
        "buffer_load_dword v10, off, s[0:3], 0 offset:20",
        "buffer_store_byte v9, off, s[0:3], 0 offset:3\nbuffer_load_ubyte v10, off, s[0:3], 0 "
        "offset:3"}) {
    k.run(prolog + way);
    INFO(way << ": " << k.result.fault.message << k.findings());
    REQUIRE(k.result.ok);
    CHECK(k.findings() == "");
    for (uint32_t i = 0; i < 128; ++i)
      REQUIRE(k.out[i] == 100 + i);
  }
  k.run(prolog + "buffer_load_dword v10, off, s[0:3], 0 offset:24");
  CHECK_THAT(k.findings(), Catch::Contains("used as stored data"));
  k.run(prolog + "buffer_load_dword v10, off, s[0:3], 0 offset:64");
  CHECK_THAT(k.result.fault.message, Catch::Contains("scratch access of 4 bytes at offset 64"));
  k.run("s_movk_i32 s32, 20\nscratch_store_dword off, v0, s32\nv_mov_b32 v11, 0");
  CHECK_THAT(k.result.fault.message, Catch::Contains("FLAT_SCRATCH"));
}

TEST_CASE("launch: the scratch of architected targets is known to code that reads it") {
  Start k("gfx942");
  k.checks = kCheckInit;
  k.d.rsrc2 |= 1;
  k.run("v_mov_b32 v10, flat_scratch_hi\nv_mov_b32 v11, 0");
  CHECK(k.findings() == "");
  CHECK(k.out[0] != 0);
}

TEST_CASE(
    "launch: places before the kernel, in functions that it calls, are told by negative offsets") {
  Start k("gfx942");
  k.entry = 16;
  k.checks = kCheckInit;
  const std::string before = "back: v_mov_b32 v11, 0\nglobal_store_dword v11, v20, s[0:1]\n";
  const std::string start = "\nstart: s_branch back\non: v_mov_b32 v10, 0\n";
  k.run(before + "s_branch on" + start);
  CHECK(k.result.ok);
  CHECK_THAT(k.findings(), Catch::Contains("at -0xc global_store_dword"));
  k.run(before + "s_mov_b32 s4, ttmp8" + start);
  CHECK_FALSE(k.result.ok);
  CHECK_THAT(k.result.fault.message, Catch::Contains("(kernel -0x4)"));
  k.run(before + "s_branch on" + start + "s_mov_b32 s4, ttmp8");
  CHECK_THAT(k.result.fault.message, Catch::Contains("(kernel +0x8)"));
}
