// When matrix instructions issue, and what their wave and others may do while they compute.
#include "timed.h"

#include <algorithm>

using namespace flyemu;
using namespace flyemu::test;

namespace {
std::string times(unsigned count, const std::string &code) {
  std::string all;
  for (unsigned i = 0; i < count; ++i)
    all += code;
  return all;
}

/// The cycles from the issue of the first matrix instruction to that of the last vector instruction, none of
/// which stands before it.
uint64_t toVector(const char *target, const std::string &code) {
  const Timed t(code, 1, target, 64);
  const auto matrix = t.of(Activity::Matrix, 0), vector = t.of(Activity::Vector, 0);
  REQUIRE(!matrix.empty());
  REQUIRE(!vector.empty());
  return vector.back().start - matrix.front().start;
}

/// The cycles of a workgroup.
uint64_t cycles(const char *target, const std::string &code, unsigned threads) {
  return Timed(code, 1, target, threads).result.timing.groupCycles / 2;
}
} // namespace

TEST_CASE("an MFMA waits for its unit in a queue of one, and its wave goes on") {
  // Eight passes of four cycles each; a scalar instruction, and a load from LDS.
  const Timed t("v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], 0\ns_mov_b32 s4, 0\n"
                "ds_read_b32 v1, v2\nv_mfma_f32_32x32x8_f16 v[32:47], v[4:5], v[6:7], 0\n"
                "s_mov_b32 s5, 0\nv_mfma_f32_32x32x8_f16 v[48:63], v[4:5], v[6:7], 0\n");
  const auto issues = t.of(Activity::Matrix, 0), unit = t.of(Activity::MatrixUnderWay, 0),
             lds = t.of(Activity::Lds, 0), scalar = t.of(Activity::Scalar, 0),
             waits = t.of(Activity::Contention, 0);
  REQUIRE(issues.size() == 3);
  REQUIRE(unit.size() == 3);
  REQUIRE(lds.size() == 1);
  REQUIRE(scalar.size() >= 2);
  REQUIRE(waits.size() == 1);
  const uint64_t first = issues[0].start;
  for (size_t i = 0; i < 3; ++i) {
    CHECK(unit[i].start == first + 32 * i);
    CHECK(unit[i].end == unit[i].start + 32);
    CHECK(issues[i].end == issues[i].start + 4);
  }
  CHECK(scalar[0].start == first + 4);
  CHECK(lds[0].start == first + 8);
  CHECK(issues[1].start == first + 12);
  CHECK(scalar[1].start == first + 16);
  CHECK(waits[0].start == first + 20);
  CHECK(issues[2].start == first + 32); // the second one has left the queue
}

TEST_CASE("vector instructions wait after an MFMA for as long as it reads its operands") {
  const std::string add = "v_add_u32 v1, v2, v3\n";
  // AMD's matrix instruction calculator: 4 cycles of dense products of CDNA2 and CDNA3, 8 of sparse ones.
  CHECK(toVector("gfx90a", "v_mfma_f32_16x16x16f16 v[16:19], v[4:5], v[6:7], 0\n" + add) == 4);
  CHECK(toVector("gfx942", "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[6:7], 0\n" + add) == 4);
  CHECK(toVector("gfx942", "v_smfmac_f32_16x16x32_f16 v[16:19], v[4:5], v[6:9], v10\n" + add) == 8);
  // On MI350X (LLVM's pull request 233721): 8 of operands of 16 bytes, 12 of operands of 32.
  CHECK(toVector("gfx950", "v_mfma_f32_16x16x32_f16 v[16:19], v[4:7], v[8:11], 0\n" + add) == 8);
  CHECK(toVector("gfx950", "v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[0:7], v[8:15], 0\n" + add) ==
        12);
  CHECK(toVector("gfx950",
                 "v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[0:3], v[8:11], 0 cbsz:4 blgp:4\n" +
                     add) == 8);
  CHECK(toVector("gfx950", "v_smfmac_f32_16x16x64_f16 v[16:19], v[4:7], v[8:15], v1\n" + add) ==
        12);
  // f64, and f32 from CDNA3 on, hold all of them until two slots after the last pass.
  CHECK(toVector("gfx90a", "v_mfma_f32_16x16x4f32 v[16:19], v4, v6, 0\n" + add) == 4);
  CHECK(toVector("gfx942", "v_mfma_f32_16x16x4_f32 v[16:19], v4, v6, 0\n" + add) == 40);
  CHECK(toVector("gfx942", "v_mfma_f64_16x16x4_f64 v[16:23], v[4:5], v[6:7], 0\n" + add) == 40);
  CHECK(toVector("gfx950", "v_mfma_f64_16x16x4_f64 v[16:23], v[4:5], v[6:7], 0\n" + add) == 72);
  // And any product holds these, one more slot if A has 16 bytes.
  const std::string small = "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[6:7], 0\n",
                    large = "v_mfma_f32_16x16x32_f16 v[16:19], v[4:7], v[8:11], 0\n";
  const auto onBoth = [&](const std::string &waiting) {
    CAPTURE(waiting);
    CHECK(toVector("gfx942", small + waiting) == 24);
    CHECK(toVector("gfx950", large + waiting) == 28);
  };
  for (const char *pair : {"v_pk_mul_f32", "v_pk_add_f32", "v_pk_mov_b32"})
    onBoth(std::string(pair) + " v[0:1], v[2:3], v[2:3]\n");
  onBoth("v_pk_fma_f32 v[0:1], v[2:3], v[2:3], v[2:3]\n");
  for (const char *dot : {"v_dot2c_f32_f16", "v_dot2c_i32_i16", "v_dot4c_i32_i8", "v_dot8c_i32_i4"})
    onBoth(std::string(dot) + " v0, v2, v3\n");
  for (const char *dot : {"v_dot2_f32_f16", "v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot4_i32_i8",
                          "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4"})
    onBoth(std::string(dot) + " v0, v2, v3, v4\n");
  CHECK(toVector("gfx950", large + "v_dot2c_f32_bf16 v0, v2, v3\n") == 28);
  CHECK(toVector("gfx950", large + "v_dot2_f32_bf16 v0, v2, v3, v4\n") == 28);
  CHECK(toVector("gfx950", large + "v_pk_add_f16 v0, v2, v3\n") == 8);
}

