// Runs a backend's stages. Parsed pipelines are kept with their context.
#include "jit/compile/pipeline.h"

#include "jit/compile/backends/backends.h"
#include "jit/compile/guard/guard.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/kernel_module.h"
#include "jit/compile/module/print_module.h"
#include "jit/compile/options/dump.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <memory>

namespace flydsl::jit {

static bool isFly(mlir::Type type) { return type.getDialect().getNamespace().starts_with("fly"); }

bool holdsFly(mlir::ModuleOp module) {
  auto result = module.walk([](mlir::Operation *op) {
    if (op->getName().getDialectNamespace().starts_with("fly"))
      return mlir::WalkResult::interrupt();
    if (auto function = mlir::dyn_cast<mlir::gpu::GPUFuncOp>(op))
      for (mlir::Type type : function.getArgumentTypes())
        if (isFly(type))
          return mlir::WalkResult::interrupt();
    return mlir::WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {

/// Remembers which pass failed, and ends the run between two passes when its time is over.
struct Watch final : mlir::PassInstrumentation {
  void runBeforePass(mlir::Pass *, mlir::Operation *) override { guard->checkDeadline(); }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *) override {
    if (failed->empty()) // the innermost pass reports first, its adaptor later
      *failed = pass->getArgument().empty() ? pass->getName().str() : pass->getArgument().str();
  }
  const Guard *guard = nullptr;
  std::string *failed = nullptr;
};

/// A pipeline ready to run. Its passes keep their patterns from one run to the next, which cost
/// more than running them on a small kernel.
struct Prepared {
  explicit Prepared(mlir::MLIRContext *context) : passes(context) {
    auto instrumentation = std::make_unique<Watch>();
    watch = instrumentation.get();
    passes.addInstrumentation(std::move(instrumentation));
  }
  mlir::PassManager passes;
  Watch *watch;
};

using PreparedByText = std::map<std::string, std::shared_ptr<Prepared>>;

/// The pipeline of this text, kept with the context where that is one of the pool's; null with
/// `message` where the text does not parse.
std::shared_ptr<Prepared> prepare(mlir::MLIRContext &context, const std::string &text,
                                  std::string &message) {
  std::shared_ptr<void> *room = keptWith(context);
  if (room && !*room)
    *room = std::make_shared<PreparedByText>();
  auto *kept = room ? static_cast<PreparedByText *>(room->get()) : nullptr;
  if (kept)
    if (auto found = kept->find(text); found != kept->end())
      return found->second;
  auto made = std::make_shared<Prepared>(&context);
  llvm::raw_string_ostream stream(message);
  if (mlir::failed(mlir::parsePassPipeline(text, made->passes, stream)))
    return nullptr;
  if (kept)
    kept->emplace(text, made);
  return made;
}

} // namespace

PipelineResult runPipeline(mlir::ModuleOp module, const CompileOptions &options, Dump &dump,
                           const Guard &guard) {
  registerPasses();
  if (dump.enabled())
    dump.write("origin", "mlir", printed(module) + "\n");
  if (!keepDeviceCode(module))
    return {false, "gpu-kernel-outlining"};
  std::vector<std::string> stages = backendFor(options.target).stages(options, holdsFly(module));
  if (!dump.enabled()) {
    // Without a dump nobody looks between the stages, so one pass manager runs all of them.
    std::string all;
    for (const std::string &stage : stages)
      all += (all.empty() ? "" : ",") + stage;
    stages = {std::move(all)};
  }

  for (const std::string &stage : stages) {
    PipelineResult result;
    std::string message;
    std::shared_ptr<Prepared> prepared = prepare(*module.getContext(), stage, message);
    if (!prepared) {
      mlir::emitError(module.getLoc()) << "pass pipeline '" << stage << "': " << message;
      result.failedPass = stage;
      return result;
    }
    // Verifying takes a fifth of the passes' time: what they make is verified once, unless somebody
    // looks at each.
    prepared->passes.enableVerifier(options.verify && dump.enabled());
    prepared->watch->guard = &guard;
    prepared->watch->failed = &result.failedPass;
    if (mlir::failed(prepared->passes.run(module))) {
      if (result.failedPass.empty())
        result.failedPass = stage;
      dump.write(stageName(stage) + "_failed", "mlir", printed(module) + "\n");
      return result;
    }
    dump.write(stageName(stage), "mlir", dump.enabled() ? printed(module) + "\n" : std::string());
  }
  if (options.verify && !dump.enabled() && mlir::failed(mlir::verify(module)))
    return {false, "verifier"};
  return {true, {}};
}

} // namespace flydsl::jit
