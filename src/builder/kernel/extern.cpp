#include <flydsl/kernel/extern.h>

#include "builder/memory/address.h"
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace fly = mlir::fly;
namespace llvmd = mlir::LLVM;

/// A pointer becomes a generic one, whatever memory it points into.
static mlir::Value argumentOf(Tracer &t, const Handle &handle, Loc loc) {
  auto type = isTraced(handle) ? mlir::dyn_cast<fly::PointerType>(detail::tracedType(handle, loc))
                               : fly::PointerType();
  if (!type)
    return operand(t, handle, loc).value;
  if (!builder::addressable(t, handle, loc))
    throw TraceError("a function of other bitcode takes pointers to generic, global or shared "
                     "memory, not " +
                         detail::describe(handle),
                     loc);
  mlir::Value v = builder::llvmPointer(t, handle, type, loc);
  const mlir::Type generic = llvmd::LLVMPointerType::get(t.context());
  return v.getType() == generic ? v : t.create<llvmd::AddrSpaceCastOp>(loc, generic, v).getResult();
}

static void declare(Tracer &t, mlir::gpu::GPUModuleOp module, const std::string &symbol,
                    llvmd::LLVMFunctionType type, Loc loc) {
  if (mlir::Operation *known = module.lookupSymbol(symbol)) {
    auto function = mlir::dyn_cast<llvmd::LLVMFuncOp>(known);
    if (!function || function.getFunctionType() != type)
      throw TraceError(
          "the function " + symbol + " is called as " + builder::typeText(type) + " and as " +
              (function ? builder::typeText(function.getFunctionType()) : "something else"),
          loc);
    return;
  }
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(module.getBody());
  llvmd::LLVMFuncOp::create(b, t.ir.location(loc), symbol, type);
}

static void link(Tracer &t, mlir::gpu::GPUModuleOp module,
                 const std::vector<std::string> &bitcode) {
  const llvm::StringRef name = mlir::fly::kLinkLibsAttribute;
  auto known = module->getAttrOfType<mlir::ArrayAttr>(name);
  llvm::SmallVector<mlir::Attribute, 2> paths;
  if (known)
    paths.assign(known.begin(), known.end());
  for (const std::string &path : bitcode)
    if (mlir::Attribute attribute = t.ir.string(path); !llvm::is_contained(paths, attribute))
      paths.push_back(attribute);
  if (!paths.empty())
    module->setAttr(name, t.builder().getArrayAttr(paths));
}

Handle callExtern(const std::string &symbol, const std::vector<std::string> &bitcode,
                  std::initializer_list<Handle> arguments, DType result, Loc loc) {
  Tracer &t = Tracer::require("a function of other bitcode", loc);
  llvm::SmallVector<mlir::Value, 4> operands;
  llvm::SmallVector<mlir::Type, 4> types;
  for (const Handle &argument : arguments) {
    operands.push_back(argumentOf(t, argument, loc));
    types.push_back(operands.back().getType());
  }
  mlir::Type type = result ? builder::elementType(result, t.context())
                           : mlir::Type(llvmd::LLVMVoidType::get(t.context()));
  auto module =
      t.builder().getInsertionBlock()->getParentOp()->getParentOfType<mlir::gpu::GPUModuleOp>();
  declare(t, module, symbol, llvmd::LLVMFunctionType::get(type, types), loc);
  link(t, module, bitcode);
  auto call = t.create<llvmd::CallOp>(loc, result ? mlir::TypeRange(type) : mlir::TypeRange(),
                                      mlir::FlatSymbolRefAttr::get(t.context(), symbol), operands);
  return result ? t.wrap(call.getResult(), result, loc) : Handle();
}

} // namespace detail
FLYDSL_NAMESPACE_END
