#include "emulator/isa/mnemonic.h"

#include <cctype>

namespace flyemu {

namespace {
bool dropSuffix(std::string &s, std::string_view suffix) {
  if (s.size() <= suffix.size() || s.compare(s.size() - suffix.size(), suffix.size(), suffix) != 0)
    return false;
  s.resize(s.size() - suffix.size());
  return true;
}

bool dropTarget(std::string &s) {
  // "_gfx" followed by letters and digits to the end, as "_gfx90a", "_gfx12_not_gfx1250".
  size_t at = s.rfind("_gfx");
  if (at != std::string::npos && at > 0 && s.find('_', at + 1) == std::string::npos) {
    s.resize(at);
    return true;
  }
  return dropSuffix(s, "_vi") || dropSuffix(s, "_not");
}

/// Some records of gfx11 and gfx12 have their name twice:
/// "V_CVT_F16_F32V_CVT_F16_F32_fake16_e32_gfx12".
void dropRepeat(std::string &s) {
  for (size_t half = s.size() / 2; half > 3; --half)
    if (s.compare(0, half, s, half, half) == 0) {
      s.erase(0, half);
      return;
    }
}

/// A few records have their new name and their old one: "V_ADD_NC_I16V_ADD_I16_e64_gfx11".
void dropSecondName(std::string &s) {
  for (size_t at = 2; s.compare(0, 2, "v_") == 0 && (at = s.find("v_", at)) != std::string::npos;
       ++at)
    if (std::isdigit(static_cast<unsigned char>(s[at - 1]))) {
      s.resize(at);
      return;
    }
}

std::string strip(std::string s) {
  static constexpr std::string_view kSuffixes[] = {
      "_e32",     "_e64",      "_e96",      "_sdwa",  "_dpp",    "_dpp8",        "_dpp16",
      "_opsel",   "_vcd",      "_acd",      "_saddr", "_rtn",    "_ve",          "_st",
      "_svs",     "_offset",   "_offen",    "_idxen", "_bothen", "_vbuffer",     "_imm",
      "_sgpr",    "_sgpr_imm", "_sgpr_alt", "_t16",   "_fake16", "_w32",         "_w64",
      "_twoaddr", "_mac",      "_agpr",     "_ec",    "_ci",     "_legacy_gfx9", "_renamed",
      "_format",  "_pseudo",   "_m0"}; // f64 halves of gfx1250's dual instructions
  for (bool again = true; again;) {
    again = dropTarget(s);
    for (std::string_view suffix : kSuffixes) {
      if (suffix == "_imm" && s == "s_setreg_imm32_b32")
        continue;
      again |= dropSuffix(s, suffix);
    }
  }
  dropRepeat(s);
  dropTarget(s);
  dropSecondName(s);
  // "v_cvt_f32_bf16_gfx1250v_cvt_f32_bf16" has a target in its first name alone.
  dropTarget(s);
  // Products of f8f6f4 have a record for each pair of formats, which are fields of the instruction.
  constexpr std::string_view kAnyFormat = "f8f6f4";
  if (const size_t at = s.find(kAnyFormat); at != std::string::npos)
    s.resize(at + kAnyFormat.size());
  return s;
}
} // namespace

std::string baseMnemonic(std::string_view record) {
  std::string s(record);
  for (char &c : s)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  size_t x = s.find("_x_");
  if (s.compare(0, 7, "v_dual_") == 0 && x != std::string::npos)
    return strip(s.substr(0, x)) + ":v_dual_" + strip(s.substr(x + 3));
  return strip(s);
}

std::optional<std::pair<std::string, std::string>> dualMnemonics(std::string_view record) {
  const std::string name = baseMnemonic(record);
  const size_t colon = name.find(':');
  constexpr std::string_view kDual = "v_dual_";
  if (!name.starts_with(kDual) || colon == std::string::npos)
    return std::nullopt;
  auto single = [&](const std::string &half) { return "v_" + half.substr(kDual.size()); };
  return std::pair(single(name.substr(0, colon)), single(name.substr(colon + 1)));
}

} // namespace flyemu
