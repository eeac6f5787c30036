#include "jit/compile/module/guarded_work.h"

#include "jit/compile/guard/guard.h"
#include "jit/compile/module/compile_diagnostics.h"
#include "jit/compile/module/context_pool.h"
#include "support/leak.h"

#include <memory>

namespace flydsl::jit {
namespace {

/// Shared with the guarded thread.
struct Work {
  std::function<bool()> run;
  CompileDiagnostics diagnostics;
  bool done = false;
};

std::string whatWentWrong(const GuardOutcome &outcome, const std::string &doing,
                          unsigned timeoutSeconds) {
  if (outcome.kind == GuardOutcome::crashed)
    return "MLIR crashed while " + doing + " (" + outcome.message + "): it is damaged";
  return describe(outcome, doing, timeoutSeconds);
}

} // namespace

void runOnModule(mlir::MLIRContext &context, const std::string &name, const std::string &doing,
                 unsigned timeoutSeconds, std::function<bool()> work) {
  auto shared = std::make_shared<Work>();
  shared->run = std::move(work);
  GuardOutcome outcome = runGuarded(
      [shared, &context](Guard &) {
        CollectMlirDiagnostics collect(&context, shared->diagnostics);
        shared->done = shared->run();
      },
      timeoutSeconds);
  if (outcome.kind != GuardOutcome::finished) {
    // The work stopped in its middle, so its objects are neither used nor destroyed.
    abandonContext(context);
    support::leak(std::move(shared));
    throw CompileError(name + ": " + whatWentWrong(outcome, doing, timeoutSeconds));
  }
  const CompileDiagnostics &diagnostics = shared->diagnostics;
  if (!shared->done)
    throw CompileError(diagnostics.where.known() ? diagnostics.errors
                       : diagnostics.failed()    ? name + ": " + diagnostics.errors
                                                 : name + ": " + doing + " failed");
}

} // namespace flydsl::jit
