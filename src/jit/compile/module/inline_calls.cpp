// MLIR's inlining of one call is used; its pass is not, because that leaves in silence what it
// can't inline, and asks each dialect for leave.
#include "jit/compile/module/inline_calls.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/Inliner.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace flydsl::jit {
namespace {

using namespace mlir;

/// The most operations that all inlined bodies of a module have together: far beyond the largest
/// modules that FlyDSL writes.
constexpr std::size_t kMostOperations = 1 << 18;
/// The deepest chain of calls.
constexpr std::size_t kDeepest = 256;

/// Bodies of any dialect may be inlined, and end with `func.return`. No dialect is asked.
struct AnyBody final : InlinerInterface {
  using InlinerInterface::InlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const override { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const override { return true; }
  bool shouldAnalyzeRecursively(Operation *) const override { return false; }
  bool allowSingleBlockOptimization(iterator_range<Region::iterator>) const override {
    return true;
  }
  Value handleArgument(OpBuilder &, Operation *, Operation *, Value argument,
                       DictionaryAttr) const override {
    return argument;
  }
  Value handleResult(OpBuilder &, Operation *, Operation *, Value result,
                     DictionaryAttr) const override {
    return result;
  }
  void processInlinedCallBlocks(Operation *, iterator_range<Region::iterator>) const override {}
  void handleTerminator(Operation *op, Block *next) const override {
    auto leave = dyn_cast<func::ReturnOp>(op);
    if (!leave)
      return;
    OpBuilder builder(op);
    cf::BranchOp::create(builder, op->getLoc(), next, leave.getOperands());
    op->erase();
  }
  void handleTerminator(Operation *op, ValueRange results) const override {
    for (auto [result, value] : llvm::zip_equal(results, op->getOperands()))
      result.replaceAllUsesWith(value);
  }
};

class CallInliner {
public:
  explicit CallInliner(ModuleOp module) : module_(module), rules_(module.getContext()) {}

  bool run() {
    llvm::SmallVector<Operation *> functions;
    module_.walk([&](Operation *op) {
      if (isa<func::FuncOp, gpu::GPUFuncOp>(op))
        functions.push_back(op);
    });
    for (Operation *function : functions)
      if (!inlineInto(function))
        return false;
    for (Operation *function : functions)
      if (inlined_.contains(function) && isDispensable(cast<func::FuncOp>(function)))
        function->erase();
    return true;
  }

private:
  /// Functions that a function calls are done before it.
  bool inlineInto(Operation *function) {
    if (!done_.insert(function).second)
      return true;
    path_.push_back(function);
    llvm::SmallVector<func::CallOp> calls;
    function->walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = symbols_.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      if (!callee || callee.isDeclaration())
        continue;
      if (llvm::is_contained(path_, callee.getOperation()))
        return refuseRecursion(call, callee);
      if (path_.size() == kDeepest)
        return call.emitError("calls nest deeper than ") << kDeepest << " here", false;
      if (!inlineInto(callee) || !replace(call, callee))
        return false;
    }
    path_.pop_back();
    return true;
  }

  bool refuseRecursion(func::CallOp call, func::FuncOp callee) {
    InFlightDiagnostic error = call.emitError();
    error << "'" << callee.getName() << "' calls itself: ";
    for (auto *at = llvm::find(path_, callee.getOperation()); at != path_.end(); ++at)
      error << cast<SymbolOpInterface>(*at).getName() << " -> ";
    error << callee.getName()
          << "; functions are put in the place of their calls, so write it as a loop (scf.for)";
    return false;
  }

  bool replace(func::CallOp call, func::FuncOp callee) {
    if (!callee.getBody().hasOneBlock() && !isa<FunctionOpInterface>(call->getParentOp()))
      return call.emitError("the body of '")
                 << callee.getName() << "' has branches (cf.br), which the "
                 << call->getParentOp()->getName()
                 << " around this call can't hold; write them as scf.if and scf.for",
             false;
    if (callee.getBody().hasOneBlock() &&
        !isa<func::ReturnOp>(callee.getBody().front().getTerminator()))
      return call.emitError("the body of '")
                 << callee.getName() << "' ends with "
                 << callee.getBody().front().getTerminator()->getName() << ", not with a return",
             false;
    callee.walk([&](Operation *) { ++operations_; });
    if (operations_ > kMostOperations)
      return call.emitError("with the functions that are called here, the module has more than ")
                 << kMostOperations << " operations more than before",
             false;
    if (failed(inlineCall(rules_, config_.getCloneCallback(), call, callee, &callee.getBody())))
      return call.emitError("the call of '") << callee.getName() << "' can't be inlined", false;
    call.erase();
    inlined_.insert(callee);
    return true;
  }

  static bool isDispensable(func::FuncOp function) {
    const bool isOfHost = !function->getParentOfType<gpu::GPUModuleOp>();
    return (!isOfHost || function.isPrivate()) &&
           SymbolTable::symbolKnownUseEmpty(function, function->getParentOp());
  }

  ModuleOp module_;
  AnyBody rules_;
  InlinerConfig config_;
  SymbolTableCollection symbols_;
  llvm::DenseSet<Operation *> done_, inlined_;
  llvm::SmallVector<Operation *> path_;
  std::size_t operations_ = 0;
};

} // namespace

bool inlineCalls(ModuleOp module) { return CallInliner(module).run(); }

} // namespace flydsl::jit
