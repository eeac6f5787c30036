// Passes over the Fly dialect.
//
// Each pass is named as in FlyDSL and documented in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::fly {

#define GEN_PASS_DECL
#include "dialect/Fly/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "dialect/Fly/Transforms/Passes.h.inc"

} // namespace mlir::fly
