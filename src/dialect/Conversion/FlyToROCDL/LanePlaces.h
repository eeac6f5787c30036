// Where the lanes of a wave point, as far as the arithmetic of an address shows it.
#pragma once

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace mlir::fly {

/// A lane whose address is not where loads into LDS write for it.
struct MisplacedLane {
  int lane;
  int64_t bytes; ///< behind the address of lane 0
};

/// The first lane of the first wave whose address is not `lane * bytes` behind that of lane 0.
/// Nothing if each is there, if all lanes have one address, or if the arithmetic does not tell.
std::optional<MisplacedLane> misplacedLane(Value address, int64_t bytes);

} // namespace mlir::fly
