// Which target to compile for where the caller names none.
#pragma once

#include <flydsl/target.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// The target that the environment asks for: ARCH, else FLYDSL_GPU_ARCH, else
/// HSA_OVERRIDE_GFX_VERSION (which also takes "9.4.2"; the stepping is a decimal number that is
/// written as a hexadecimal digit, so that 9.0.10 is gfx90a). Throws CompileError, naming the
/// variable, for a value that is no supported target.
std::optional<Target> targetFromEnvironment();

/// The environment's target, else the device's own. Throws CompileError, listing the supported
/// targets and how to name one, when neither is known: there is no default.
Target resolveTarget(const std::optional<std::string> &deviceArch);

} // namespace detail
FLYDSL_NAMESPACE_END
