// The atoms of every target, in instructions of LLVM that every target has.
//
// Operands and results are those of CopyOpLoweringInterface and MmaOpLoweringInterface; each
// function fails without an error where the instruction does not take such operands.
#pragma once

#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/IR/Builders.h"

namespace mlir::fly {

FailureOr<Value> emitUniversalCopy(CopyOpUniversalCopyType copy, OpBuilder &builder, Location loc,
                                   Type resultTy, Type srcTy, Type dstTy, Value src, Value dst);

FailureOr<Value> emitUniversalAtomic(CopyOpUniversalAtomicType atomic, OpBuilder &builder,
                                     Location loc, Type srcTy, Type dstTy, Value src, Value dst);

FailureOr<Value> emitUniversalFMA(OpBuilder &builder, Location loc, Type resultTy, Value a, Value b,
                                  Value c);

} // namespace mlir::fly
