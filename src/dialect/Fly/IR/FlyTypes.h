// Types of the Fly dialect and their interfaces.
#pragma once

#include "dialect/Fly/IR/FlyAttrs.h"
#include "dialect/Fly/IR/FlyTypeStorage.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Types.h"

#include <optional>

namespace mlir::fly {

/// The memories that one side of a copy may be in, and those that the other side may then be in, as
/// attributes with AddressSpaceInterface.
struct CopyRoute {
  SmallVector<Attribute, 2> from, to;
};

} // namespace mlir::fly

#include "dialect/Fly/IR/FlyTypeInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Fly/IR/FlyTypes.h.inc"

namespace mlir::fly {

/// The type of a layout or composed layout.
Type getLayoutType(MLIRContext *context, const flydsl::layout::AnyLayout &layout);
/// The layout of a type that has one: layouts, composed layouts, memrefs, coordinate tensors.
std::optional<flydsl::layout::AnyLayout> getLayoutOf(Type type);
/// Whether `type` is static by MayStaticTypeInterface; false for types without it.
bool isStaticType(Type type);

/// The instruction of a copy or mma atom, or of a tiled copy or mma. Null for other types.
Type instructionOf(Type atom);

/// The layouts of instructions of one thread: the thread, and its values in order.
flydsl::layout::Layout oneThread();
flydsl::layout::Layout oneThreadOf(int64_t values);

} // namespace mlir::fly
