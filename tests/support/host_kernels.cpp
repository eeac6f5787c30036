#include "host_kernels.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace flydsl::test {

namespace {

/// Replaces each `IdOp` by a number loaded from array `place` of HostIds.
template <class IdOp> void loadIds(Operation *root, Value ids, int64_t place) {
  root->walk([&](IdOp op) {
    OpBuilder b(op);
    const int64_t index = 3 * place + static_cast<int64_t>(op.getDimension());
    Type i64 = b.getI64Type();
    Value slot = LLVM::GEPOp::create(b, op.getLoc(), ids.getType(), i64, ids,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    Value number = LLVM::LoadOp::create(b, op.getLoc(), i64, slot);
    op.replaceAllUsesWith(
        Value(arith::IndexCastOp::create(b, op.getLoc(), b.getIndexType(), number)));
    op->erase();
  });
}

LogicalResult makeHostFunction(gpu::GPUFuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  OpBuilder b(kernel);
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types(kernel.getArgumentTypes());
  for (Type type : types)
    if (!LLVM::isCompatibleType(type))
      return kernel.emitError("argument of type ") << type << "; run convert-fly-to-llvm first";
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer});
  auto function = LLVM::LLVMFuncOp::create(b, loc, kernel.getName(), type);
  function.getBody().takeBody(kernel.getBody());
  kernel.erase();

  Block &entry = function.getBody().front();
  Value arguments = entry.addArgument(pointer, loc), ids = entry.addArgument(pointer, loc);
  b.setInsertionPointToStart(&entry);
  auto structTy = LLVM::LLVMStructType::getLiteral(context, types);
  for (auto [i, argument] : llvm::enumerate(entry.getArguments().drop_back(2))) {
    Value slot = LLVM::GEPOp::create(b, loc, pointer, structTy, arguments,
                                     ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    argument.replaceAllUsesWith(LLVM::LoadOp::create(b, loc, argument.getType(), slot));
  }
  entry.eraseArguments(0, types.size());

  loadIds<gpu::ThreadIdOp>(function, ids, 0);
  loadIds<gpu::BlockIdOp>(function, ids, 1);
  loadIds<gpu::BlockDimOp>(function, ids, 2);
  loadIds<gpu::GridDimOp>(function, ids, 3);
  LogicalResult result = success();
  function.walk([&](Operation *op) {
    if (auto end = dyn_cast<gpu::ReturnOp>(op)) {
      b.setInsertionPoint(end);
      LLVM::ReturnOp::create(b, end.getLoc(), ValueRange());
      end.erase();
    } else if (isa<gpu::GPUDialect>(op->getDialect())) {
      result = op->emitError("a kernel of one work-item has no such operation");
    }
  });
  return result;
}

/// Shared memory is a variable that nobody defines, because a GPU's code generator gives it its
/// place. On the host it becomes an ordinary variable.
LogicalResult defineShared(LLVM::GlobalOp variable) {
  if (cast<LLVM::LLVMArrayType>(variable.getGlobalType()).getNumElements() == 0)
    return variable.emitError("the host has no dynamic shared memory");
  OpBuilder b(variable.getContext());
  variable.setLinkage(LLVM::Linkage::Internal);
  b.createBlock(&variable.getInitializerRegion());
  Value zero = LLVM::ZeroOp::create(b, variable.getLoc(), variable.getGlobalType());
  LLVM::ReturnOp::create(b, variable.getLoc(), zero);
  return success();
}

struct HostKernels : PassWrapper<HostKernels, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HostKernels)

  StringRef getArgument() const override { return "test-host-kernels"; }
  StringRef getDescription() const override {
    return "Turn kernels into functions that run one work-item on the host";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    for (auto kernel : llvm::to_vector(getOperation().getOps<gpu::GPUFuncOp>()))
      if (failed(makeHostFunction(kernel)))
        return signalPassFailure();
    for (auto variable : getOperation().getOps<LLVM::GlobalOp>())
      if (variable.getInitializerRegion().empty() && failed(defineShared(variable)))
        return signalPassFailure();
  }
};

} // namespace

void registerHostKernels() {
  PassRegistration<HostKernels>();
  registerPass([] { return createConvertToLLVMPass(); });
}

} // namespace flydsl::test
