// The message for a workgroup that asks for more shared memory than there is.
#pragma once

#include <flydsl/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flydsl::support {

/// The shared memory that one line of the user's asks for.
struct SharedUse {
  std::uint64_t bytes;
  SourceLocation place; ///< unknown for IR without locations
};

/// Adds up what stands on the same line, and puts the largest first.
std::vector<SharedUse> byLine(const std::vector<SharedUse> &uses);

/// "72968 bytes of shared memory are over the 65536 that a workgroup may have: 72768 bytes at ..."
/// The uses are those that `byLine` gives.
std::string overSharedLimit(const std::vector<SharedUse> &uses, std::uint64_t bytes,
                            std::uint64_t limit);

} // namespace flydsl::support
