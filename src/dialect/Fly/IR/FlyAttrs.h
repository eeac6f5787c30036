// Enumerations and attributes of the Fly dialect.
#pragma once

#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include "dialect/Fly/IR/FlyAttrInterfaces.h.inc"
#include "dialect/Fly/IR/FlyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Fly/IR/FlyAttrs.h.inc"
