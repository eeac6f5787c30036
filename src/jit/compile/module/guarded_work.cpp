#include "jit/compile/module/guarded_work.h"

#include "jit/compile/guard/guard.h"
#include "jit/compile/module/compile_diagnostics.h"
#include "jit/compile/module/context_pool.h"

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
  switch (outcome.kind) {
  case GuardOutcome::fatal:
    return "LLVM gave up while " + doing + ": " + outcome.message;
  case GuardOutcome::crashed:
    return "MLIR crashed while " + doing + " (" + outcome.message + "): it is damaged";
  case GuardOutcome::timedOut:
    return doing + " took longer than " + std::to_string(timeoutSeconds) + " s and was given up";
  case GuardOutcome::exiting:
    return doing + " was given up: the process exits";
  case GuardOutcome::threw:
    try {
      std::rethrow_exception(outcome.error);
    } catch (const std::exception &error) {
      return doing + " failed: " + error.what();
    }
  case GuardOutcome::finished:
    break;
  }
  return {};
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
    new std::shared_ptr<Work>(shared);
    throw CompileError(name + ": " + whatWentWrong(outcome, doing, timeoutSeconds));
  }
  const CompileDiagnostics &diagnostics = shared->diagnostics;
  if (!shared->done)
    throw CompileError(diagnostics.where.known() ? diagnostics.errors
                       : diagnostics.failed()    ? name + ": " + diagnostics.errors
                                                 : name + ": " + doing + " failed");
}

} // namespace flydsl::jit
