#include "builder/trace/trace.h"

#include "builder/trace/dialects.h"
#include "builder/trace/tracer.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "support/env_variables.h"

#include <flydsl/kernel/math.h>

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Verifier.h"

namespace flydsl::builder {
namespace {

layout::Int leafOf(const detail::LeafType &leaf) {
  return leaf.isStatic() ? layout::Int(leaf.value) : layout::Int::dynamic(leaf.width, leaf.value);
}

layout::IntTuple tupleOf(const std::vector<detail::LeafType> &leaves) {
  std::vector<layout::IntTuple> elements;
  for (const detail::LeafType &leaf : leaves)
    elements.emplace_back(leafOf(leaf));
  return layout::IntTuple::tuple(std::move(elements));
}

/// The type of the parameter that an argument becomes; null where it becomes none.
mlir::Type parameterType(const detail::ArgType &arg, mlir::MLIRContext *c) {
  using Kind = detail::ArgType::Kind;
  if (arg.kind == Kind::scalar)
    return elementType(arg.dtype, c);
  if (arg.kind == Kind::pointer)
    return elementType(i64, c);
  if (arg.kind != Kind::tensor)
    return {};
  mlir::Type element = elementType(arg.dtype, c);
  auto alignment =
      std::max<std::int64_t>(arg.alignment, mlir::fly::PointerType::getTrivialAlignment(element));
  auto pointer = mlir::fly::PointerType::get(
      element, mlir::fly::AddressSpaceAttr::get(c, mlir::fly::AddressSpace::Global), alignment);
  return mlir::fly::MemRefType::get(
      pointer, layout::AnyLayout(layout::Layout(tupleOf(arg.shape), tupleOf(arg.stride))));
}

mlir::Location locationOf(const SourceLocation &where, mlir::MLIRContext &c) {
  if (!where.known())
    return mlir::UnknownLoc::get(&c);
  return mlir::FileLineColLoc::get(&c, where.file, where.line, where.column);
}

mlir::gpu::GPUFuncOp makeKernel(mlir::ModuleOp module, const detail::KernelSpec &spec,
                                llvm::ArrayRef<mlir::Type> parameters,
                                std::array<unsigned, 3> block, mlir::Location loc) {
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module.getBody());
  module->setAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
  auto gpuModule = mlir::gpu::GPUModuleOp::create(b, loc, "kernels");
  b.setInsertionPointToEnd(gpuModule.getBody());
  auto func = mlir::gpu::GPUFuncOp::create(b, loc, spec.name, b.getFunctionType(parameters, {}));
  func->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  if (block[0])
    func.setKnownBlockSize(llvm::ArrayRef<std::int32_t>{
        static_cast<std::int32_t>(block[0]), static_cast<std::int32_t>(std::max(block[1], 1u)),
        static_cast<std::int32_t>(std::max(block[2], 1u))});
  return func;
}

} // namespace

TraceResult traceKernel(const detail::KernelSpec &spec, std::span<const detail::ArgType> types,
                        std::array<unsigned, 3> block, mlir::MLIRContext &context,
                        const std::optional<Target> &target) {
  loadDialects(context);
  llvm::SmallVector<mlir::Type, 8> parameters;
  for (const detail::ArgType &type : types)
    if (mlir::Type t = parameterType(type, &context))
      parameters.push_back(t);
  // The buffer of the events is the last argument, behind those of the call.
  const bool recordsEvents = spec.hints.ktrace || support::env::kKtraceEnable.get();
  if (recordsEvents)
    parameters.push_back(mlir::fly::PointerType::get(
        mlir::IntegerType::get(&context, 8),
        mlir::fly::AddressSpaceAttr::get(&context, mlir::fly::AddressSpace::Global)));
  if (!block[0])
    block = spec.hints.known_block_size;

  mlir::Location loc = locationOf(spec.where, context);
  TraceResult result;
  result.kernelName = spec.name;
  result.module = mlir::ModuleOp::create(loc);
  mlir::gpu::GPUFuncOp func = makeKernel(*result.module, spec, parameters, block, loc);
  mlir::Block &body = func.getBody().front();

  const unsigned fastMath = spec.hints.fast_math ? static_cast<unsigned>(FastMath::fast) : 0;
  Tracer tracer(context, &body, {spec.name, block, target, spec.where}, fastMath);
  tracer.kernel.recordsEvents = recordsEvents;
  llvm::SmallVector<detail::ParamHandle, 8> handles;
  unsigned next = 0;
  for (const detail::ArgType &type : types) {
    const void *value = nullptr;
    if (type.isPassed())
      value = body.getArgument(next++).getAsOpaquePointer();
    handles.push_back({value, &type});
  }
  detail::ParamReader reader(handles.data(), handles.size());
  spec.body(reader);
  // Only the parameters, once they are read, say which configuration this is.
  if (const std::string configuration = reader.symbol().str(); !configuration.empty()) {
    result.kernelName += "_" + configuration;
    func.setName(result.kernelName);
  }
  result.variant = reader.variant().str();
  tracer.diagnostics.throwDeferred();
  tracer.barriers.finish();
  if (!tracer.openRanges.empty())
    throw TraceError("ktrace::range_push: the range \"" + tracer.openRanges.back().name +
                         "\" is never popped",
                     tracer.openRanges.back().loc);
  tracer.exits.finish(loc);
  if (recordsEvents) {
    result.recordsEvents = tracer.eventCount != 0;
    if (!result.recordsEvents) // nothing writes to the buffer
      (void)func.eraseArgument(func.getNumArguments() - 1);
  }
  if (mlir::failed(mlir::verify(*result.module)))
    tracer.diagnostics.failVerification(spec.name);
  result.staticSharedBytes = tracer.shared.staticBytes();
  result.dynamicSharedBytes = tracer.shared.dynamicBytes();
  result.redZone = tracer.shared.redZone();
  result.hasNeighbours = tracer.shared.arrays() > 1;
  return result;
}

} // namespace flydsl::builder
