// The reproducer is printed under the guard: what failed may have left the IR damaged.
#include "jit/compile/reproducer.h"

#include "jit/compile/backends/backends.h"
#include "jit/compile/guard/guard.h"
#include "jit/compile/module/print_module.h"
#include "jit/compile/options/dump.h"
#include "jit/compile/options/options.h"
#include "jit/compile/pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace flydsl::jit {

/// The most time that printing takes: a damaged module might be printed for ever.
static constexpr unsigned kPrintingSeconds = 30;

static std::string reproducerText(mlir::ModuleOp module, const CompileOptions &options) {
  std::string pipeline = "builtin.module(";
  for (const std::string &stage : backendFor(options.target).stages(options, holdsFly(module)))
    pipeline += (pipeline.back() == '(' ? "" : ",") + stage;
  pipeline += ")";
  return printedReproducer(module, pipeline, options.verify) + "\n";
}

std::string writeReproducer(mlir::ModuleOp module, const CompileOptions &options,
                            const std::string &kernel, llvm::Module *llvmModule) {
  Dump dump(options.dumpDir.empty() ? dumpDir() : options.dumpDir, kernel);
  if (!dump.enabled())
    return {};
  std::string path = dump.folder() + "/reproducer.mlir";
  auto text = std::make_shared<std::string>();
  GuardOutcome outcome =
      runGuarded([text, module, options](Guard &) { *text = reproducerText(module, options); },
                 kPrintingSeconds);
  bool written = outcome.kind == GuardOutcome::finished && writeDump(path, *text).empty();
  if (llvmModule) {
    text = std::make_shared<std::string>();
    outcome = runGuarded(
        [text, llvmModule](Guard &) { *text = printed(*llvmModule); }, kPrintingSeconds);
    if (outcome.kind == GuardOutcome::finished)
      (void)writeDump(dump.folder() + "/failed.ll", *text);
  }
  return written ? path : std::string();
}

} // namespace flydsl::jit
