#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "layout/algebra.h"
#include "layout/error.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::fly {

namespace fl = flydsl::layout;

Type registerElementType(Type elemTy) {
  auto floatTy = dyn_cast<FloatType>(elemTy);
  return floatTy && floatTy.getWidth() < 16
             ? IntegerType::get(elemTy.getContext(), floatTy.getWidth())
             : elemTy;
}

Type registerValueType(MemRefType type) {
  const auto *layout = std::get_if<fl::Layout>(&type.getLayout());
  if (!type.isIn(AddressSpace::Register) || !layout || !layout->isStatic())
    return {};
  fl::Layout flat;
  try {
    flat = fl::coalesce(*layout);
  } catch (const fl::LayoutError &) { // too large to be registers
    return {};
  }
  if (!flat.isLeaf())
    return {};
  Type elemTy = registerElementType(type.getElemTy());
  int64_t size = flat.shape().leaf().value();
  if (size == 1)
    return elemTy;
  if (!flat.stride().isLeaf(1))
    return {};
  return VectorType::get({size}, elemTy);
}

} // namespace mlir::fly
