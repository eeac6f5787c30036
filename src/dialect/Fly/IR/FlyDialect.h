// The Fly dialect: layouts, tensors, atoms and tiled operations as MLIR types and operations.
#pragma once

#include "mlir/IR/Dialect.h"

#include "dialect/Fly/IR/FlyDialect.h.inc"
