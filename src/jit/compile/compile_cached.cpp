// The one place where the cache meets the compiler.
#include "jit/compile/guard/compiler_use.h"
#include "jit/compile/ir_key.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/kernel_module.h"
#include "jit/compile/module/linked_bitcode.h"
#include "support/log.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"

#include <chrono>

namespace flydsl::jit {

CachedKernel KernelCache::compile(mlir::ModuleOp module, const CompileOptions &asked,
                                  const Check &check) {
  CompileOptions options = asked;
  options.bitcode = readLinkedBitcode(module);
  auto start = std::chrono::steady_clock::now();
  cache::Key key = [&] {
    CompilerUse use; // a fork waits for it
    return irKey(module, options);
  }();
  double hashMs =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::string kernel = kernelName(module);

  CachedKernel result;
  if (options.dumpDir.empty()) {
    result = fetch(
        key, kernel, options.target, [&] { return compileModule(module, options); }, check);
  } else if (disk_.config().runOnly) {
    throw CompileError("FLYDSL_RUNTIME_RUN_ONLY and FLYDSL_DUMP_IR exclude each other: nothing is "
                       "compiled, so there is nothing to dump (kernel '" +
                       kernel + "')");
  } else {
    start = std::chrono::steady_clock::now();
    result.key = key;
    result.object = compiled([&] { return compileModule(module, options); });
    result.fetchMs =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    disk_.store(key, {encodeMetadata(*result.object), result.object->bytes});
  }
  result.hashMs = hashMs;
  support::log().debug("kernel {} {}: {} in {:.3f} ms, hashed in {:.3f} ms", kernel, key.hex(),
                       tierName(result.tier), result.fetchMs, result.hashMs);
  return result;
}

CachedKernel compileCached(mlir::ModuleOp module, const CompileOptions &options,
                           const KernelCache::Check &check) {
  return KernelCache::process().compile(module, options, check);
}

} // namespace flydsl::jit
