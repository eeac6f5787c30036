#include <flydsl/extern.h>

#include "builder/values/operand.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace fly = mlir::fly;
namespace llvmd = mlir::LLVM;

/// A pointer becomes a generic one, whatever memory it points into.
static mlir::Value argumentOf(Tracer &t, const Handle &handle, Loc loc) {
  auto type = isTraced(handle) ? mlir::dyn_cast<fly::PointerType>(builder::tracedType(handle, loc))
                               : fly::PointerType();
  if (!type)
    return operand(t, handle, loc).value;
  auto space = mlir::dyn_cast<fly::AddressSpaceAttr>(type.getAddressSpace());
  if (!space || space.getValue() == fly::AddressSpace::Register)
    throw TraceError("a function of other bitcode takes pointers to generic, global or shared "
                     "memory, not " +
                         builder::describe(handle),
                     loc);
  const int number = space.getValue() == fly::AddressSpace::Global   ? 1
                     : space.getValue() == fly::AddressSpace::Shared ? 3
                                                                     : 0;
  mlir::Value v = t.emit("fly.to_llvm_ptr", t.use(handle, loc), loc,
                         {t.named("llvm_address_space", t.builder().getI32IntegerAttr(number))});
  return number ? t.emit("llvm.addrspacecast", v, loc, {}, llvmd::LLVMPointerType::get(t.context()))
                : v;
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
  llvmd::LLVMFuncOp::create(b, t.location(loc), symbol, type);
}

static void link(Tracer &t, mlir::gpu::GPUModuleOp module,
                 const std::vector<std::string> &bitcode) {
  static constexpr char name[] = "fly.link_libs";
  auto known = module->getAttrOfType<mlir::ArrayAttr>(name);
  llvm::SmallVector<mlir::Attribute, 2> paths;
  if (known)
    paths.assign(known.begin(), known.end());
  for (const std::string &path : bitcode)
    if (mlir::Attribute attribute = t.string(path); !llvm::is_contained(paths, attribute))
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
  mlir::OpBuilder &b = t.builder();
  mlir::NamedAttribute attributes[] = {
      t.named("callee", mlir::FlatSymbolRefAttr::get(t.context(), symbol)),
      t.named("op_bundle_sizes", b.getDenseI32ArrayAttr({})),
      t.named("operandSegmentSizes",
              b.getDenseI32ArrayAttr({static_cast<int>(operands.size()), 0}))};
  mlir::Operation *call = t.create("llvm.call", operands, loc, attributes,
                                   result ? mlir::TypeRange(type) : mlir::TypeRange());
  return result ? t.wrap(call->getResult(0), result, loc) : Handle();
}

} // namespace detail
FLYDSL_NAMESPACE_END
