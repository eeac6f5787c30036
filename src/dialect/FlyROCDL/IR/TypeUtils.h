// What the instructions' files share.
#pragma once

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::fly_rocdl {

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

/// One thread that moves `bits` in order.
inline flydsl::layout::Layout oneThreadOf(int64_t bits) {
  using flydsl::layout::tup;
  return flydsl::layout::Layout(tup(1, bits), tup(1, 1));
}
inline flydsl::layout::Layout oneThread() { return flydsl::layout::Layout(1, 1); }

/// The place of `name` in `names`.
std::optional<unsigned> fieldIndex(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> names);
/// `count` fields of `bits` bits.
llvm::SmallVector<Type> integerFields(MLIRContext *context, unsigned count, unsigned bits = 32);

/// 8, 6 and 4 bit floats of the MX formats, which share exponents per block.
inline bool isMXFloat(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float6E2M3FNType, Float6E3M2FNType,
             Float4E2M1FNType>(type);
}
/// An integer of so many bits, of any signedness.
inline bool isIntegerOf(Type type, unsigned bits) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() == bits;
}

} // namespace mlir::fly_rocdl
