// A kernel before it is traced: its name, its body behind one type-erased call, and its hints.
#pragma once

#include <flydsl/detail/arg_type.h>
#include <flydsl/error.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// Hints that the author of a kernel gives to the compiler. Zero means that a hint is not given.
struct KernelHints {
  /// The workgroup size, if it is always the same; a launch with another size is then an error. The
  /// compiler knows the block of a launch anyway, so this is for a `compile()` without one, and as
  /// a check.
  std::array<unsigned, 3> known_block_size = {0, 0, 0};
  /// The number of waves per execution unit that the register allocator aims at
  /// (amdgpu-waves-per-eu).
  unsigned waves_per_eu = 0;
  /// The largest number of vector registers of a lane (amdgpu-num-vgpr).
  unsigned max_registers = 0;
  /// True if floating-point operations may be reassociated, contracted and approximated.
  bool fast_math = false;
  /// Attributes of the kernel's function by LLVM's names, such as {"denormal-fp-math-f32",
  /// "preserve-sign"}. What the backend does not know is refused, with a list of what it does.
  std::vector<std::pair<std::string, std::string>> attributes = {};
  /// Options of LLVM by the names that its programs know, without the dashes, such as
  /// {"enable-post-misched", "false"}. They are the process's: while a kernel with such options is
  /// compiled, no other one is, and afterwards each option is what it was. An option that the
  /// process has set by itself is refused.
  std::vector<std::pair<std::string, std::string>> llvm_options = {};
  /// True if the marks and ranges of the kernel's timeline are recorded (flydsl/kernel/ktrace.h). Without
  /// it, and without FLYDSL_KTRACE_ENABLE=1, they are no code at all.
  bool ktrace = false;
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
