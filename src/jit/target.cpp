#include "jit/target.h"

#include "support/env.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace flydsl::jit {

// Wave sizes, features and LDS: LLVM's AMDGPUUsage (processors and target features) and AMD's ISA
// manuals.
static constexpr unsigned kib = 1024;
const std::vector<Processor> &supportedProcessors() {
  static const std::vector<Processor> table = {
      {"gfx90a", 64, 64 * kib, 1024, true, true, true, "CDNA2"},
      {"gfx942", 64, 64 * kib, 1024, true, true, true, "CDNA3"},
      {"gfx950", 64, 160 * kib, 1024, true, true, true, "CDNA4"},
      {"gfx1100", 32, 64 * kib, 1024, false, false, false, "RDNA3"},
      {"gfx1200", 32, 64 * kib, 1024, false, false, false, "RDNA4"},
      {"gfx1201", 32, 64 * kib, 1024, false, false, false, "RDNA4"},
      {"gfx1250", 32, 320 * kib, 1024, true, true, false, "gfx1250"},
  };
  return table;
}

static std::string supportedNames() {
  std::string names;
  for (const Processor &processor : supportedProcessors())
    names += (names.empty() ? "" : ", ") + std::string(processor.name);
  return names;
}

[[noreturn]] static void refuse(std::string_view text, const std::string &why) {
  throw CompileError("unknown target '" + std::string(text) + "': " + why +
                     "; supported targets: " + supportedNames());
}

Target Target::parse(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::string_view rest = lower;
  for (std::string_view triple : {"amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa-"})
    if (rest.starts_with(triple)) {
      rest.remove_prefix(triple.size());
      break;
    }

  std::size_t colon = std::min(rest.find(':'), rest.size());
  std::string_view name = rest.substr(0, colon);
  rest.remove_prefix(colon);
  const auto &table = supportedProcessors();
  auto found = std::find_if(table.begin(), table.end(),
                            [&](const Processor &processor) { return processor.name == name; });
  if (found == table.end())
    refuse(text, name.empty() ? "no processor named"
                              : "not a processor that kernels can be compiled for");

  Target target;
  target.processor_ = &*found;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    std::size_t end = std::min(rest.find(':'), rest.size());
    std::string_view feature = rest.substr(0, end);
    rest.remove_prefix(end);
    char sign = feature.empty() ? '\0' : feature.back();
    if (sign != '+' && sign != '-')
      refuse(text, "a feature is written name+ or name-");
    feature.remove_suffix(1);
    bool isSramecc = feature == "sramecc";
    bool allowed = isSramecc ? found->sramecc : feature == "xnack" && found->xnack;
    if (!allowed)
      refuse(text, std::string(found->name) + " has no switchable feature '" +
                       std::string(feature) + "'");
    Toggle &toggle = isSramecc ? target.sramecc_ : target.xnack_;
    if (toggle != Toggle::any)
      refuse(text, "feature '" + std::string(feature) + "' is given twice");
    toggle = sign == '+' ? Toggle::on : Toggle::off;
  }
  return target;
}

std::string Target::id() const {
  std::string text = name();
  if (sramecc_ != Toggle::any)
    text += sramecc_ == Toggle::on ? ":sramecc+" : ":sramecc-";
  if (xnack_ != Toggle::any)
    text += xnack_ == Toggle::on ? ":xnack+" : ":xnack-";
  return text;
}

std::string Target::isaName() const { return "amdgcn-amd-amdhsa--" + id(); }

std::string Target::llvmFeatures() const {
  std::string text;
  if (sramecc_ != Toggle::any)
    text += sramecc_ == Toggle::on ? "+sramecc" : "-sramecc";
  if (xnack_ != Toggle::any)
    text += std::string(text.empty() ? "" : ",") + (xnack_ == Toggle::on ? "+xnack" : "-xnack");
  return text;
}

bool Target::runsOn(const Target &device) const {
  auto compatible = [](Toggle code, Toggle hardware) {
    return code == Toggle::any || hardware == Toggle::any || code == hardware;
  };
  return processor_ == device.processor_ && compatible(sramecc_, device.sramecc_) &&
         compatible(xnack_, device.xnack_);
}

/// "9.4.2" -> "gfx942"; anything else is returned as it is.
static std::string fromVersion(const std::string &text) {
  unsigned part[3] = {};
  const char *at = text.data(), *end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    auto [next, error] = std::from_chars(at, end, part[i]);
    bool closed = i == 2 ? next == end : next != end && *next == '.';
    if (error != std::errc() || !closed || (i > 0 && part[i] > 15))
      return text;
    at = next + 1;
  }
  const char *digits = "0123456789abcdef";
  return "gfx" + std::to_string(part[0]) + digits[part[1]] + digits[part[2]];
}

std::optional<Target> targetFromEnvironment() {
  for (const char *name : {"ARCH", "FLYDSL_GPU_ARCH", "HSA_OVERRIDE_GFX_VERSION"}) {
    std::optional<std::string> value = support::env(name);
    if (!value)
      continue;
    try {
      return Target::parse(fromVersion(*value));
    } catch (const CompileError &error) {
      throw CompileError(std::string(name) + "=" + *value + ": " + error.what());
    }
  }
  return std::nullopt;
}

Target resolveTarget(const std::optional<std::string> &deviceArch) {
  if (std::optional<Target> asked = targetFromEnvironment())
    return *asked;
  if (deviceArch && !deviceArch->empty())
    return Target::parse(*deviceArch);
  throw CompileError("no target: no device reports one and none is given; set ARCH to one of: " +
                     supportedNames());
}

} // namespace flydsl::jit
