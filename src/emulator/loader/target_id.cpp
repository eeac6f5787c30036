#include "emulator/loader/target_id.h"

#include "emulator/loader/load_error.h"

#include <cstdio>

namespace flyemu::loader {
namespace {

// EI_ABIVERSION of code object versions 4 and 6, and the fields of e_flags since 4: LLVM's
// AMDGPUUsage, "Header".
constexpr uint8_t kAbiVersion4 = 2;
constexpr uint8_t kAbiVersion6 = 4;
constexpr uint32_t kMachMask = 0x0ff;
constexpr uint32_t kXnackMask = 0x300;
constexpr uint32_t kXnackUnit = 0x100;
constexpr uint32_t kSrameccMask = 0xc00;
constexpr uint32_t kSrameccUnit = 0x400;

struct Mach {
  uint32_t value;
  const char *name;
  const char *generic; ///< the generic processor whose code it runs, or null
  bool hasXnack;
  bool hasSramecc;
};

// Which processors have the features, and which generic target covers them: LLVM's AMDGPUUsage,
// "Processors" and "Generic processor code objects". XNACK is always on on gfx1250 and gfx1251, so
// that their target ids have no word for it.
constexpr Mach kMachs[] = {
    {0x2c, "gfx900", "gfx9-generic", true, false},
    {0x2f, "gfx906", "gfx9-generic", true, true},
    {0x30, "gfx908", nullptr, true, true},
    {0x3f, "gfx90a", nullptr, true, true},
    {0x4c, "gfx942", "gfx9-4-generic", true, true},
    {0x4f, "gfx950", "gfx9-4-generic", true, true},
    {0x33, "gfx1010", "gfx10-1-generic", true, false},
    {0x36, "gfx1030", "gfx10-3-generic", false, false},
    {0x37, "gfx1031", "gfx10-3-generic", false, false},
    {0x38, "gfx1032", "gfx10-3-generic", false, false},
    {0x41, "gfx1100", "gfx11-generic", false, false},
    {0x46, "gfx1101", "gfx11-generic", false, false},
    {0x47, "gfx1102", "gfx11-generic", false, false},
    {0x44, "gfx1103", "gfx11-generic", false, false},
    {0x43, "gfx1150", "gfx11-generic", false, false},
    {0x4a, "gfx1151", "gfx11-generic", false, false},
    {0x55, "gfx1152", "gfx11-generic", false, false},
    {0x58, "gfx1153", "gfx11-generic", false, false},
    {0x48, "gfx1200", "gfx12-generic", false, false},
    {0x4e, "gfx1201", "gfx12-generic", false, false},
    {0x49, "gfx1250", nullptr, false, false},
    {0x5a, "gfx1251", nullptr, false, false},
    {0x51, "gfx9-generic", nullptr, true, false},
    {0x5f, "gfx9-4-generic", nullptr, true, true},
    {0x52, "gfx10-1-generic", nullptr, true, false},
    {0x53, "gfx10-3-generic", nullptr, false, false},
    {0x54, "gfx11-generic", nullptr, false, false},
    {0x59, "gfx12-generic", nullptr, false, false},
};

const Mach *findMach(std::string_view name) {
  for (const Mach &m : kMachs)
    if (name == m.name)
      return &m;
  return nullptr;
}

// The two-bit fields of v4 and later: 0 unsupported, 1 any, 2 off, 3 on.
FeatureState featureField(uint32_t flags, uint32_t mask, uint32_t unit) {
  switch ((flags & mask) / unit) {
  case 0:
    return FeatureState::Unsupported;
  case 1:
    return FeatureState::Any;
  case 2:
    return FeatureState::Off;
  default:
    return FeatureState::On;
  }
}

bool featureFits(FeatureState code, FeatureState device) {
  return code == FeatureState::Any || code == FeatureState::Unsupported || code == device;
}

void appendFeature(std::string &text, const char *name, FeatureState feature) {
  if (feature == FeatureState::On || feature == FeatureState::Off)
    text += std::string(":") + name + (feature == FeatureState::On ? "+" : "-");
}

} // namespace

std::string TargetId::str() const {
  std::string text = processor;
  appendFeature(text, "sramecc", sramecc);
  appendFeature(text, "xnack", xnack);
  return text;
}

TargetId targetFromElfFlags(uint32_t flags, uint8_t abiVersion) {
  if (abiVersion < kAbiVersion4)
    throw LoadError(LoadFailure::Unsupported,
                    "code object version " + std::to_string(abiVersion + 2) +
                        " is older than 4; compile it with -mcode-object-version=4 or later");
  if (abiVersion > kAbiVersion6)
    throw LoadError(LoadFailure::Unsupported, "code object version " +
                                                  std::to_string(abiVersion + 2) +
                                                  " is newer than 6, the newest known");
  TargetId result;
  uint32_t value = flags & kMachMask;
  for (const Mach &m : kMachs)
    if (m.value == value)
      result.processor = m.name;
  if (result.processor.empty()) {
    char text[40];
    std::snprintf(text, sizeof(text), "unknown (mach 0x%02x)", value);
    result.processor = text;
  }
  result.xnack = featureField(flags, kXnackMask, kXnackUnit);
  result.sramecc = featureField(flags, kSrameccMask, kSrameccUnit);
  return result;
}

bool parseTargetId(std::string_view text, TargetId &result) {
  size_t colon = text.find(':');
  result = TargetId();
  result.processor = std::string(text.substr(0, colon));
  if (result.processor.substr(0, 3) != "gfx")
    return false;
  while (colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);
    colon = text.find(':');
    std::string_view part = text.substr(0, colon);
    if (part.empty() || (part.back() != '+' && part.back() != '-'))
      return false;
    FeatureState feature = part.back() == '+' ? FeatureState::On : FeatureState::Off;
    part.remove_suffix(1);
    if (part == "xnack")
      result.xnack = feature;
    else if (part == "sramecc")
      result.sramecc = feature;
    else
      return false;
  }
  return true;
}

TargetId deviceTarget(std::string_view processor) {
  TargetId result;
  result.processor = std::string(processor);
  const Mach *m = findMach(processor);
  result.xnack = m && m->hasXnack ? FeatureState::Off : FeatureState::Unsupported;
  result.sramecc = m && m->hasSramecc ? FeatureState::On : FeatureState::Unsupported;
  return result;
}

bool isCompatible(const TargetId &code, const TargetId &device) {
  const Mach *m = findMach(device.processor);
  bool covered = m && m->generic && code.processor == m->generic;
  return (code.processor == device.processor || covered) && featureFits(code.xnack, device.xnack) &&
         featureFits(code.sramecc, device.sramecc);
}

} // namespace flyemu::loader
