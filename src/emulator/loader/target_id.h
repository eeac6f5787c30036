// Target ids ("gfx942:sramecc+:xnack-"): reading them from text and from ELF flags, and deciding
// whether a device can run a code object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flyemu::loader {

/// A feature of a target id: on a device always On, Off or Unsupported; in a code object Any means
/// that it runs either way.
enum class FeatureState { Unsupported, Any, Off, On };

struct TargetId {
  std::string processor; ///< "gfx942", or "unknown (mach 0x..)"
  FeatureState xnack = FeatureState::Any;
  FeatureState sramecc = FeatureState::Any;

  /// "gfx942:sramecc+:xnack-": features in alphabetic order, as LLVM prints them.
  std::string str() const;
};

/// The target that a code object's ELF flags declare; \p abiVersion is EI_ABIVERSION.
/// Throws LoadError for versions before v4 (LLVM's AMDGPUUsage, "Header").
TargetId targetFromElfFlags(uint32_t flags, uint8_t abiVersion);

/// Reads "gfx942[:feature(+|-)]*"; returns false when the text is no target id.
bool parseTargetId(std::string_view text, TargetId &result);

/// The full target id of a device of \p processor, as HIP reports it in gcnArchName: what the real
/// parts have (SRAM-ECC on, XNACK off).
TargetId deviceTarget(std::string_view processor);

/// Whether code for \p code runs on \p device: the same processor, or the generic one that covers
/// it, and no feature that is fixed the other way.
bool isCompatible(const TargetId &code, const TargetId &device);

} // namespace flyemu::loader