TEST_CASE("products that sum into the same registers follow each other as the unit is free") {
  const Timed t(times(4, "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[6:7], v[16:19]\n"));
  const auto unit = t.of(Activity::MatrixUnderWay, 0);
  REQUIRE(unit.size() == 4);
  for (size_t i = 0; i < 4; ++i)
    CHECK(unit[i].start == unit[0].start + 16 * i);
  // So does one that leaves them elsewhere; one that adds to others of the registers besides waits.
  const auto second = [](const std::string &sums) {
    const Timed of("v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[6:7], 0\n"
                   "v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], " +
                   sums + "\n");
    const auto units = of.of(Activity::MatrixUnderWay, 0);
    REQUIRE(units.size() == 2);
    return units[1].start - units[0].start;
  };
  CHECK(second("v[16:19]") == 16);
  CHECK(second("v[18:21]") == 32);
  // The same in the accumulation registers.
  const Timed acc("v_mfma_f32_16x16x16_f16 a[16:19], v[4:5], v[6:7], 0\n"
                  "v_mfma_f32_16x16x16_f16 a[20:23], v[4:5], v[6:7], a[16:19]\n"
                  "v_mfma_f32_16x16x16_f16 a[24:27], v[4:5], v[6:7], a[22:25]\n");
  const auto units = acc.of(Activity::MatrixUnderWay, 0);
  REQUIRE(units.size() == 3);
  CHECK(units[1].start - units[0].start == 16);
  CHECK(units[2].start - units[1].start == 32);
}

TEST_CASE("products that hold vector instructions until they are through do not hold each other") {
  struct Case {
    const char *target, *product;
    uint64_t took;
  };
  const Case of =
      GENERATE(Case{"gfx942", "v_mfma_f32_16x16x4_f32 v[16:19], v4, v6, 0\n", 32},
               Case{"gfx942", "v_mfma_f64_16x16x4_f64 v[16:23], v[4:5], v[6:7], 0\n", 32},
               Case{"gfx90a", "v_mfma_f64_4x4x4f64 v[16:17], v[4:5], v[6:7], 0\n", 16},
               Case{"gfx950", "v_mfma_f64_16x16x4_f64 v[16:23], v[4:5], v[6:7], 0\n", 64});
  CAPTURE(of.target, of.product);
  const Timed t(times(4, of.product), 1, of.target, 64);
  const auto unit = t.of(Activity::MatrixUnderWay, 0);
  REQUIRE(unit.size() == 4);
  for (size_t i = 0; i < 4; ++i)
    CHECK(unit[i].start == unit[0].start + of.took * i);
}

