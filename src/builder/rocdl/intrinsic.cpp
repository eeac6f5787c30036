#include "builder/rocdl/intrinsic.h"

#include "builder/values/operand.h"
#include "builder/trace/types.h"

#include <flydsl/rocdl_intrinsics.h>

namespace flydsl::builder {

mlir::Value callIntrinsic(Tracer &t, llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type type, Loc loc) {
  mlir::OpBuilder &b = t.builder();
  mlir::NamedAttribute attributes[] = {
      t.named("intrin", t.string(name)), t.named("op_bundle_sizes", b.getDenseI32ArrayAttr({})),
      t.named("operandSegmentSizes",
              b.getDenseI32ArrayAttr({static_cast<int>(operands.size()), 0}))};
  mlir::Operation *op = t.create("llvm.call_intrinsic", operands, loc, attributes,
                                 type ? mlir::TypeRange(type) : mlir::TypeRange());
  return type ? op->getResult(0) : mlir::Value();
}

} // namespace flydsl::builder

FLYDSL_NAMESPACE_BEGIN
namespace rocdl::impl {

using builder::Tracer;
using detail::Handle;

static mlir::Type typeOf(Tracer &t, ResultType result) {
  if (!result.type)
    return {};
  mlir::Type element = builder::elementType(result.type, t.context());
  return result.size ? mlir::VectorType::get(result.size, element) : element;
}

static llvm::SmallVector<mlir::Value, 8>
valuesOf(Tracer &t, std::initializer_list<IntrinsicArg> arguments, Loc loc) {
  llvm::SmallVector<mlir::Value, 8> values;
  for (const IntrinsicArg &a : arguments)
    values.push_back(detail::operand(t, a.handle, loc).value);
  return values;
}

Handle intrinsic(const char *name, ResultType result, std::initializer_list<IntrinsicArg> arguments,
                 Loc loc) {
  Tracer &t = Tracer::require(name, loc);
  mlir::Value v =
      builder::callIntrinsic(t, name, valuesOf(t, arguments, loc), typeOf(t, result), loc);
  return v ? t.wrap(v, result.type, loc) : Handle();
}

Handle inlineAsm(const char *text, const char *constraints, ResultType result,
                 std::initializer_list<IntrinsicArg> arguments, bool side_effects, Loc loc) {
  Tracer &t = Tracer::require("inline_asm", loc);
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes{
      t.named("asm_string", t.string(text)), t.named("constraints", t.string(constraints))};
  if (side_effects)
    attributes.push_back(t.named("has_side_effects", t.builder().getUnitAttr()));
  mlir::Type type = typeOf(t, result);
  mlir::Operation *op = t.create("llvm.inline_asm", valuesOf(t, arguments, loc), loc, attributes,
                                 type ? mlir::TypeRange(type) : mlir::TypeRange());
  return type ? t.wrap(op->getResult(0), result.type, loc) : Handle();
}

} // namespace rocdl::impl
FLYDSL_NAMESPACE_END
