// The public function that compiles a module which was written elsewhere.
#include "jit/compile/compiler.h"
#include "jit/compile/module/bytecode_reader.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/read_module.h"
#include "jit/launch/build.h"
#include "jit/launch/choose_target.h"

#include <flydsl/compile_ir.h>

#include <mlir/IR/BuiltinOps.h>

FLYDSL_NAMESPACE_BEGIN

Executable compile_ir(std::string_view module, const CompileIrConfig &config,
                      const std::source_location &where) {
  if (const auto &block = config.hints.known_block_size; block[0] || block[1] || block[2])
    throw CompileError("compile_ir takes no hint known_block_size: a module says the size itself, "
                       "by known_block_size of its gpu.func",
                       where);
  const Target target = jit::chooseTarget(config.arch, where);
  const jit::CompileOptions options = jit::optionsFor(target, config.hints);
  std::string text;
  if (jit::isMlirBytecode(module) && !config.trusted)
    module = text = jit::bytecodeAsText(module, config.name, options.timeoutSeconds);
  jit::ContextLease context;
  auto read = jit::readModule(module, config.name, *context, options.timeoutSeconds);
  return Executable(jit::buildModule(*read, options));
}

FLYDSL_NAMESPACE_END
