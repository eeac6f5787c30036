// Values that no instruction has written, as they move through pairs of registers, matrix
// instructions and atomic operations.
#include "emulated_targets.h"
#include "operands.h"

#include "support/unwritten.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

namespace {
constexpr const char *kData = "a register that was never written is used as stored data";

struct Case {
  const char *target, *text, *message; ///< null: nothing is wrong
};

/// v1 has addresses, v[4:7] have values, v[8:23] have none, and LDS has none.
void check(const Case &c) {
  const auto &[target, text, message] = c;
  WaveRun w(target);
  w.checks = kCheckInit | kCheckMemory;
  w.lds = 1024;
  w.memory.resize(4096);
  w.v = {{1, iota(0, 16)}};
  for (unsigned r : {4, 5, 6, 7})
    w.v[r] = iota(r);
  w.s = {{8, 4}, {9, 40}};
  w.run(std::string(text) + "\n");
  std::string all;
  for (const Finding &f : w.result.findings)
    all += f.message + "\n";
  INFO(target << ": " << text << "\n" << all);
  if (message)
    CHECK_THAT(all, Catch::Contains(message));
  else
    CHECK(all.empty());
}
} // namespace

TEST_CASE("an undefined half of a pair stays in its half") {
#define LOW "\nglobal_store_dword v1, v20, s[2:3]"
#define HIGH "\nglobal_store_dword v1, v21, s[2:3]"
  const Case cases[] = {
      // v8 has a value, v9 has none.
      {"gfx942", "v_mov_b32 v8, 0\nv_mov_b64 v[20:21], v[8:9]" LOW, nullptr},
      {"gfx942", "v_mov_b32 v8, 0\nv_mov_b64 v[20:21], v[8:9]" HIGH, kData},
      {"gfx942", "v_mov_b32 v9, 0\nv_mov_b64 v[20:21], v[8:9]" LOW, kData},
      {"gfx942", "v_mov_b32 v9, 0\nv_mov_b64 v[20:21], v[8:9]" HIGH, nullptr},
      {"gfx950", "v_mov_b32 v8, 0\nv_mov_b64 v[20:21], v[8:9]" LOW, nullptr},
      {"gfx942", "s_mov_b32 s20, 0\nv_mov_b64 v[20:21], s[20:21]" LOW, nullptr},
      {"gfx942", "s_mov_b32 s20, 0\nv_mov_b64 v[20:21], s[20:21]" HIGH, kData},
      {"gfx942", "v_pk_mov_b32 v[20:21], v[4:5], v[8:9]" LOW, nullptr},
      {"gfx942", "v_pk_mov_b32 v[20:21], v[4:5], v[8:9]" HIGH, kData},
      {"gfx942", "v_mov_b32 v9, 0\nv_pk_mov_b32 v[20:21], v[8:9], v[4:5] op_sel:[1,0]" LOW,
       nullptr},
      {"gfx942", "v_mov_b32 v9, 0\nv_pk_mov_b32 v[20:21], v[8:9], v[4:5]" LOW, kData},
      {"gfx90a", "v_mov_b32 v8, 0\nv_pk_add_f32 v[20:21], v[4:5], v[8:9]" LOW, nullptr},
      {"gfx90a", "v_mov_b32 v8, 0\nv_pk_add_f32 v[20:21], v[4:5], v[8:9]" HIGH, kData},
      {"gfx942", "v_mov_b32 v8, 0\nv_pk_mul_f32 v[20:21], v[4:5], v[8:9] op_sel_hi:[1,0]" HIGH,
       nullptr},
      {"gfx942",
       "v_mov_b32 v9, 0\nv_pk_fma_f32 v[20:21], v[4:5], v[6:7], v[8:9] op_sel:[0,0,1]" LOW,
       nullptr},
      {"gfx942", "v_mov_b32 v9, 0\nv_pk_fma_f32 v[20:21], v[4:5], v[6:7], v[8:9]" LOW, kData},
      // Shifts: by 4 (s8), and by 40 (s9).
      {"gfx942", "v_mov_b32 v8, 0\nv_lshlrev_b64 v[20:21], s8, v[8:9]" LOW, nullptr},
      {"gfx942", "v_mov_b32 v8, 0\nv_lshlrev_b64 v[20:21], s8, v[8:9]" HIGH, kData},
      {"gfx942", "v_mov_b32 v8, 0\nv_lshlrev_b64 v[20:21], s9, v[8:9]" HIGH, nullptr},
      {"gfx942", "v_lshlrev_b64 v[20:21], s9, v[8:9]" LOW, nullptr},
      {"gfx942", "v_mov_b32 v9, 0\nv_lshrrev_b64 v[20:21], s9, v[8:9]" LOW, nullptr},
      {"gfx942", "v_mov_b32 v9, 0\nv_lshrrev_b64 v[20:21], s8, v[8:9]" LOW, kData},
      {"gfx942", "v_lshrrev_b64 v[20:21], s9, v[8:9]" HIGH, nullptr},
      {"gfx942", "v_ashrrev_i64 v[20:21], s9, v[8:9]" HIGH, kData},
      {"gfx942", "v_mov_b32 v8, 0\nv_lshlrev_b64 v[20:21], v9, v[8:9]" LOW, kData},
      {"gfx942", "v_mov_b32 v8, 0\nv_lshl_add_u64 v[20:21], v[8:9], 2, v[4:5]" LOW, nullptr},
      {"gfx942", "v_mov_b32 v8, 0\nv_lshl_add_u64 v[20:21], v[8:9], 2, v[4:5]" HIGH, kData},
  };
  for (const Case &c : cases)
    check(c);
#undef LOW
#undef HIGH
}

