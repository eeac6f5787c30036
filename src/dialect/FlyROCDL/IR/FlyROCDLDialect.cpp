#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "dialect/FlyROCDL/IR/RocdlVendor.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/FlyROCDL/IR/FlyROCDLAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/FlyROCDL/IR/FlyROCDLOps.cpp.inc"

namespace mlir::fly_rocdl {

void FlyROCDLDialect::initialize() {
  registerTypes();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/FlyROCDL/IR/FlyROCDLAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/FlyROCDL/IR/FlyROCDLOps.cpp.inc"
      >();
  addVendorInterface(*this);
}

// A buffer instruction adds offsets of 32 bits to the address in the descriptor.
unsigned BufferDescAddressAttr::getAddressBits() const { return 32; }
bool BufferDescAddressAttr::isDescriptor() const { return true; }
StringRef BufferDescAddressAttr::getMemoryName() const { return "a buffer"; }

Type getBufferResourceType(MLIRContext *context) {
  constexpr unsigned kBufferResourceSpace = 8; // AMDGPU's address space of buffer resources
  return LLVM::LLVMPointerType::get(context, kBufferResourceSpace);
}

LogicalResult GetBufferRsrcOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> location,
                                                ValueRange operands, DictionaryAttr,
                                                OpaqueProperties, RegionRange,
                                                SmallVectorImpl<Type> &types) {
  auto pointer = dyn_cast<fly::PointerType>(operands[0].getType());
  if (!pointer || !isBufferDesc(pointer.getAddressSpace()))
    return emitOptionalError(location, "'fly_rocdl.get_buffer_rsrc' op expected a pointer in ",
                             BufferDescAddressAttr::get(context), ", found ",
                             operands[0].getType());
  types.push_back(getBufferResourceType(context));
  return success();
}

} // namespace mlir::fly_rocdl
