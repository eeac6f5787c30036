// RDNA3 (gfx11), RDNA4 (gfx1200, gfx1201) and gfx1250: WMMA and SWMMAC, 32 lanes.
#include "layouts.h"

namespace matrix_layouts {

// What AMD's matrix instruction calculator (github.com/ROCm/amd_matrix_instruction_calculator)
// prints with --register-layout for -a rdna3, every element of every instruction.
static std::vector<Instruction> rdna3() {
  return {
      {kGfx11,
       {"v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_f16_16x16x16_f16",
        "v_wmma_bf16_16x16x16_bf16"},
       {16, {i(1), i(2), i(4), i(8), copy}, {k(1), k(2), k(4), k(8)}},
       {16, {j(1), j(2), j(4), j(8), copy}, {k(1), k(2), k(4), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(1)}, {i(2), i(4), i(8)}}},
      {kGfx11,
       {"v_wmma_i32_16x16x16_iu8"},
       {8, {i(1), i(2), i(4), i(8), copy}, {k(1), k(2), k(4), k(8)}},
       {8, {j(1), j(2), j(4), j(8), copy}, {k(1), k(2), k(4), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(1)}, {i(2), i(4), i(8)}}},
      {kGfx11,
       {"v_wmma_i32_16x16x16_iu4"},
       {4, {i(1), i(2), i(4), i(8), copy}, {k(1), k(2), k(4), k(8)}},
       {4, {j(1), j(2), j(4), j(8), copy}, {k(1), k(2), k(4), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(1)}, {i(2), i(4), i(8)}}},
  };
}

// The same for -a rdna4.
static std::vector<Instruction> rdna4() {
  return {
      {kGfx120x,
       {"v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16"},
       {16, {i(1), i(2), i(4), i(8), k(4)}, {k(1), k(2), k(8)}},
       {16, {j(1), j(2), j(4), j(8), k(4)}, {k(1), k(2), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"},
       {16, {i(1), i(2), i(4), i(8), k(4)}, {k(1), k(2), k(8)}},
       {16, {j(1), j(2), j(4), j(8), k(4)}, {k(1), k(2), k(8)}},
       {16, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_wmma_i32_16x16x16_iu8", "v_wmma_f32_16x16x16_fp8_fp8", "v_wmma_f32_16x16x16_fp8_bf8",
        "v_wmma_f32_16x16x16_bf8_fp8", "v_wmma_f32_16x16x16_bf8_bf8"},
       {8, {i(1), i(2), i(4), i(8), k(8)}, {k(1), k(2), k(4)}},
       {8, {j(1), j(2), j(4), j(8), k(8)}, {k(1), k(2), k(4)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_wmma_i32_16x16x16_iu4"},
       {4, {i(1), i(2), i(4), i(8), k(8)}, {k(1), k(2), k(4)}},
       {4, {j(1), j(2), j(4), j(8), k(8)}, {k(1), k(2), k(4)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_wmma_i32_16x16x32_iu4"},
       {4, {i(1), i(2), i(4), i(8), k(16)}, {k(1), k(2), k(4), k(8)}},
       {4, {j(1), j(2), j(4), j(8), k(16)}, {k(1), k(2), k(4), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_swmmac_f32_16x16x32_f16", "v_swmmac_f32_16x16x32_bf16"},
       {16, {i(1), i(2), i(4), i(8), k(4)}, {k(1), k(2), k(8)}},
       {16, {j(1), j(2), j(4), j(8), k(8)}, {k(1), k(2), k(4), k(16)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_swmmac_f16_16x16x32_f16", "v_swmmac_bf16_16x16x32_bf16"},
       {16, {i(1), i(2), i(4), i(8), k(4)}, {k(1), k(2), k(8)}},
       {16, {j(1), j(2), j(4), j(8), k(8)}, {k(1), k(2), k(4), k(16)}},
       {16, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_swmmac_i32_16x16x32_iu8", "v_swmmac_f32_16x16x32_fp8_fp8",
        "v_swmmac_f32_16x16x32_fp8_bf8", "v_swmmac_f32_16x16x32_bf8_fp8",
        "v_swmmac_f32_16x16x32_bf8_bf8"},
       {8, {i(1), i(2), i(4), i(8), k(8)}, {k(1), k(2), k(4)}},
       {8, {j(1), j(2), j(4), j(8), k(16)}, {k(1), k(2), k(4), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_swmmac_i32_16x16x32_iu4"},
       {4, {i(1), i(2), i(4), i(8), k(8)}, {k(1), k(2), k(4)}},
       {4, {j(1), j(2), j(4), j(8), k(16)}, {k(1), k(2), k(4), k(8)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx120x,
       {"v_swmmac_i32_16x16x64_iu4"},
       {4, {i(1), i(2), i(4), i(8), k(16)}, {k(1), k(2), k(4), k(8)}},
       {4, {j(1), j(2), j(4), j(8), k(32)}, {k(1), k(2), k(4), k(8), k(16)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
  };
}

// gfx1250, as far as two sources agree. 16 and 32 bits: IREE (getSingleSubgroupLayout of
// MMAIntrinsic::WMMA_*, which has the K of a half in one run: the same product, as A and B agree)
// and rocjitsu (wmma_input_loc). The scaled instruction: FlyDSL's
// kernels/gemm/gemm_a8w4_mxscale_gfx1250.py (load_a, load_b), Composable Kernel
// (include/ck_tile/core/arch/mma/scale, four accesses for eight bits beside two for four) and
// rocjitsu (wmma_block_scaled_input_loc): runs of 16 bytes, or of 32 elements where they are
// smaller. Of its scales a lane below 16 holds those of its row, a byte for each 32 k.
static std::vector<Instruction> gfx1250() {
  return {
      {kGfx1250,
       {"v_wmma_f32_16x16x4_f32"},
       {32, {i(1), i(2), i(4), i(8), k(2)}, {k(1)}},
       {32, {j(1), j(2), j(4), j(8), k(2)}, {k(1)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx1250,
       {"v_wmma_f32_16x16x32_f16", "v_wmma_f32_16x16x32_bf16"},
       {16, {i(1), i(2), i(4), i(8), k(8)}, {k(1), k(2), k(4), k(16)}},
       {16, {j(1), j(2), j(4), j(8), k(8)}, {k(1), k(2), k(4), k(16)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx1250,
       {"v_wmma_f16_16x16x32_f16", "v_wmma_bf16_16x16x32_bf16"},
       {16, {i(1), i(2), i(4), i(8), k(8)}, {k(1), k(2), k(4), k(16)}},
       {16, {j(1), j(2), j(4), j(8), k(8)}, {k(1), k(2), k(4), k(16)}},
       {16, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx1250,
       {"v_wmma_scale_f32_16x16x128_f8f6f4"},
       {8, {i(1), i(2), i(4), i(8), k(16)}, {k(1), k(2), k(4), k(8), k(32), k(64)}},
       {8, {j(1), j(2), j(4), j(8), k(16)}, {k(1), k(2), k(4), k(8), k(32), k(64)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx1250,
       {"v_wmma_scale_f32_16x16x128_f8f6f4"},
       {6, {i(1), i(2), i(4), i(8), k(32)}, {k(1), k(2), k(4), k(8), k(16), k(64)}},
       {6, {j(1), j(2), j(4), j(8), k(32)}, {k(1), k(2), k(4), k(8), k(16), k(64)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
      {kGfx1250,
       {"v_wmma_scale_f32_16x16x128_f8f6f4"},
       {4, {i(1), i(2), i(4), i(8), k(32)}, {k(1), k(2), k(4), k(8), k(16), k(64)}},
       {4, {j(1), j(2), j(4), j(8), k(32)}, {k(1), k(2), k(4), k(8), k(16), k(64)}},
       {32, {j(1), j(2), j(4), j(8), i(8)}, {i(1), i(2), i(4)}}},
  };
}

std::vector<Instruction> detail::rdnaInstructions() {
  std::vector<Instruction> all;
  for (const auto &part : {rdna3(), rdna4(), gfx1250()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

} // namespace matrix_layouts
