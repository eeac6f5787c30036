// Counters of small cases computed by hand, and the cycles of matrix instructions.
#include "operands.h"

#include "emulator/isa/machine.h"
#include "emulator/matrix/passes.h"

using namespace flyemu;
using namespace flyemu::test;

TEST_CASE("counters of a known case are exact") {
  WaveRun plain, w;
  plain.counters = w.counters = true;
  plain.lds = w.lds = 8192;
  plain.v = w.v = {{1, iota(0, 128)}, {2, iota(0, 4)}};
  plain.memory.resize(64 * 128);
  w.memory.resize(64 * 128);
  plain.run("");
  w.run("ds_write_b32 v1, v2\nds_write_b32 v2, v1\nglobal_load_dword v3, v1, "
        "s[2:3]\nglobal_load_dword v3, v2, s[2:3]\n"
        "v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], 0\n");
  const Counters &a = plain.result.counters, &b = w.result.counters;
  CHECK(b.SQ_WAVES == 1);
  CHECK(b.SQ_INSTS - a.SQ_INSTS == 5);
  CHECK(b.SQ_INSTS_LDS - a.SQ_INSTS_LDS == 2);
  CHECK(b.SQ_INSTS_VMEM_RD - a.SQ_INSTS_VMEM_RD == 2);
  CHECK(b.SQ_INSTS_MFMA - a.SQ_INSTS_MFMA == 1);
  CHECK(b.matrixFlops - a.matrixFlops == 2 * 32 * 32 * 8);
  // Stride 128: all 64 dwords in one bank, where 2 cycles would do; stride 4: no conflict.
  CHECK(b.SQ_LDS_BANK_CONFLICT - a.SQ_LDS_BANK_CONFLICT == 62);
  // Stride 128: a line for each lane, where two would hold the bytes; stride 4: two or, unaligned,
  // three lines.
  uint64_t lines = b.TCP_TOTAL_CACHE_ACCESSES - a.TCP_TOTAL_CACHE_ACCESSES;
  CHECK((lines == 66 || lines == 67));
  CHECK(b.TCP_MINIMUM_CACHE_ACCESSES - a.TCP_MINIMUM_CACHE_ACCESSES == 4);
}