TEST_CASE("undefined elements of a conversion of eight stay in their register of the result") {
#define LOW "\nglobal_store_b32 v1, v20, s[2:3]"
#define HIGH "\nglobal_store_b32 v1, v21, s[2:3]"
#define PAIRS "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\n"
  const Case cases[] = {
      // v[4:7] have values, v[8:11] have none.
      {"gfx1250", "v_cvt_scalef32_pk8_fp8_f32 v[20:21], v[4:11], 1.0" LOW, nullptr},
      {"gfx1250", "v_cvt_scalef32_pk8_fp8_f32 v[20:21], v[4:11], 1.0" HIGH, kData},
      {"gfx1250", "v_cvt_scalef32_pk8_bf8_f16 v[20:21], v[6:9], 1.0" LOW, nullptr},
      {"gfx1250", "v_cvt_scalef32_pk8_bf8_f16 v[20:21], v[6:9], 1.0" HIGH, kData},
      {"gfx1250", PAIRS "v_cvt_scalef32_pk8_bf8_f16 v[20:21], v[6:9], 1.0" HIGH, nullptr},
      {"gfx1250", "v_cvt_scalef32_pk8_fp4_f32 v20, v[4:11], 1.0" LOW, kData},
  };
  for (const Case &c : cases)
    check(c);
#undef LOW
#undef HIGH
#undef PAIRS
}

TEST_CASE("undefined elements go through matrix instructions to their row, column and sum") {
  // 32x32x8: lane l has row or column l % 32 of A and B, and column l % 32 of D.
  const std::string sums = "\nv_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], a[0:15]\ns_nop 15\n",
                    store = "global_store_dword v1, a3, s[2:3]";
  std::string zeros;
  for (unsigned r = 0; r < 16; ++r)
    zeros += "v_accvgpr_write_b32 a" + std::to_string(r) + ", 0\n";
  check({"gfx942", (zeros + sums + store).c_str(), nullptr});
  check({"gfx942", (sums + store).c_str(), kData});
  // Register 3 alone has no value, in the lanes from 8 on.
  const std::string some = zeros.substr(0, zeros.find("v_accvgpr_write_b32 a3")) +
                           "s_mov_b64 exec, 0xff\nv_accvgpr_write_b32 a3, 0\ns_mov_b64 exec, -1\n" +
                           zeros.substr(zeros.find("v_accvgpr_write_b32 a4"));
  check({"gfx942", (some + sums + store).c_str(), "lanes 8-63,"});
  check({"gfx942", (some + sums + "global_store_dword v1, a2, s[2:3]").c_str(), nullptr});
  // A column of B: lane 5's registers.
  const std::string b = "v_mov_b32 v10, 0\ns_not_b64 exec, 32\nv_mov_b32 v11, 0\ns_mov_b64 exec, "
                        "-1\n";
  check(
      {"gfx942",
       (zeros + b + "v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[10:11], a[0:15]\ns_nop 15\n" + store)
           .c_str(),
       "lanes 5, 37,"});
  // A row of A: row 5 is register 1 of lanes 32 to 63.
  const std::string product =
      zeros + b + "v_mfma_f32_32x32x8_f16 a[0:15], v[10:11], v[4:5], a[0:15]\ns_nop 15\n";
  check({"gfx942", (product + "global_store_dword v1, a1, s[2:3]").c_str(), "lanes 32-63,"});
  check({"gfx942", (product + "global_store_dword v1, a0, s[2:3]").c_str(), nullptr});
  // The same of WMMA.
  check({"gfx1201",
         "v_wmma_f32_16x16x16_f16 v[16:23], v[4:7], v[4:7], 0\nglobal_store_b32 v1, v16, s[2:3]",
         nullptr});
  check({"gfx1201",
         "v_wmma_f32_16x16x16_f16 v[16:23], v[4:7], v[4:7], v[16:23]\nglobal_store_b32 v1, v16, "
         "s[2:3]",
         kData});
}

