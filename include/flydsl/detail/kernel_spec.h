// A kernel before it is traced: its name, its body behind one erased call, and what the user told
// of it.
#pragma once

#include <flydsl/detail/arg_type.h>
#include <flydsl/error.h>

#include <array>
#include <functional>
#include <string>

FLYDSL_NAMESPACE_BEGIN

/// What a kernel's author tells the compiler. Zero: not told.
struct KernelHints {
  /// Workgroup size, where it is always the same. A launch with another one is an error. A launch's
  /// block is known to the compiler anyway; this is for `compile()` without one, and as a check.
  std::array<unsigned, 3> known_block_size = {0, 0, 0};
  /// Waves per execution unit that the register allocator aims at (amdgpu-waves-per-eu).
  unsigned waves_per_eu = 0;
  /// Most vector registers a lane may have (amdgpu-num-vgpr).
  unsigned max_registers = 0;
  /// Floating point may be reassociated, contracted and approximated.
  bool fast_math = false;
  friend bool operator==(const KernelHints &, const KernelHints &) = default;
};

namespace detail {

struct KernelSpec {
  std::string name;
  std::function<void(ParamReader &)> body;
  KernelHints hints;
  SourceLocation where; ///< where the kernel object is made
};

} // namespace detail
FLYDSL_NAMESPACE_END
