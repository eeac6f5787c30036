// The conversion of Fly and FlyROCDL to LLVM and ROCDL, and of what MLIR's own
// conversion to ROCDL does not do as kernels need it: narrow floats, math functions, and
// addresses and aliases of loads into LDS.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::fly {

#define GEN_PASS_DECL
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

} // namespace mlir::fly