TEST_CASE("lines are counted that loads do not keep, by each target's bits for it") {
  struct Case {
    const char *target, *code;
    bool streams;
  };
  // LLVM's memory model has these bits for !nontemporal; others say something else.
  const Case cases[] = {
      {"gfx942", "global_load_dword v3, v1, s[2:3] nt", true},
      {"gfx942", "global_load_dword v3, v1, s[2:3] sc0 sc1", false},
      {"gfx950", "global_load_dword v3, v1, s[2:3] nt", true},
      {"gfx950", "global_load_lds_dword v1, s[2:3] nt", true},
      {"gfx950", "buffer_load_dword v1, s[8:11], 0 offen nt lds", true},
      {"gfx950", "buffer_load_dword v1, s[8:11], 0 offen sc0 lds", false},
      {"gfx90a", "buffer_load_dword v1, s[8:11], 0 offen glc slc lds", true},
      {"gfx90a", "global_load_dword v3, v1, s[2:3] glc slc", true},
      {"gfx90a", "global_load_dword v3, v1, s[2:3] glc", false},
      {"gfx1100", "global_load_b32 v3, v1, s[2:3] slc dlc", true},
      {"gfx1100", "global_load_b32 v3, v1, s[2:3] glc dlc", false},
      {"gfx1201", "global_load_b32 v3, v1, s[2:3] th:TH_LOAD_NT", true},
      {"gfx1201", "global_load_b32 v3, v1, s[2:3] th:TH_LOAD_RT_NT", true},
      {"gfx1201", "global_load_b32 v3, v1, s[2:3] th:TH_LOAD_HT", false},
      {"gfx1201", "global_load_b32 v3, v1, s[2:3] th:TH_LOAD_NT_RT scope:SCOPE_SYS", false},
      {"gfx942", "buffer_load_dword v3, v1, s[8:11], 0 offen nt", true},
      {"gfx942", "buffer_load_dword v3, v1, s[8:11], 0 offen sc0 sc1", false},
      {"gfx942",
       "tbuffer_load_format_x v3, v1, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] "
       "offen nt",
       true},
      {"gfx942",
       "tbuffer_load_format_x v3, v1, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] "
       "offen sc1",
       false},
      {"gfx90a", "buffer_load_dword v3, v1, s[8:11], 0 offen glc slc", true},
      {"gfx1100", "buffer_load_b32 v3, v1, s[8:11], 0 offen slc dlc", true},
      {"gfx1100", "buffer_load_b32 v3, v1, s[8:11], 0 offen glc dlc", false},
      {"gfx1201", "buffer_load_b32 v3, v1, s[8:11], null offen th:TH_LOAD_NT", true},
      {"gfx1201", "buffer_load_b32 v3, v1, s[8:11], null offen th:TH_LOAD_HT", false},
      // A line that another load keeps is none of them, and neither is one that is written.
      {"gfx942", "global_load_dword v3, v1, s[2:3] nt\nglobal_load_dword v3, v1, s[2:3]", false},
      {"gfx942", "global_store_dword v1, v3, s[2:3] nt", false},
      {"gfx942", "global_atomic_add v1, v3, s[2:3] nt", false},
  };
  for (const Case &c : cases) {
    INFO(c.target << ": " << c.code);
    WaveRun w(c.target);
    w.counters = true;
    w.lds = 1024;
    w.memory.resize(512);
    // From the beginning of a line on, so that none holds what the harness reads.
    const auto memory = reinterpret_cast<uintptr_t>(w.memory.data());
    w.v = {{1, iota(static_cast<uint32_t>(128 - memory % 128), 4)}};
    w.s = {{10, 512}, {11, 0x00027000}};
    w.run("s_mov_b64 s[8:9], s[2:3]\n" + std::string(c.code));
    const uint64_t lanes = findMachine(c.target)->encoding == Encoding::Gfx9 ? 64 : 32;
    CHECK(w.result.counters.globalStreamFootprint == (c.streams ? lanes * 4 : 0));
    const bool adds = std::string_view(c.code).starts_with("global_atomic");
    CHECK(w.result.counters.globalAtomicBytes == (adds ? lanes * 4 : 0));
    CHECK(w.result.counters.globalAtomicGroups == (adds ? 1 : 0));
  }
}

TEST_CASE("LDS takes the cycles that width, stride and banks ask for") {
  struct Case {
    const char *target, *code;
    uint32_t stride; ///< bytes between lanes
    uint64_t active, conflicts;
  };
  // 32 banks of 4 bytes serve 32 lanes of a word, 16 of two, 8 of four; 64 banks twice as many.
  const Case cases[] = {
      {"gfx942", "ds_read_b32 v3, v1", 4, 2, 0},
      {"gfx942", "ds_read_b32 v3, v1", 0, 2, 0}, // one word for all lanes
      {"gfx942", "ds_read_b32 v3, v1", 8, 4, 2},
      {"gfx942", "ds_read_b32 v3, v1", 132, 2, 0}, // a padded row of 33 words
      {"gfx942", "ds_read_u8 v3, v1", 1, 2, 0},    // four lanes to a word
      {"gfx942", "ds_read_b64 v[4:5], v1", 8, 4, 0},
      {"gfx942", "ds_read_b64 v[4:5], v1", 128, 64, 60},
      {"gfx942", "ds_read_b128 v[4:7], v1", 16, 8, 0},
      {"gfx942", "ds_read_b128 v[4:7], v1", 32, 16, 8},
      {"gfx942", "ds_read2_b32 v[4:5], v1 offset0:0 offset1:1", 8, 4, 0},
      {"gfx942", "ds_write_b128 v1, v[4:7]", 16, 8, 0},
      {"gfx950", "ds_read_b32 v3, v1", 4, 1, 0},
      {"gfx950", "ds_read_b32 v3, v1", 8, 2, 1},
      {"gfx950", "ds_read_b128 v[4:7], v1", 16, 4, 0},
  };
  for (const Case &c : cases) {
    INFO(c.target << " " << c.code << " stride " << c.stride);
    WaveRun plain(c.target), w(c.target);
    plain.counters = w.counters = true;
    plain.lds = w.lds = 16384;
    plain.v = w.v = {{1, iota(0, c.stride)}};
    plain.run("");
    w.run(c.code);
    const Counters &a = plain.result.counters, &b = w.result.counters;
    CHECK(b.SQ_LDS_IDX_ACTIVE - a.SQ_LDS_IDX_ACTIVE == c.active);
    CHECK(b.SQ_LDS_BANK_CONFLICT - a.SQ_LDS_BANK_CONFLICT == c.conflicts);
  }
}

