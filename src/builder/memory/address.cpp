#include "builder/memory/address.h"

#include "dialect/Fly/IR/FlyOps.h"

namespace flydsl::builder {

namespace fly = mlir::fly;

std::optional<fly::PointerType> addressable(const Tracer &t, const Handle &pointer, Loc loc) {
  auto type = detail::isTraced(pointer)
                  ? mlir::dyn_cast<fly::PointerType>(tracedType(&t, pointer, loc))
                  : fly::PointerType();
  const bool isPlain =
      type && (type.isIn(fly::AddressSpace::Generic) || type.isIn(fly::AddressSpace::Global) ||
               type.isIn(fly::AddressSpace::Shared));
  return isPlain ? std::optional(type) : std::nullopt;
}

/// AMDGPU's numbers (AMDGPUUsage, "Address Spaces").
static int llvmSpace(fly::PointerType type) {
  return type.isIn(fly::AddressSpace::Global) ? 1 : type.isIn(fly::AddressSpace::Shared) ? 3 : 0;
}

mlir::Value llvmPointer(Tracer &t, const Handle &pointer, fly::PointerType type, Loc loc) {
  fly::ToLLVMPtrOp::Properties properties;
  properties.llvm_address_space = t.builder().getI32IntegerAttr(llvmSpace(type));
  return t.emit<fly::ToLLVMPtrOp>(loc, t.use(pointer, loc), properties);
}

} // namespace flydsl::builder
