// Seeded mutation of machine code for a number of seconds: random dwords, and instructions from the
// assembler with changed bits, exchanged dwords, or pieces of other instructions.
//   decoder_fuzz <seconds> <seed>
//   decoder_fuzz corpus <folder>: writes libFuzzer's first inputs, one per instruction and one of
//   all of them for each processor, without and with the checks
#include "decoder_target.h"

#include "assemble.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace flyemu;

namespace {
using Words = std::vector<uint32_t>;

const char *const kGfx9[] = {"s_load_dwordx4 s[4:7], s[0:1], 0x0",
                             "s_mov_b64 s[8:9], s[0:1]",
                             "s_movk_i32 s10, 0x1000",
                             "s_mov_b32 s11, 0x27000",
                             "v_lshlrev_b32 v1, 2, v0",
                             "global_load_dword v2, v1, s[0:1]",
                             "global_load_dwordx4 v[4:7], v1, s[0:1] offset:16",
                             "global_store_dwordx2 v1, v[4:5], s[0:1]",
                             "global_atomic_add v3, v1, v2, s[0:1] sc0",
                             "buffer_load_dwordx2 v[8:9], v1, s[8:11], 0 offen",
                             "buffer_store_dword v2, v1, s[8:11], 0 offen",
                             "buffer_load_format_xyzw v[4:7], v1, s[8:11], 0 idxen",
                             "ds_write_b64 v1, v[4:5]",
                             "ds_read_b128 v[12:15], v1",
                             "ds_read2_b32 v[16:17], v1 offset1:1",
                             "ds_add_rtn_u32 v3, v1, v2",
                             "ds_bpermute_b32 v3, v1, v2",
                             "scratch_store_dword off, v2, off offset:4",
                             "v_add_f32 v4, v5, v6",
                             "v_fma_f64 v[4:5], v[6:7], v[8:9], v[10:11]",
                             "v_pk_fma_f16 v4, v5, v6, v7",
                             "v_cmp_lt_f32 vcc, v1, v2",
                             "v_cndmask_b32 v4, v5, v6, vcc",
                             "v_add_f32_dpp v4, v5, v6 row_shr:1 row_mask:0xf bank_mask:0xf",
                             "v_add_u16_sdwa v4, v5, v6 src0_sel:BYTE_2 src1_sel:WORD_1",
                             "v_mfma_f32_32x32x8f16 v[16:31], v[4:5], v[6:7], v[16:31]",
                             "v_accvgpr_write_b32 a4, v3",
                             "v_readfirstlane_b32 s12, v3",
                             "v_readlane_b32 s13, v2, 5",
                             "s_and_saveexec_b64 s[14:15], vcc",
                             "s_or_b64 exec, exec, s[14:15]",
                             "s_cbranch_execz 2",
                             "s_branch -3",
                             "s_barrier",
                             "s_waitcnt vmcnt(0)",
                             "s_getpc_b64 s[16:17]",
                             "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3",
                             "s_set_gpr_idx_on s3, gpr_idx(SRC0)",
                             "v_mov_b32 v4, v5",
                             "s_set_gpr_idx_off",
                             "s_endpgm"};
const char *const kLater[] = {"s_load_b128 s[4:7], s[0:1], 0x0",
                              "s_mov_b64 s[8:9], s[0:1]",
                              "s_movk_i32 s10, 0x1000",
                              "s_mov_b32 s11, 0x31016000",
                              "v_lshlrev_b32 v1, 2, v0",
                              "global_load_b32 v2, v1, s[0:1]",
                              "global_load_b128 v[4:7], v1, s[0:1] offset:16",
                              "global_store_b64 v1, v[4:5], s[0:1]",
                              "global_atomic_add_u32 v1, v2, s[0:1]",
                              "ds_store_b64 v1, v[4:5]",
                              "ds_load_b128 v[12:15], v1",
                              "ds_add_rtn_u32 v3, v1, v2",
                              "scratch_store_b32 off, v2, off offset:4",
                              "v_add_f32 v4, v5, v6",
                              "v_fma_f64 v[4:5], v[6:7], v[8:9], v[10:11]",
                              "v_pk_fma_f16 v4, v5, v6, v7",
                              "v_dual_mul_f32 v4, v5, v6 :: v_dual_mov_b32 v7, v9",
                              "v_cmp_lt_f32 vcc_lo, v1, v2",
                              "v_mov_b32_dpp v4, v5 dpp8:[7,6,5,4,3,2,1,0]",
                              "v_permlane16_b32 v4, v5, s2, s3",
                              "v_add_f32_e64_dpp v4, v5, v6 row_share:3 row_mask:0xf bank_mask:0xf",
                              "v_readfirstlane_b32 s12, v3",
                              "s_and_saveexec_b32 s14, vcc_lo",
                              "s_cbranch_execz 2",
                              "s_branch -3",
                              "s_endpgm"};

/// Instructions of each processor, one by one.
std::vector<std::vector<Words>> seeds() {
  std::vector<std::vector<Words>> all;
  for (const std::string target : fuzz::kTargets) {
    std::vector<std::string> texts;
    if (target[3] == '9')
      texts.assign(std::begin(kGfx9), std::end(kGfx9));
    else
      texts.assign(std::begin(kLater), std::end(kLater));
    std::vector<Words> code;
    for (auto &words : test::assembleEach(target, texts))
      if (!words.empty())
        code.push_back(words);
    all.push_back(code);
  }
  return all;
}

/// What runCode takes: a byte for the processor and the options, and the code.
std::vector<uint8_t> input(uint8_t first, const Words &words) {
  std::vector<uint8_t> bytes(1 + 4 * words.size(), first);
  std::memcpy(bytes.data() + 1, words.data(), 4 * words.size());
  return bytes;
}

bool writeCorpus(const std::string &folder) {
  const auto code = seeds();
  // The smallest bytes that choose each processor with every check and counter, and with none.
  constexpr unsigned kProcessors = std::size(fuzz::kTargets);
  constexpr unsigned kChecked = (0xc0 + kProcessors - 1) / kProcessors * kProcessors;
  bool good = true;
  for (unsigned target = 0; target < code.size(); ++target) {
    Words all;
    for (const Words &piece : code[target])
      all.insert(all.end(), piece.begin(), piece.end());
    std::vector<Words> files = code[target];
    files.push_back(all);
    for (size_t n = 0; n < files.size(); ++n)
      for (unsigned options : {0u, kChecked}) {
        const auto bytes = input(static_cast<uint8_t>(target + options), files[n]);
        std::ofstream out(folder + "/" + fuzz::kTargets[target] + "-" + std::to_string(n) +
                              (options ? "-checked" : ""),
                          std::ios::binary);
        out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<long>(bytes.size()));
        good &= static_cast<bool>(out.flush());
      }
  }
  return good;
}
} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "corpus")
    return writeCorpus(argv[2]) ? 0 : 1;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::atol(argv[2])) : 1);
  const auto code = seeds();
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t runs = 0;
  while (elapsed() < seconds) {
    const unsigned target = random() % code.size();
    std::vector<uint32_t> words;
    const unsigned count = 1 + random() % 24;
    for (unsigned k = 0; k < count; ++k) {
      if (random() % 8 == 0) {
        words.push_back(random());
        continue;
      }
      auto piece = code[target][random() % code[target].size()];
      if (random() % 2)
        piece[random() % piece.size()] ^= 1u << random() % 32;
      if (random() % 8 == 0)
        piece[random() % piece.size()] = random();
      words.insert(words.end(), piece.begin(), piece.end());
    }
    const auto bytes =
        input(static_cast<uint8_t>(target + std::size(fuzz::kTargets) * (random() % 42)), words);
    try {
      fuzz::runCode(bytes.data(), bytes.size());
    } catch (const std::exception &e) {
      std::fprintf(stderr, "after %llu runs: %s\n", static_cast<unsigned long long>(runs),
                   e.what());
      for (uint8_t b : bytes)
        std::fprintf(stderr, "%02x", b);
      std::fprintf(stderr, "\n");
      return 1;
    }
    ++runs;
  }
  std::printf("%llu pieces of code, each ended or faulted as promised\n",
              static_cast<unsigned long long>(runs));
  return 0;
}
