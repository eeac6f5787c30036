#include "emulator/loader/target_id.h"

#include "emulator/loader/load_error.h"
#include "llvm/BinaryFormat/ELF.h"

#include <cstdio>

using namespace llvm::ELF;

namespace flyemu::loader {
namespace {

struct Mach {
  uint32_t value;
  const char *name;
  const char *generic; ///< the generic processor whose code it runs, or null
  bool hasXnack;
  bool hasSramecc;
};

// Which processors have the features, and which generic target covers them: LLVM's AMDGPUUsage,
// "Processors" and "Generic processor code objects".
constexpr Mach Machs[] = {
    {EF_AMDGPU_MACH_AMDGCN_GFX900, "gfx900", "gfx9-generic", true, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX906, "gfx906", "gfx9-generic", true, true},
    {EF_AMDGPU_MACH_AMDGCN_GFX908, "gfx908", nullptr, true, true},
    {EF_AMDGPU_MACH_AMDGCN_GFX90A, "gfx90a", nullptr, true, true},
    {EF_AMDGPU_MACH_AMDGCN_GFX942, "gfx942", "gfx9-4-generic", true, true},
    {EF_AMDGPU_MACH_AMDGCN_GFX950, "gfx950", "gfx9-4-generic", true, true},
    {EF_AMDGPU_MACH_AMDGCN_GFX1010, "gfx1010", "gfx10-1-generic", true, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1030, "gfx1030", "gfx10-3-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1031, "gfx1031", "gfx10-3-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1032, "gfx1032", "gfx10-3-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1100, "gfx1100", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1101, "gfx1101", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1102, "gfx1102", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1103, "gfx1103", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1150, "gfx1150", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1151, "gfx1151", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1152, "gfx1152", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1153, "gfx1153", "gfx11-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1200, "gfx1200", "gfx12-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1201, "gfx1201", "gfx12-generic", false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1250, "gfx1250", nullptr, true, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX1251, "gfx1251", nullptr, true, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC, "gfx9-generic", nullptr, true, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC, "gfx9-4-generic", nullptr, true, true},
    {EF_AMDGPU_MACH_AMDGCN_GFX10_1_GENERIC, "gfx10-1-generic", nullptr, true, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX10_3_GENERIC, "gfx10-3-generic", nullptr, false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX11_GENERIC, "gfx11-generic", nullptr, false, false},
    {EF_AMDGPU_MACH_AMDGCN_GFX12_GENERIC, "gfx12-generic", nullptr, false, false},
};

const Mach *findMach(std::string_view name) {
  for (const Mach &m : Machs)
    if (name == m.name)
      return &m;
  return nullptr;
}

// The two-bit fields of v4 and later: 0 unsupported, 1 any, 2 off, 3 on.
Feature featureField(uint32_t flags, uint32_t mask, uint32_t unit) {
  switch ((flags & mask) / unit) {
  case 0:
    return Feature::Unsupported;
  case 1:
    return Feature::Any;
  case 2:
    return Feature::Off;
  default:
    return Feature::On;
  }
}

bool featureFits(Feature code, Feature device) {
  return code == Feature::Any || code == Feature::Unsupported || code == device;
}

void appendFeature(std::string &text, const char *name, Feature feature) {
  if (feature == Feature::On || feature == Feature::Off)
    text += std::string(":") + name + (feature == Feature::On ? "+" : "-");
}

} // namespace

std::string TargetId::str() const {
  std::string text = processor;
  appendFeature(text, "sramecc", sramecc);
  appendFeature(text, "xnack", xnack);
  return text;
}

TargetId targetFromElfFlags(uint32_t flags, uint8_t abiVersion) {
  if (abiVersion < ELFABIVERSION_AMDGPU_HSA_V4)
    throw LoadError(LoadFailure::Unsupported,
                    "code object version " + std::to_string(abiVersion + 2) +
                        " is older than 4; compile it with -mcode-object-version=4 or later");
  if (abiVersion > ELFABIVERSION_AMDGPU_HSA_V6)
    throw LoadError(LoadFailure::Unsupported, "code object version " +
                                                  std::to_string(abiVersion + 2) +
                                                  " is newer than 6, the newest known");
  TargetId result;
  uint32_t value = flags & EF_AMDGPU_MACH;
  for (const Mach &m : Machs)
    if (m.value == value)
      result.processor = m.name;
  if (result.processor.empty()) {
    char text[40];
    std::snprintf(text, sizeof(text), "unknown (mach 0x%02x)", value);
    result.processor = text;
  }
  result.xnack = featureField(flags, EF_AMDGPU_FEATURE_XNACK_V4, EF_AMDGPU_FEATURE_XNACK_ANY_V4);
  result.sramecc =
      featureField(flags, EF_AMDGPU_FEATURE_SRAMECC_V4, EF_AMDGPU_FEATURE_SRAMECC_ANY_V4);
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
    Feature feature = part.back() == '+' ? Feature::On : Feature::Off;
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
  result.xnack = m && m->hasXnack ? Feature::Off : Feature::Unsupported;
  result.sramecc = m && m->hasSramecc ? Feature::On : Feature::Unsupported;
  return result;
}

bool isCompatible(const TargetId &code, const TargetId &device) {
  const Mach *m = findMach(device.processor);
  bool covered = m && m->generic && code.processor == m->generic;
  return (code.processor == device.processor || covered) && featureFits(code.xnack, device.xnack) &&
         featureFits(code.sramecc, device.sramecc);
}

} // namespace flyemu::loader
