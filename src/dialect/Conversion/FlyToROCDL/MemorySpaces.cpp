//===- MemorySpaces.cpp - GPU address spaces of memrefs as numbers --------===//
//
// MLIR's conversion of vectors to LLVM knows address spaces as numbers alone and refuses the names
// of the gpu dialect, such as `#gpu.address_space<workgroup>`. Its conversion of GPU modules knows
// both, but has to come later, because it converts the arithmetic that the vectors become.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace mlir::fly {

#define GEN_PASS_DEF_LOWERMEMORYSPACESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

/// The numbers are those of "Address Spaces" in LLVM's AMDGPU guide.
unsigned numberOf(gpu::AddressSpace space) {
  switch (space) {
  case gpu::AddressSpace::Global:
    return ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace;
  case gpu::AddressSpace::Workgroup:
    return ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
  case gpu::AddressSpace::Private:
    return 5;
  }
  llvm_unreachable("an address space of the gpu dialect");
}

struct LowerMemorySpaces : impl::LowerMemorySpacesPassBase<LowerMemorySpaces> {
  void runOnOperation() override {
    AttrTypeReplacer replacer;
    replacer.addReplacement([](MemRefType type) -> std::optional<Type> {
      auto named = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
      if (!named)
        return std::nullopt;
      const Type number = IntegerType::get(type.getContext(), 64);
      return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                             IntegerAttr::get(number, numberOf(named.getValue())));
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false, /*replaceTypes=*/true);
  }
};

} // namespace

} // namespace mlir::fly
