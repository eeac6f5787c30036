#include "builder/trace/types.h"

#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/IR/BuiltinTypes.h"

namespace flydsl::builder {

using mlir::dyn_cast;
using mlir::isa;

mlir::Type staticType(const detail::HostValue &value, mlir::MLIRContext *c) {
  namespace fly = mlir::fly;
  if (auto *t = std::get_if<layout::IntTuple>(&value))
    return fly::IntTupleType::get(c, *t);
  if (auto *l = std::get_if<layout::Layout>(&value))
    return fly::LayoutType::get(c, *l);
  if (auto *l = std::get_if<layout::ComposedLayout>(&value))
    return fly::ComposedLayoutType::get(c, *l);
  if (auto *t = std::get_if<layout::Tile>(&value))
    return fly::TileType::get(c, *t);
  if (auto *s = std::get_if<layout::Swizzle>(&value))
    return fly::SwizzleType::get(c, *s);
  if (auto *s = std::get_if<layout::CoordSwizzle>(&value))
    return fly::CoordSwizzleType::get(c, *s);
  if (auto *s = std::get_if<detail::AtomSpec>(&value)) // its verifiers passed when it was made
    return detail::typeOf(*s, *c, [&] { return mlir::emitError(mlir::UnknownLoc::get(c)); });
  return {};
}

detail::HostValue valueOfStaticType(mlir::Type type) {
  namespace fly = mlir::fly;
  if (!fly::isStaticType(type))
    return {};
  if (auto t = dyn_cast<fly::IntTupleType>(type))
    return t.getValue();
  if (auto t = dyn_cast<fly::LayoutType>(type))
    return t.getValue();
  if (auto t = dyn_cast<fly::ComposedLayoutType>(type))
    return t.getValue();
  if (auto t = dyn_cast<fly::TileType>(type))
    return t.getValue();
  if (auto t = dyn_cast<fly::SwizzleType>(type))
    return t.getValue();
  if (auto t = dyn_cast<fly::CoordSwizzleType>(type))
    return t.getValue();
  return {};
}

} // namespace flydsl::builder
