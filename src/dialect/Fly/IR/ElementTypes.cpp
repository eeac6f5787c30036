#include "dialect/Fly/IR/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using flydsl::DType;

namespace mlir::fly {

Type elementType(DType type, MLIRContext *context) {
  using K = DType::Kind;
  switch (type.kind()) {
  case K::none:
    return {};
  case K::f16:
    return Float16Type::get(context);
  case K::bf16:
    return BFloat16Type::get(context);
  case K::f32:
    return Float32Type::get(context);
  case K::f64:
    return Float64Type::get(context);
  case K::f8E4M3FN:
    return Float8E4M3FNType::get(context);
  case K::f8E5M2:
    return Float8E5M2Type::get(context);
  case K::f8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case K::f8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case K::f8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case K::f6E2M3FN:
    return Float6E2M3FNType::get(context);
  case K::f6E3M2FN:
    return Float6E3M2FNType::get(context);
  case K::f4E2M1FN:
    return Float4E2M1FNType::get(context);
  default:
    return IntegerType::get(context, static_cast<unsigned>(type.bits()));
  }
}

DType dtypeOfElement(Type type) {
  using K = DType::Kind;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
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
  for (K kind : {K::f16, K::bf16, K::f32, K::f64, K::f8E4M3FN, K::f8E5M2, K::f8E4M3FNUZ,
                 K::f8E5M2FNUZ, K::f8E8M0FNU, K::f6E2M3FN, K::f6E3M2FN, K::f4E2M1FN})
    if (type == elementType(kind, type.getContext()))
      return kind;
  return K::none;
}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

} // namespace mlir::fly
