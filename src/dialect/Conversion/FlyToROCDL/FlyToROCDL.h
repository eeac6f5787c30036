// Conversion of Fly to ROCDL.

#ifndef FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_FLYTOROCDL_H
#define FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_FLYTOROCDL_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::fly {

#define GEN_PASS_DECL
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

} // namespace mlir::fly

#endif // FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_FLYTOROCDL_H
