// A GPU to compile for: the processor and its switchable features, checked against the list of what
// the library supports. No LLVM here: the launch path uses it too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::jit {

/// A switchable feature as AMD's target ids spell it: absent (any), "+" (on) or "-" (off).
enum class Toggle : std::uint8_t { any, on, off };

/// What the library knows of one processor. LDS is per workgroup, in bytes.
struct Processor {
  std::string_view name;
  unsigned waveSize;
  unsigned ldsBytes;
  unsigned maxWorkgroupSize;
  bool sramecc;            ///< the target id may carry sramecc
  bool xnack;              ///< the target id may carry xnack
  bool accumulationVgprs;  ///< a unified file of vector and accumulation registers (CDNA)
  std::string_view family; ///< "CDNA3", "RDNA4", ...
};

/// The processors that kernels are compiled for.
const std::vector<Processor> &supportedProcessors();

/// A validated target. Equal targets give equal ids.
class Target {
public:
  /// Parses "gfx942", "gfx942:sramecc+:xnack-", "amdgcn-amd-amdhsa--gfx942:xnack+" (any case).
  /// Throws flydsl::CompileError that lists the supported targets for anything else.
  static Target parse(std::string_view text);

  const Processor &processor() const { return *processor_; }
  std::string name() const { return std::string(processor_->name); }
  unsigned waveSize() const { return processor_->waveSize; }
  unsigned ldsBytes() const { return processor_->ldsBytes; }
  Toggle sramecc() const { return sramecc_; }
  Toggle xnack() const { return xnack_; }

  /// The canonical target id: features in alphabetical order, e.g. "gfx942:sramecc+:xnack-".
  std::string id() const;
  /// "amdgcn-amd-amdhsa--" and the id, as comgr names an ISA.
  std::string isaName() const;
  /// LLVM's feature string, e.g. "+sramecc,-xnack"; empty where nothing is fixed.
  std::string llvmFeatures() const;

  /// True if code for this target runs on a device that reports `device`
  /// ("gfx942:sramecc+:xnack-"): the same processor, and each feature that the code fixes has the
  /// device's setting.
  bool runsOn(const Target &device) const;

  friend bool operator==(const Target &, const Target &) = default;

private:
  const Processor *processor_ = nullptr; // never null in a Target that parse() made
  Toggle sramecc_ = Toggle::any;
  Toggle xnack_ = Toggle::any;
};

/// The target that the environment asks for: ARCH, else FLYDSL_GPU_ARCH, else
/// HSA_OVERRIDE_GFX_VERSION (which also takes "9.4.2"; the stepping is a decimal number that is
/// written as a hexadecimal digit, so that 9.0.10 is gfx90a). Throws CompileError, naming the
/// variable, for a value that is no supported target.
std::optional<Target> targetFromEnvironment();

/// The environment's target, else the device's own. Throws CompileError, listing the supported
/// targets and how to name one, when neither is known: there is no default.
Target resolveTarget(const std::optional<std::string> &deviceArch);

} // namespace flydsl::jit
