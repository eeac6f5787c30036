// LLVM's record names reduced to the base mnemonic that the operation tables are keyed by.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace flyemu {

/// "V_ADD_F32_e64_vi" -> "v_add_f32", "GLOBAL_LOAD_DWORD_SADDR_gfx11" -> "global_load_dword": the
/// record's name in lower case without the suffixes that tell encoding, addressing mode and target.
/// Dual instructions (VOPD) keep both halves: "V_DUAL_ADD_F32_e32_X_MUL_F32_e32_gfx11" ->
/// "v_dual_add_f32:v_dual_mul_f32".
std::string baseMnemonic(std::string_view record);

/// The mnemonics of the operations of a dual instruction's halves ("v_add_f32" and "v_mul_f32" in
/// the example), or nothing if the record is of another kind.
std::optional<std::pair<std::string, std::string>> dualMnemonics(std::string_view record);

} // namespace flyemu
