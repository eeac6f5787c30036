// The public function that compiles a module which was written elsewhere.
#include "jit/compile/compiler.h"
#include "jit/compile/module/bytecode_reader.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/read_module.h"
#include "jit/launch/build.h"
#include "jit/launch/choose_target.h"

#include <flydsl/host/compile_ir.h>

#include <mlir/IR/BuiltinOps.h>

FLYDSL_NAMESPACE_BEGIN

Executable compile_ir(std::string_view module, const CompileIrConfig &config,
                      const std::source_location &where) {
  jit::refuseBlockHint(config.hints, "compile_ir", where);
  const Target target = jit::chooseTarget(config.arch, where);
  const jit::CompileOptions options = jit::optionsFor(target, config.hints);
  const std::string text =
      jit::readableModule(module, config.name, config.trusted, options.timeoutSeconds);
  jit::ContextLease context;
  auto read = jit::readModule(text, config.name, *context, options.timeoutSeconds);
  return Executable(jit::buildModule(*read, options));
}

FLYDSL_NAMESPACE_END
