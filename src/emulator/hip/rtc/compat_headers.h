// The headers of src/emulator/compat, which the build puts into the library.
#pragma once

#include <span>
#include <string_view>

namespace flyemu::hip {

struct CompatHeader {
  std::string_view name; ///< in the folder hip/
  std::string_view text;
};
std::span<const CompatHeader> compatHeaders();

} // namespace flyemu::hip