TEST_CASE("atomic operations read what nobody has written") {
  const char *kLds = "read of LDS byte 0, which was never written";
  for (const Case &c : {Case{"gfx942", "ds_add_u32 v1, v4", kLds},
                        {"gfx942", "ds_add_rtn_u32 v8, v1, v4", kLds},
                        {"gfx942", "v_mov_b32 v8, 0\nds_add_f32 v8, v4", kLds},
                        {"gfx942", "ds_write_b32 v1, v4\nds_add_u32 v1, v4", nullptr},
                        {"gfx1201", "ds_max_num_f32 v1, v4", kLds}})
    check(c);
}

TEST_CASE("dwords are accessed at any byte, but not by scalar memory, which says so") {
  for (const char *target : kEmulatorTargets) {
    if (target == std::string("gfx1250"))
      continue; // its descriptors are others: tests/emulator/ops/gfx1250/memory_test.cpp
    const bool gfx9 = std::string(target)[3] == '9', gfx12 = std::string(target)[4] == '2';
    WaveRun w(target);
    w.memory.resize(4096);
    for (size_t i = 0; i < w.memory.size(); ++i)
      w.memory[i] = static_cast<uint8_t>(i * 7 + i / 256);
    const bool hasScratch = target != std::string("gfx90a"); // the harness sets no FLAT_SCRATCH
    auto bytes = [&](unsigned at) {
      uint32_t x;
      std::memcpy(&x, &w.memory[at], 4);
      return x;
    };
    w.lds = 2048;
    w.v = {{1, iota(1, 18)}, {2, iota(3, 16)}};
    w.s = {{10, 2048}, {11, gfx9 ? 0x00020000u : 0u}};
    w.readV = {4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15};
    const std::string one = gfx9 ? "dword" : "b32", two = gfx9 ? "dwordx2" : "b64",
                      four = gfx9 ? "dwordx4" : "b128", offset = gfx12 ? "null" : "0",
                      write = gfx9 ? "ds_write_" : "ds_store_",
                      read = gfx9 ? "ds_read_" : "ds_load_",
                      wait = gfx12 ? "s_wait_loadcnt 0\ns_wait_dscnt 0\n"
                                   : "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    w.run("s_mov_b64 s[8:9], s[2:3]\nbuffer_load_" + one + " v4, v1, s[8:11], " + offset +
          " offen\nbuffer_load_" + two + " v[8:9], v1, s[8:11], " + offset +
          " offen offset:2\nglobal_load_" + four + " v[12:15], v1, s[2:3]\n" + wait + write +
          "b64 v2, v[8:9]\n" + wait + read + "b32 v5, v2 offset:1\n" +
          (hasScratch ? "scratch_store_" + two + " off, v[8:9], off offset:5\nscratch_load_" + one +
                            " v10, off, off offset:7\n" + wait
                      : "") +
          "buffer_store_" + one + " v4, v1, s[8:11], " + offset +
          " offen offset:2049\n"
          "v_mov_b32 v6, 0\nv_mov_b32 v7, 0\n");
    INFO(target);
    for (unsigned i = 0; i < (gfx9 ? 64u : 32u); ++i) {
      const unsigned at = 1 + 18 * i;
      REQUIRE(w.outV[4][i] == bytes(at));
      REQUIRE(w.outV[8][i] == bytes(at + 2));
      REQUIRE(w.outV[9][i] == bytes(at + 6));
      REQUIRE(w.outV[12][i] == bytes(at));
      REQUIRE(w.outV[15][i] == bytes(at + 12));
      REQUIRE(w.outV[5][i] == (w.outV[8][i] >> 8 | w.outV[9][i] << 24));
      if (hasScratch)
        REQUIRE(w.outV[10][i] == (w.outV[8][i] >> 16 | w.outV[9][i] << 16));
    }
    // A dword that lies partly past the end of a buffer is past it wholly.
    w.s[10] = 1 + 18 * 3 + 3;
    w.run("s_mov_b64 s[8:9], s[2:3]\nbuffer_load_" + one + " v4, v1, s[8:11], " + offset +
          " offen\n");
    CHECK(w.outV[4][2] == bytes(1 + 18 * 2));
    CHECK(w.outV[4][3] == 0);
    // Elements of a swizzled buffer are apart.
    if (gfx9) {
      w.s[10] = 64;
      w.run("s_mov_b64 s[8:9], s[2:3]\ns_or_b32 s9, s9, 0x80100000\nv_mov_b32 v20, 0\n"
            "v_mov_b32 v21, 2\nbuffer_load_dword v4, v[20:21], s[8:11], 0 idxen offen\n",
            true);
      CHECK_FALSE(w.result.ok);
      CHECK_THAT(w.result.fault.message, Catch::Contains("of 4 bytes at offset 2 of a swizzled"));
    }
    w.checks = kCheckMemory;
    w.run("s_add_u32 s8, s2, 2\ns_addc_u32 s9, s3, 0\n" +
          std::string(gfx9 ? "s_load_dword" : "s_load_b32") + " s20, s[8:9], 0\n");
    REQUIRE(w.result.findings.size() == 1);
    CHECK_THAT(w.result.findings[0].message, Catch::Contains("no multiple of 4"));
    w.run(std::string(gfx9 ? "s_load_dword" : "s_load_b32") + " s20, s[2:3], 4\n");
    CHECK(w.result.findings.empty());
  }
}

