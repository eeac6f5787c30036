// The options of a program of hipRTC: those that the emulator must know, and the command line.
#pragma once

#include "emulator/isa/machine.h"

#include <string>
#include <vector>

namespace flyemu::hip {

/// What the options say of the target and of the device library's constants. Everything else goes to
/// Clang as it is.
struct RtcOptions {
  std::string target;               ///< "gfx942", or with features as "gfx942:sramecc+:xnack-"
  const Machine *machine = nullptr; ///< of the target
  bool wave64 = false;
  int codeObjectVersion = 5;
  bool finiteOnly = false, unsafeMath = false, flushDenormals = false, exactSqrt = true;
  std::vector<std::string> rest; ///< for Clang, in their order

  /// Throws RtcError (HIPRTC_ERROR_INVALID_OPTION) for what cannot be done. \p deviceTarget is taken
  /// where no option says the target.
  static RtcOptions parse(const std::vector<std::string> &options, const std::string &deviceTarget);
};

} // namespace flyemu::hip
