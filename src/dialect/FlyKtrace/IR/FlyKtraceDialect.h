// The FlyKtrace dialect: marks and ranges of time that a kernel records.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/FlyKtrace/IR/FlyKtraceTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/FlyKtrace/IR/FlyKtraceOps.h.inc"
