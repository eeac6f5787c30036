// What the instructions' files share.
#pragma once

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::fly_rocdl {

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

using fly::oneThread;
using fly::oneThreadOf;

/// The place of `name` in `names`.
std::optional<unsigned> fieldIndex(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> names);
/// `count` fields of `bits` bits.
llvm::SmallVector<Type> integerFields(MLIRContext *context, unsigned count, unsigned bits = 32);

/// An integer of so many bits, of any signedness.
inline bool isIntegerOf(Type type, unsigned bits) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() == bits;
}

} // namespace mlir::fly_rocdl
