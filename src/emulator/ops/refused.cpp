#include "emulator/ops/refused.h"

namespace flyemu {

namespace {
struct Refusal {
  std::string_view beginning; ///< of base mnemonics
  bool (*isOf)(const Machine &);
  const char *why;
};

bool isGfx1250(const Machine &machine) { return machine.isGfx1250(); }
bool isBefore(const Machine &machine) { return !machine.isGfx1250(); }

constexpr Refusal kRefusals[] = {
    {"s_barrier_init", isBefore, "a named barrier, whose numbers are reserved on RDNA4"},
    {"s_barrier_join", isBefore, "a named barrier, whose numbers are reserved on RDNA4"},
    {"global_load_tr_", isGfx1250,
     "a transposing load of gfx1250, whose order of elements is not known here"},
    {"s_buffer_", isGfx1250,
     "scalar memory through a buffer descriptor of gfx1250 is not emulated"},
    // What the tables do not have, and why: docs/emulator.md names the sources that were looked at.
    {"ds_atomic_async_barrier_arrive", isGfx1250,
     "a barrier in LDS, whose counts and phases Triton and rocjitsu describe differently"},
    {"ds_atomic_barrier_arrive", isGfx1250,
     "a barrier in LDS, whose counts and phases Triton and rocjitsu describe differently"},
    {"ds_load_tr6_", isGfx1250, "the order of elements of 6 bits is not known here"},
    {"global_load_tr4_", isGfx1250, "rocjitsu and Comgr have different orders of its elements"},
    {"global_load_tr6_", isGfx1250, "the order of elements of 6 bits is not known here"},
    {"global_load_monitor_", isGfx1250, "when a watched address wakes a wave is not known here"},
    {"flat_load_monitor_", isGfx1250, "when a watched address wakes a wave is not known here"},
    {"s_monitor_sleep", isGfx1250, "when a watched address wakes a wave is not known here"},
    {"s_barrier_leave", isGfx1250, "what a wave is that has left its barrier is not known here"},
    {"s_wakeup_barrier", isGfx1250, "whom it wakes, and for which round, is not known here"},
    {"tensor_save", isGfx1250, "saves the moves of a wave, as a trap handler does"},
    {"tensor_stop", isGfx1250, "stops the moves of a wave, as a trap handler does"},
    {"v_cvt_scale_pk", isGfx1250, "the lanes and bytes of its scales are not known here"},
    {"v_cvt_scalef32_pk16_", isGfx1250, "the order of its elements of 6 bits is not known here"},
    {"v_cvt_scalef32_sr_", isGfx1250,
     "the bits of a random number that it adds are not known here"},
    {"v_cvt_sr_bf8_f16", isGfx1250, "the bits of a random number that it adds are not known here"},
    {"v_cvt_sr_fp8_f16", isGfx1250, "the bits of a random number that it adds are not known here"},
    {"v_cvt_sr_pk_", isGfx1250, "the bits of a random number that it adds are not known here"},
    {"v_perm_pk16_", isGfx1250, "the order of its table's elements is not known here"},
    {"v_permlane_idx_gen_", isGfx1250, "what it makes is not known here"},
    {"v_swmmac_", isGfx1250, "the layout of a sparse product's indices is not known here"},
    {"v_wmma_bf16f32_", isGfx1250, "the layout and rounding of its sums are not known here"},
    {"v_wmma_f32_32x16x128_", isGfx1250, "FlyDSL and rocjitsu have different layouts of it"},
    {"v_wmma_scale_f32_32x16x128_", isGfx1250, "FlyDSL and rocjitsu have different layouts of it"},
    {"v_wmma_scale16_f32_32x16x128_", isGfx1250,
     "FlyDSL and rocjitsu have different layouts of it"},
    {"v_wmma_ld_scale", isGfx1250,
     "scales without the matrix instruction that they are a part of: compilers write both as one"},
    {"v_wmma_bf16_16x16x16_", isGfx1250, "a shape of RDNA4, which no description of gfx1250 has"},
    {"v_wmma_f16_16x16x16_", isGfx1250, "a shape of RDNA4, which no description of gfx1250 has"},
    {"v_wmma_f32_16x16x16_", isGfx1250, "a shape of RDNA4, which no description of gfx1250 has"},
    {"v_wmma_i32_16x16x16_", isGfx1250, "a shape of RDNA4, which no description of gfx1250 has"},
    {"v_wmma_i32_16x16x32_iu4", isGfx1250, "a shape of RDNA4, which no description of gfx1250 has"},
};
} // namespace

const char *refusalOf(std::string_view mnemonic, const Machine &machine) {
  for (const Refusal &refusal : kRefusals)
    if (mnemonic.starts_with(refusal.beginning) && refusal.isOf(machine))
      return refusal.why;
  return nullptr;
}

} // namespace flyemu
