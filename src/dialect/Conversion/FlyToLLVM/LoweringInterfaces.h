// How atoms and address spaces become instructions: what a backend attaches to its own.
#pragma once

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/IR/Builders.h"

#include "dialect/Conversion/FlyToLLVM/LoweringAttrInterfaces.h.inc"
#include "dialect/Conversion/FlyToLLVM/LoweringTypeInterfaces.h.inc"
