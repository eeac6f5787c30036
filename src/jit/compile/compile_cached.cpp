// The one place where the cache meets the compiler.
#include "jit/compile/guard/compiler_use.h"
#include "jit/compile/ir_key.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/kernel_module.h"
#include "jit/compile/module/linked_bitcode.h"
#include "support/clock.h"
#include "support/log.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"

namespace flydsl::jit {

CachedKernel KernelCache::compile(mlir::ModuleOp module, const CompileOptions &asked,
                                  const Check &check) {
  CompileOptions options = asked;
  options.bitcode = readLinkedBitcode(module);
  auto start = support::Clock::now();
  cache::Key key = [&] {
    CompilerUse use; // exit() waits for it
    noteWork(module);
    return irKey(module, options);
  }();
  const double hashMs = support::millisecondsSince(start);
  std::string kernel = kernelName(module);

  CachedKernel result;
  if (options.dumpDir.empty()) {
    result =
        fetch(key, kernel, options.target, [&] { return compileModule(module, options); }, check);
  } else if (disk_.config().runOnly) {
    throw CompileError("FLYDSL_RUNTIME_RUN_ONLY and FLYDSL_DUMP_IR exclude each other: nothing is "
                       "compiled, so there is nothing to dump (kernel '" +
                       kernel + "')");
  } else {
    start = support::Clock::now();
    result.key = key;
    result.object = compiled([&] { return compileModule(module, options); });
    result.fetchMs = support::millisecondsSince(start);
    disk_.store(key, {encodeMetadata(*result.object), result.object->bytes});
  }
  result.hashMs = hashMs;
  support::log().debug("event=fetch kernel={} target={} key={} tier={} ms={:.3f} hash_ms={:.3f} "
                       "bytes={}",
                       kernel, options.target.id(), key.hex(), tierName(result.tier),
                       result.fetchMs, result.hashMs, result.object->bytes.size());
  return result;
}

CachedKernel compileCached(mlir::ModuleOp module, const CompileOptions &options,
                           const KernelCache::Check &check) {
  return KernelCache::process().compile(module, options, check);
}

} // namespace flydsl::jit
