#include "builder/trace/types.h"

#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/IR/BuiltinTypes.h"

namespace flydsl::builder {

using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;

mlir::Type elementType(DType type, mlir::MLIRContext *c) {
  using K = DType::Kind;
  switch (type.kind()) {
  case K::none:
    return {};
  case K::f16:
    return mlir::Float16Type::get(c);
  case K::bf16:
    return mlir::BFloat16Type::get(c);
  case K::f32:
    return mlir::Float32Type::get(c);
  case K::f64:
    return mlir::Float64Type::get(c);
  case K::f8E4M3FN:
    return mlir::Float8E4M3FNType::get(c);
  case K::f8E5M2:
    return mlir::Float8E5M2Type::get(c);
  case K::f8E4M3FNUZ:
    return mlir::Float8E4M3FNUZType::get(c);
  case K::f8E5M2FNUZ:
    return mlir::Float8E5M2FNUZType::get(c);
  case K::f8E8M0FNU:
    return mlir::Float8E8M0FNUType::get(c);
  case K::f6E2M3FN:
    return mlir::Float6E2M3FNType::get(c);
  case K::f6E3M2FN:
    return mlir::Float6E3M2FNType::get(c);
  case K::f4E2M1FN:
    return mlir::Float4E2M1FNType::get(c);
  default:
    return mlir::IntegerType::get(c, type.bits());
  }
}

DType dtypeOfElement(mlir::Type t) {
  using K = DType::Kind;
  if (auto i = dyn_cast<mlir::IntegerType>(t)) {
    switch (i.getWidth()) {
    case 1:
      return K::boolean;
    case 4:
      return K::i4;
    case 8:
      return K::i8;
    case 16:
      return K::i16;
    case 32:
      return K::i32;
    case 64:
      return K::i64;
    default:
      return K::none;
    }
  }
  for (K k : {K::f16, K::bf16, K::f32, K::f64, K::f8E4M3FN, K::f8E5M2, K::f8E4M3FNUZ, K::f8E5M2FNUZ,
              K::f8E8M0FNU, K::f6E2M3FN, K::f6E3M2FN, K::f4E2M1FN})
    if (t == elementType(k, t.getContext()))
      return k;
  return K::none;
}

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

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

} // namespace flydsl::builder
