// Matrix instructions through the decoder: operand fields, accumulation registers, constants,
// broadcast.
#include "operands.h"

using namespace flyemu;
using namespace flyemu::test;

namespace {
Lanes halves(unsigned seed) {
  Lanes l;
  for (unsigned i = 0; i < 64; ++i) {
    auto h = [&](unsigned k) {
      return uint32_t(nearestHalf(int((i * 7 + k * 13 + seed) % 17) - 8));
    };
    l[i] = h(0) | h(1) << 16;
  }
  return l;
}
double element(const std::map<unsigned, Lanes> &v, unsigned reg, unsigned lane, unsigned k) {
  return halfValue(static_cast<uint16_t>(v.at(reg + k / 2).at(lane) >> 16 * (k % 2)));
}
} // namespace

TEST_CASE("MFMA 16x16x16 f16: product, accumulation registers and a constant addend") {
  WaveRun w;
  w.v = {{2, halves(1)}, {3, halves(5)}, {4, halves(9)}, {5, halves(3)}};
  w.exec = kPartialExec; // matrix instructions take part with all lanes
  for (unsigned r = 8; r < 12; ++r)
    w.v[r].fill(kPoison);
  w.readV = {8, 9, 10, 11};
  for (const char *text :
       {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 1.0",
        "v_accvgpr_write_b32 a4, v2\nv_accvgpr_write_b32 a5, v3\n"
        "s_mov_b64 s[20:21], exec\ns_mov_b64 exec, -1\n"
        "v_accvgpr_write_b32 a4, v2\nv_accvgpr_write_b32 a5, v3\n"
        "v_mfma_f32_16x16x16_f16 a[0:3], a[4:5], v[4:5], 1.0\n"
        "v_accvgpr_read_b32 v8, a0\nv_accvgpr_read_b32 v9, a1\n"
        "v_accvgpr_read_b32 v10, a2\nv_accvgpr_read_b32 v11, a3\ns_mov_b64 exec, s[20:21]\n"}) {
    INFO(text);
    w.run(text);
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned r = 0; r < 4; ++r) {
        unsigned row = 4 * (lane / 16) + r, column = lane % 16;
        double sum = 1;
        for (unsigned k = 0; k < 16; ++k)
          sum += element(w.v, 2, 16 * (k / 4) + row, k % 4) *
                 element(w.v, 4, 16 * (k / 4) + column, k % 4);
        CHECK(double(asF32(w.outV[8 + r][lane])) == sum);
      }
  }
}

TEST_CASE("scaled MFMA of gfx950 takes its scales from the first half") {
  WaveRun w("gfx950");
  for (unsigned r = 8; r < 24; ++r)
    w.v[r].fill(0x38383838); // fp8 1.0
  w.v[2].fill(0x7f7f7f80);   // byte 0: 2, others: 1
  w.v[3].fill(0x827f7f7f);   // byte 3: 8
  for (unsigned r = 24; r < 28; ++r)
    w.v[r].fill(0);
  w.readV = {24, 27};
  w.run("v_mfma_scale_f32_16x16x128_f8f6f4 v[24:27], v[8:15], v[16:23], v[24:27], v2, v3 "
        "op_sel:[0,1,0] op_sel_hi:[0,1,0]");
  CHECK(asF32(w.outV[24][5]) == 128.0f * 2 * 8);
  w.run("v_mfma_f32_16x16x128_f8f6f4 v[24:27], v[8:15], v[16:23], v[24:27]");
  CHECK(asF32(w.outV[27][63]) == 128.0f);
}

TEST_CASE("scaled MFMA of 4 bits takes A and B from the last accumulation registers") {
  WaveRun w("gfx950");
  w.v[2].fill(0x7f7f7f7f); // scales of 1
  w.v[8].fill(0x22222222); // f4 1.0
  w.v[9].fill(0x44444444); // f4 2.0
  for (unsigned r = 24; r < 28; ++r)
    w.v[r].fill(0);
  w.readV = {24, 27};
  std::string text;
  for (unsigned k = 0; k < 4; ++k)
    text += "v_accvgpr_write_b32 a" + std::to_string(252 + k) + ", v8\n" + "v_accvgpr_write_b32 a" +
            std::to_string(248 + k) + ", v9\n";
  w.run(text +
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[24:27], a[252:255], a[248:251], v[24:27], v2, v2 "
        "op_sel_hi:[0,0,0] cbsz:4 blgp:4");
  CHECK(asF32(w.outV[24][5]) == 256.0f);
  CHECK(asF32(w.outV[27][63]) == 256.0f);
}

TEST_CASE("a pattern of B's lanes is for the instructions that have one") {
  // AMD's matrix instruction calculator says of each instruction whether BLGP is supported.
  for (const char *text : {"v_mfma_f32_16x16x4_f32 v[8:11], v2, v3, v[8:11] blgp:3",
                           "v_mfma_f32_16x16x4_4b_f16 v[8:23], v[2:3], v[4:5], v[8:23] blgp:5"}) {
    WaveRun w;
    INFO(text);
    w.run(text);
    CHECK(w.result.ok);
  }
  for (const char *text : {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], v[8:11] blgp:1",
                           "v_mfma_i32_16x16x32_i8 v[8:11], v[2:3], v[4:5], v[8:11] blgp:4"}) {
    WaveRun w;
    INFO(text);
    w.run(text, true);
    REQUIRE(!w.result.ok);
    CHECK(w.result.fault.message.find("form") != std::string::npos);
  }
}

TEST_CASE("a broadcast of A's blocks stays within the instruction's blocks") {
  const std::string four = "v_mfma_f32_16x16x1_4b_f32 v[8:23], v2, v3, v[8:23] ";
  const std::string one = "v_mfma_f32_16x16x4_f32 v[8:11], v2, v3, v[8:11] ";
  for (const std::string &text : {four + "cbsz:2 abid:3", four + "cbsz:1 abid:1", one}) {
    WaveRun w;
    INFO(text);
    w.run(text);
    CHECK(w.result.ok);
  }
  for (const std::string &text : {four + "cbsz:3", four + "cbsz:7 abid:15", four + "cbsz:1 abid:2",
                                  four + "abid:1", one + "cbsz:1"}) {
    WaveRun w;
    INFO(text);
    w.run(text, true);
    REQUIRE(!w.result.ok);
    CHECK(w.result.fault.instruction.find("v_mfma_f32_16x16x") == 0);
    CHECK(w.result.fault.message.find("form") != std::string::npos);
  }
}
