// && and || whose right side is computed only where the left side does not decide.
#pragma once

#include "builder/trace/tracer.h"

#include <optional>

namespace flydsl::builder {

/// The two sides of && or ||, which have been traced, the left one first.
struct BothSides {
  mlir::Value left;  ///< as it was given
  mlir::Value truth; ///< the left side as a truth value
  mlir::Value right; ///< a truth value
  bool leftIsOwn;    ///< the left side is an expression, not a named value
};

/// Moves the right side into a branch on the left one if it accesses memory, and gives the value of
/// the whole; nullopt where it stays as it is: where it accesses nothing but registers, where it
/// can't be told which operations belong to it, and where lanes exchange values in it.
std::optional<mlir::Value> shortCircuit(Tracer &t, const BothSides &sides, bool isAnd, Loc loc);

} // namespace flydsl::builder
