#include "dialect/Fly/IR/FlyAttrs.h"

#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialect/Fly/IR/FlyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Fly/IR/FlyAttrs.cpp.inc"

namespace mlir::fly {

void FlyDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Fly/IR/FlyAttrs.cpp.inc"
      >();
}

LogicalResult AlignAttr::verify(function_ref<InFlightDiagnostic()> emitError, int32_t alignment) {
  if (alignment <= 0)
    return emitError() << "alignment must be positive, but is " << alignment;
  return success();
}

} // namespace mlir::fly
