// How a launch makes the products of its matrix instructions.
#pragma once

#include <cstdint>

namespace flyemu {

/// What matrix::Precision says of an instruction, for the rooms that do not know matrix/.
enum class Products : uint8_t {
  Exact,
  Fast, ///< within rounding of that
  None, ///< left out: for counts and times that results do not decide about
};

} // namespace flyemu
