// Operations of the Fly dialect.
#pragma once

#include "dialect/Fly/IR/AlgebraValue.h"
#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyConstructorOps.h.inc"
#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyExtractOps.h.inc"
#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyIntTupleOps.h.inc"
#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyLayoutOps.h.inc"
#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyAtomOps.h.inc"
#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyTiledOps.h.inc"
#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyMemoryOps.h.inc"
