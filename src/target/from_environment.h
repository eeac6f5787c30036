// The target to compile for if the caller names none.
#pragma once

#include <flydsl/target.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// The target that the environment asks for: the first of ARCH, FLYDSL_GPU_ARCH and
/// HSA_OVERRIDE_GFX_VERSION that is set. The last one may also be a version such as "9.4.2"; its
/// stepping is a decimal number that becomes a hexadecimal digit, so that 9.0.10 is gfx90a. Throws
/// CompileError that names the variable if its value is not a supported target.
std::optional<Target> targetFromEnvironment();

/// The environment's target or, if there is none, the device's. Throws CompileError that lists the
/// supported targets and tells how to name one if neither is known: there is no default.
Target resolveTarget(const std::optional<std::string> &deviceArch);

} // namespace detail
FLYDSL_NAMESPACE_END