TEST_CASE("lanes that are off cost no LDS cycles and touch no lines") {
  WaveRun plain, w;
  plain.counters = w.counters = true;
  plain.lds = w.lds = 4096;
  plain.exec = w.exec = 0xffff0000ffffull;
  plain.v = w.v = {{1, iota(0, 4)}};
  plain.run("");
  w.run("ds_read_b32 v3, v1");
  CHECK(w.result.counters.SQ_LDS_IDX_ACTIVE - plain.result.counters.SQ_LDS_IDX_ACTIVE == 2);
  CHECK(w.result.counters.ldsBytes - plain.result.counters.ldsBytes == 32 * 4);
  w.exec = plain.exec = 0xff;
  w.run("ds_read_b32 v3, v1");
  plain.run("");
  CHECK(w.result.counters.SQ_LDS_IDX_ACTIVE - plain.result.counters.SQ_LDS_IDX_ACTIVE == 1);
}

TEST_CASE("matrix instructions are counted by their operands' type") {
  WaveRun plain, w;
  plain.counters = w.counters = true;
  plain.run("");
  w.run("v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], 0\n"
        "v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], v[6:7], 0\n"
        "v_mfma_i32_16x16x32_i8 a[0:3], v[4:5], v[6:7], 0\n"
        "v_mfma_f64_16x16x4_f64 a[0:7], v[4:5], v[6:7], 0\n");
  const Counters &a = plain.result.counters, &b = w.result.counters;
  CHECK(b.SQ_INSTS_VALU_MFMA_F8 == 1);
  CHECK(b.SQ_INSTS_VALU_MFMA_BF16 == 1);
  CHECK(b.SQ_INSTS_VALU_MFMA_I8 == 1);
  CHECK(b.SQ_INSTS_VALU_MFMA_F64 == 1);
  CHECK(b.SQ_INSTS_VALU_MFMA_F16 == 0);
  CHECK(b.SQ_INSTS_VALU - a.SQ_INSTS_VALU == 4);
  CHECK(b.matrixFlops == 2 * 256 * (32 + 16 + 32 + 4));
  CHECK(w.result.timing.matrixCycles == 16 + 16 + 16 + 32);
}

TEST_CASE("waiting costs less where independent work stands between") {
  WaveRun w; // one for both, so that the memory lies at the same place
  w.counters = true;
  w.memory.resize(4096);
  w.v = {{1, iota(0, 4)}};
  std::string work;
  for (int i = 0; i < 50; ++i)
    work += "v_add_u32 v5, v5, v5\n";
  const std::string load = "global_load_dword v3, v1, s[2:3]\n", wait = "s_waitcnt vmcnt(0)\n";
  w.run(load + wait + work);
  const Timing atOnce = w.result.timing;
  w.run(load + work + wait);
  const Timing later = w.result.timing;
  CHECK(atOnce.valuCycles == later.valuCycles);
  CHECK(atOnce.groupCycles == later.groupCycles + 50 * 4);
}

