// Which of a target's instructions the emulator has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flyemu {

/// An instruction that does not count as missing, and why.
struct Exclusion {
  std::string name;
  std::string reason;
};

/// What the emulator implements of a target's instruction set. Exports, images and parameter
/// interpolation, which compute kernels cannot have, are not looked at.
struct Coverage {
  std::vector<std::string> implemented; ///< base mnemonics, sorted
  std::vector<std::string> missing;
  std::vector<Exclusion> excluded;
};

/// Compares the operation tables with the instructions that LLVM can encode for the target.
Coverage coverage(std::string_view target);

} // namespace flyemu