TEST_CASE("who reads or writes sums of an MFMA waits until they are there") {
  // LLVM's wait states (GCNHazardRecognizer): passes and 3 of CDNA3, one more of CDNA4 but for two passes, one
  // fewer of f32.
  const std::string of942 = "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[6:7], 0\n",
                    of950 = "v_mfma_f32_16x16x32_f16 v[16:19], v[4:7], v[8:11], 0\n",
                    reader = "v_add_f32 v1, v16, v17\n";
  CHECK(toVector("gfx942", of942 + reader) == 32);
  CHECK(toVector("gfx942", of942 + "v_mov_b32 v19, 0\n") == 32);
  CHECK(toVector("gfx942", of942 + "ds_write_b32 v2, v18\nv_mov_b32 v0, 0\n") == 36);
  CHECK(toVector("gfx942", of942 + "v_mfma_f32_16x16x16_f16 v[20:23], v[18:19], v[6:7], 0\n"
                                   "v_mov_b32 v0, 0\n") == 36);
  CHECK(toVector("gfx942", of942 + "v_mov_b32 v20, 0\n") == 4);
  CHECK(toVector("gfx942", "v_mfma_f32_4x4x4_16b_f16 v[16:19], v[4:5], v[6:7], 0\n" + reader) ==
        24);
  CHECK(toVector("gfx950", of950 + reader) == 36);
  CHECK(toVector("gfx950", "v_mfma_f32_4x4x4_16b_f16 v[16:19], v[4:5], v[6:7], 0\n" + reader) ==
        24);
  CHECK(toVector("gfx942", "v_mfma_f32_16x16x4_f32 v[16:19], v4, v6, 0\n" + reader) == 44);
  // Of f64 there is none more on CDNA4, and of its products of 4 x 4 x 4 one fewer.
  const std::string wide = "v_mfma_f64_16x16x4_f64 v[16:23], v[4:5], v[6:7], 0\n",
                    wideReader = "v_mov_b32 v1, v17\n";
  CHECK(toVector("gfx942", wide + wideReader) == 48);
  CHECK(toVector("gfx950", wide + wideReader) == 80);
  CHECK(toVector("gfx90a", "v_mfma_f64_4x4x4f64 v[16:17], v[4:5], v[6:7], 0\n" + wideReader) == 28);
  // The states that the code has come to the same, where the unit was free.
  CHECK(toVector("gfx942", of942 + "s_nop 6\n" + reader) == 32);
  CHECK(toVector("gfx950", of950 + "s_nop 7\n" + reader) == 36);
  CHECK(toVector("gfx942", of942 + of942 + "s_nop 6\n" + reader) == 48);
  const Timed none("s_nop 0\ns_nop 15\n");
  const auto nops = none.of(Activity::Scalar, 0);
  REQUIRE(nops.size() >= 2);
  CHECK(nops[0].end - nops[0].start == 4);
  CHECK(nops[1].end - nops[1].start == 64);
  CHECK(none.result.timing.scalarCycles ==
        Timed("s_nop 0\ns_nop 0\n").result.timing.scalarCycles); // nothing issues meanwhile
}

TEST_CASE("two waves of a SIMD share its matrix unit, and fill what one leaves") {
  const std::string product = "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[6:7], 0\n";
  const auto body = [&](unsigned between) {
    return times(8, product + times(between, "s_mov_b32 s4, 0\n")) + "v_mov_b32 v1, v16\n";
  };
  const std::string dense = body(3), sparse = body(7);
  const uint64_t none = cycles("gfx942", "", 64);
  const uint64_t last = 16 + 4; // from the last product to the end of what reads its sums
  CHECK(cycles("gfx942", dense, 64) - none == 8 * 16 + last);
  CHECK(cycles("gfx942", dense, 256) - none == 8 * 16 + last); // a wave on each SIMD
  CHECK(cycles("gfx942", dense, 512) - none == 2 * 8 * 16 + last);
  CHECK(cycles("gfx942", sparse, 64) - none == 8 * 32 + 4);
  CHECK(cycles("gfx942", sparse, 512) - none == 8 * 32 + last);
}

TEST_CASE("WMMA of RDNA is a vector instruction, beside which others issue") {
  const char *target = GENERATE("gfx1100", "gfx1201");
  CAPTURE(target);
  const bool is11 = std::string(target) == "gfx1100";
  const std::string a = is11 ? "v[32:39], v[40:47]" : "v[32:35], v[40:43]";
  const auto product = [&](unsigned sums) {
    const std::string d = "v[" + std::to_string(sums) + ":" + std::to_string(sums + 7) + "]";
    return "v_wmma_f32_16x16x16_f16 " + d + ", " + a + ", " + d + "\n";
  };
  const uint64_t took = is11 ? 32 : 16;
  const Timed t(product(0) + product(8) + "s_mov_b32 s4, 0\nv_mov_b32 v60, 0\n" +
                    "v_mov_b32 v61, v8\n",
                1, target, 32);
  const auto issues = t.of(Activity::Matrix, 0), unit = t.of(Activity::MatrixUnderWay, 0),
             scalar = t.of(Activity::Scalar, 0), vector = t.of(Activity::Vector, 0);
  REQUIRE(issues.size() == 2);
  REQUIRE(unit.size() == 2);
  REQUIRE(vector.size() == 2);
  REQUIRE(!scalar.empty());
  const uint64_t first = issues[0].start;
  CHECK(issues[1].start == first + 1);
  CHECK(unit[1].start == first + took);
  CHECK(scalar[0].start == first + 2);
  CHECK(vector[0].start == first + 2 * took);
  CHECK(vector[1].start == first + 2 * took - 1 + 5); // the sums: a vector result, as any
  // With eight under way a wave issues nothing until the first one has its sums.
  const Timed nine(times(9, product(0)) + "s_mov_b32 s4, 0\n", 1, target, 32);
  const auto of = nine.of(Activity::Matrix, 0);
  REQUIRE(of.size() == 9);
  CHECK(of[7].start == of[0].start + 7);
  CHECK(of[8].start == of[0].start + took + 4);
  CHECK(nine.of(Activity::Scalar, 0)[0].start == of[0].start + 2 * took + 4);
  // And a product takes the vector unit from other waves.
  const std::string sums = times(8, "v_add_nc_u32 v50, v51, v52\n");
  const uint64_t none = cycles(target, "", 256);
  CHECK(cycles(target, product(0) + sums, 256) - none >= 2 * (took + 8));
}