TEST_CASE("matrix instructions take their published cycles") {
  struct Case {
    const char *target, *name;
    unsigned cycles;
  };
  // Passes of the ISA manuals times four; AMD's matrix instruction calculator prints the same.
  const Case cases[] = {
      {"gfx90a", "v_mfma_f32_32x32x8f16", 64},       {"gfx90a", "v_mfma_f32_4x4x4f16", 8},
      {"gfx90a", "v_mfma_f64_16x16x4f64", 32},       {"gfx90a", "v_mfma_f64_4x4x4f64", 16},
      {"gfx942", "v_mfma_f32_32x32x8_f16", 32},      {"gfx942", "v_mfma_f32_16x16x16_bf16", 16},
      {"gfx942", "v_mfma_f32_32x32x16_fp8_bf8", 32}, {"gfx942", "v_mfma_f32_32x32x4_2b_f16", 64},
      {"gfx942", "v_mfma_f32_16x16x4_4b_bf16", 32},  {"gfx942", "v_mfma_f32_4x4x4_16b_f16", 8},
      {"gfx942", "v_mfma_f32_32x32x2_f32", 64},      {"gfx942", "v_mfma_f32_16x16x4_f32", 32},
      {"gfx942", "v_mfma_f32_4x4x1_16b_f32", 8},     {"gfx942", "v_mfma_f32_16x16x8_xf32", 16},
      {"gfx942", "v_mfma_f64_16x16x4_f64", 32},      {"gfx942", "v_mfma_f64_4x4x4_4b_f64", 16},
      {"gfx942", "v_mfma_i32_16x16x32_i8", 16},      {"gfx942", "v_smfmac_f32_32x32x16_f16", 32},
      {"gfx950", "v_mfma_f32_16x16x32_f16", 16},     {"gfx950", "v_mfma_f32_32x32x16_bf16", 32},
      {"gfx950", "v_mfma_f32_16x16x128_f8f6f4", 32}, // fp8 unless told otherwise
      {"gfx950", "v_mfma_f32_32x32x64_f8f6f4", 64},  {"gfx1100", "v_wmma_f32_16x16x16_f16", 32},
      {"gfx1100", "v_wmma_i32_16x16x16_iu4", 16},    {"gfx1201", "v_wmma_f32_16x16x16_bf16", 16},
      {"gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", 8},
  };
  for (const Case &c : cases) {
    INFO(c.target << " " << c.name);
    const Processor &target = *findMachine(c.target)->processor;
    auto op = matrix::parseMatrixOp(c.name, target);
    REQUIRE(op);
    CHECK(matrix::cyclesOf(*op, target) == c.cycles);
  }
  const Processor &gfx950 = *findMachine("gfx950")->processor;
  // Of 8 bits, those that CDNA3 has as well take as long for half of the multiply-adds.
  const auto isHalf = [](const char *target, const char *name) {
    const Processor &processor = *findMachine(target)->processor;
    return matrix::isHalfRate8(*matrix::parseMatrixOp(name, processor), processor);
  };
  CHECK(isHalf("gfx950", "v_mfma_i32_16x16x32_i8"));
  CHECK(isHalf("gfx950", "v_mfma_f32_32x32x16_fp8_bf8"));
  CHECK_FALSE(isHalf("gfx950", "v_mfma_i32_16x16x64_i8"));
  CHECK_FALSE(isHalf("gfx950", "v_mfma_i32_32x32x32_i8"));
  CHECK_FALSE(isHalf("gfx950", "v_mfma_f32_16x16x128_f8f6f4"));
  CHECK_FALSE(isHalf("gfx950", "v_mfma_f32_16x16x16_f16"));
  CHECK_FALSE(isHalf("gfx942", "v_mfma_i32_16x16x32_i8"));
  auto four =
      matrix::withFormats(*matrix::parseMatrixOp("v_mfma_f32_16x16x128_f8f6f4", gfx950), 4, 4);
  REQUIRE(four);
  CHECK(matrix::cyclesOf(*four, gfx950) == 16);
}
