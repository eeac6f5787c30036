// Arrays in LDS whose places a kernel tells: what leaves them is named.
#include "emulated_targets.h"
#include "operands.h"

#include "support/red_zones.h"

using namespace flyemu;
using namespace flyemu::test;

namespace {
std::string all(const WaveRun &w) {
  std::string text;
  for (const Finding &f : w.result.findings)
    text += f.message + "\n";
  return text;
}

/// A mark as a kernel has it that was compiled for the check of memory: an array and its red zone.
std::string array(unsigned begin, unsigned bytes, unsigned zone) {
  return "s_mov_b32 s20, " + std::to_string(begin) + "\ns_mul_i32 s21, s20, " +
         std::to_string(flydsl::support::kArrayMark) + "\ns_mov_b32 s21, " + std::to_string(bytes) +
         "\ns_mov_b32 s21, " + std::to_string(zone) + "\n";
}
} // namespace

TEST_CASE("an access that leaves its array in LDS is named, and what stays inside is not") {
  // 100 bytes and a zone to 128, 64 bytes and a zone to 256, 256 bytes and a zone to 576.
  const std::string arrays = array(128, 64, 64) + array(0, 100, 28) + array(256, 256, 64);
  for (const char *target : kEmulatorTargets) {
    const bool gfx9 = std::string(target)[3] == '9';
    const std::string write = gfx9 ? "ds_write_b" : "ds_store_b",
                      read = gfx9 ? "ds_read_b" : "ds_load_b";
    const auto run = [&](Lanes at, const std::string &text, const std::string &marks) {
      WaveRun w(target);
      w.checks = kCheckMemory;
      w.lds = 576;
      w.v = {{1, at}, {2, iota(7)}, {3, iota(7)}, {4, iota(7)}, {5, iota(7)}};
      w.run(marks + text + "\n");
      INFO(target << ": " << text << "\n" << all(w));
      CHECK(w.result.findings.size() <= 1);
      return all(w);
    };
    const auto names = [&](Lanes at, const std::string &text, const char *what) {
      CHECK_THAT(run(at, text, arrays), Catch::Contains(what));
      CHECK(run(at, text, "").empty()); // a kernel that does not say where its arrays lie
    };
    const auto silent = [&](Lanes at, const std::string &text) {
      CHECK(run(at, text, arrays).empty());
    };
    const Lanes same = iota(0, 0);
    silent(iota(256, 4), write + "32 v1, v2");         // all of an array
    silent(iota(0, 1), write + "8 v1, v2");            // a part of another
    silent(same, read + "32 v3, v1 offset:96");        // its last dword
    silent(same, write + "128 v1, v[2:5] offset:496"); // the last 16 bytes of an array
    names(
        same, read + "32 v3, v1 offset:100",
        "read of 4 bytes at LDS byte 100, which belongs to no array: it is 0 bytes past the end of "
        "the 100 bytes of shared memory at LDS byte 0, and 28 bytes before the 64 bytes of shared "
        "memory at LDS byte 128");
    names(same, write + "32 v1, v2 offset:124", "it is 24 bytes past the end of");
    names(same, write + "8 v1, v2 offset:127", "and 1 bytes before the 64 bytes");
    // Partly inside: the end of one array, and the beginning of the next.
    names(same, read + "64 v[4:5], v1 offset:96",
          "it begins in the 100 bytes of shared memory at LDS byte 0 and reaches past their end");
    names(same, write + "64 v1, v[4:5] offset:124", "and 4 bytes before the 64 bytes");
    // Some lanes of many, that go on or back, or lie anywhere.
    const unsigned lanes = gfx9 ? 64 : 32;
    names(iota(516 - 4 * lanes, 4), write + "32 v1, v2",
          "it is 0 bytes past the end of the 256 bytes");
    names(iota(248 + 4 * lanes, -4u), read + "32 v3, v1", "and 4 bytes before the 256 bytes");
    names(iota(0, 8), read + "32 v3, v1", "lanes 13-15, 24-31, at");
    names(same, "ds_add_u32 v1, v2 offset:192", "at LDS byte 192");
    // Two places of one instruction.
    names(same,
          gfx9 ? "ds_read2_b32 v[4:5], v1 offset0:24 offset1:25"
               : "ds_load_2addr_b32 v[4:5], v1 offset0:24 offset1:25",
          "at LDS byte 100");
    silent(same, gfx9 ? "ds_read2_b32 v[4:5], v1 offset0:23 offset1:24"
                      : "ds_load_2addr_b32 v[4:5], v1 offset0:23 offset1:24");
  }
}

TEST_CASE("a load to LDS that leaves its array is named") {
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    WaveRun w(target);
    w.checks = kCheckMemory;
    w.lds = 576;
    w.memory.resize(1024);
    w.v = {{1, iota(0, 4)}};
    const std::string load = std::string(target) == "gfx90a"
                                 ? "s_mov_b64 s[8:9], s[2:3]\ns_mov_b32 s10, 1024\ns_mov_b32 s11, "
                                   "0x00020000\nbuffer_load_dword v1, s[8:11], 0 offen lds\n"
                                 : "global_load_lds_dword v1, s[2:3]\n";
    const auto into = [&](unsigned place) {
      w.run(array(0, 256, 64) + array(320, 192, 64) + "s_mov_b32 m0, " + std::to_string(place) +
            "\n" + load + "s_waitcnt vmcnt(0)\n");
      return all(w);
    };
    CHECK(into(0).empty());
    CHECK_THAT(into(320), Catch::Contains("it is 0 bytes past the end of the 192 bytes") &&
                              Catch::Contains("lanes 48-63"));
    CHECK_THAT(into(4), Catch::Contains("lane 63"));
  }
}

TEST_CASE("a multiplication that only resembles a mark is none") {
  const std::string mark = std::to_string(flydsl::support::kArrayMark),
                    factor = "s_mov_b32 s20, 0\ns_mul_i32 s21, s20, " + mark + "\n",
                    other = "s_mov_b32 s20, 0\ns_mul_i32 s21, s20, 0x7fe5a0c8\n",
                    sizes = "s_mov_b32 s21, 64\ns_mov_b32 s21, 64\n",
                    access = "v_mov_b32 v1, 64\nds_read_b32 v3, v1\n";
  WaveRun w;
  w.checks = kCheckMemory;
  w.lds = 256;
  w.run(factor + sizes + access);
  CHECK_THAT(all(w), Catch::Contains("it is 0 bytes past the end of the 64 bytes"));
  for (const std::string &text :
       {factor + access, factor + "s_mov_b32 s21, 64\n" + access, other + sizes + access,
        factor + "s_mov_b32 s21, s20\n" + sizes + access}) {
    w.run(text);
    INFO(text << all(w));
    CHECK(w.result.findings.empty());
  }
}
