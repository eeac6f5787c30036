#include "builder/rocdl/intrinsic.h"

#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include <flydsl/rocdl/intrinsics.h>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace flydsl::builder {

mlir::Value callIntrinsic(Tracer &t, llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type type, Loc loc) {
  if (type)
    return t.create<mlir::LLVM::CallIntrinsicOp>(loc, type, t.ir.string(name), operands)
        .getResult(0);
  t.create<mlir::LLVM::CallIntrinsicOp>(loc, t.ir.string(name), operands);
  return {};
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
  llvm::StringRef known = name;
  known.consume_front("llvm.amdgcn.");
  Tracer &t = Tracer::require(known.data(), loc);
  mlir::Value v =
      builder::callIntrinsic(t, name, valuesOf(t, arguments, loc), typeOf(t, result), loc);
  return v ? t.wrap(v, result.type, loc) : Handle();
}

Handle inlineAsm(const char *text, const char *constraints, ResultType result,
                 std::initializer_list<IntrinsicArg> arguments, bool sideEffects, Loc loc) {
  Tracer &t = Tracer::require("inline_asm", loc);
  mlir::Type type = typeOf(t, result);
  auto op = t.create<mlir::LLVM::InlineAsmOp>(loc, type ? mlir::TypeRange(type) : mlir::TypeRange(),
                                              valuesOf(t, arguments, loc), text, constraints,
                                              sideEffects, /*is_align_stack=*/false,
                                              mlir::LLVM::tailcallkind::TailCallKind::None,
                                              mlir::LLVM::AsmDialectAttr(), mlir::ArrayAttr());
  return type ? t.wrap(op.getRes(), result.type, loc) : Handle();
}

} // namespace rocdl::impl
FLYDSL_NAMESPACE_END
