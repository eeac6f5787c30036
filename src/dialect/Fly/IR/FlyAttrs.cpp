#include "dialect/Fly/IR/FlyAttrs.h"

#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialect/Fly/IR/FlyAttrInterfaces.cpp.inc"
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

// A workgroup's memory and a thread's are small on every GPU; offsets into them have 32 bits.
unsigned AddressSpaceAttr::getAddressBits() const {
  switch (getValue()) {
  case AddressSpace::Generic:
  case AddressSpace::Global:
    return 64;
  case AddressSpace::Shared:
  case AddressSpace::Register:
    return 32;
  }
  llvm_unreachable("all address spaces are above");
}

StringRef AddressSpaceAttr::getMemoryName() const {
  switch (getValue()) {
  case AddressSpace::Generic:
    return "generic memory";
  case AddressSpace::Global:
    return "global memory";
  case AddressSpace::Shared:
    return "shared memory";
  case AddressSpace::Register:
    return "registers";
  }
  llvm_unreachable("all address spaces are above");
}

LogicalResult AlignAttr::verify(function_ref<InFlightDiagnostic()> emitError, int32_t alignment) {
  if (alignment <= 0)
    return emitError() << "alignment must be positive, but is " << alignment;
  return success();
}

} // namespace mlir::fly
