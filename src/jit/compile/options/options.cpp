// The options that come from environment variables.
#include "jit/compile/options/options.h"

#include "jit/compile/options/dump.h"
#include "support/env_variables.h"

namespace flydsl::jit {

CompileOptions CompileOptions::fromEnvironment(const Target &target) {
  CompileOptions options;
  options.target = target;
  options.optLevel = support::env::kOptLevel.get();
  options.llvmGroupScheduler =
      support::env::kGroupScheduler.get() == support::env::GroupScheduler::llvm;
  options.timeoutSeconds = support::env::kCompileTimeout.get();
  options.lineTables = support::env::kDebugInfo.get();
  options.verify = support::env::kVerifier.get();
  options.dumpDir = dumpDirFromEnvironment();
  return options;
}

} // namespace flydsl::jit