TEST_CASE("a dual move has no value where its one operand has none") {
  // The encoding's field of a second operand is 0, which is not v0.
  const std::string dual = "v_mov_b32 v0, v8\nv_dual_mov_b32 v20, v4 :: v_dual_mov_b32 v21, v5\n";
  const std::string undefined = "v_dual_mov_b32 v20, v4 :: v_dual_mov_b32 v21, v9\n";
  for (const char *target : {"gfx1100", "gfx1201"}) {
    for (const char *store :
         {"global_store_b32 v1, v20, s[2:3]", "global_store_b32 v1, v21, s[2:3]"})
      check({target, (dual + store).c_str(), nullptr});
    check({target, (undefined + "global_store_b32 v1, v20, s[2:3]").c_str(), nullptr});
    check({target, (undefined + "global_store_b32 v1, v21, s[2:3]").c_str(), kData});
    // The second half reads what the first one's result was before.
    const std::string swap = "v_dual_mov_b32 v8, v5 :: v_dual_mov_b32 v5, v8\n";
    check({target, (swap + "global_store_b32 v1, v8, s[2:3]").c_str(), nullptr});
    check({target, (swap + "global_store_b32 v1, v5, s[2:3]").c_str(), kData});
  }
}

TEST_CASE("a register that a kernel marks has no value until it is written") {
  const std::string mark =
      "v_mov_b32 v4, " + std::to_string(flydsl::support::kUnwrittenWord) + "\n";
  for (const char *target : {"gfx90a", "gfx950", "gfx1100", "gfx1201"}) {
    const std::string store =
        std::string(target).starts_with("gfx9") ? "global_store_dword" : "global_store_b32";
    check({target, (mark + store + " v1, v4, s[2:3]").c_str(), kData});
    check({target, (mark + "v_xor_b32 v20, v4, v5\n" + store + " v1, v20, s[2:3]").c_str(), kData});
    check({target, (mark + "v_mov_b32 v4, 7\n" + store + " v1, v4, s[2:3]").c_str(), nullptr});
  }
}
