#include "ir_target.h"

#include "Registry.h"
#include "jit/compile/module/module_text.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace flydsl::fuzz {

namespace {

/// Types are never freed before their context, so that it is replaced every now and then.
constexpr int kModulesPerContext = 500;

constexpr const char *kPasses =
    "fly-rewrite-func-signature,fly-canonicalize,fly-layout-lowering,fly-int-swizzle-simplify,"
    "canonicalize,fly-convert-atom-call-to-ssa-form,fly-promote-regmem-to-vectorssa{pieces=true},"
    "convert-fly-to-rocdl,canonicalize,fly-split-addresses,cse";

/// Fragments in register memory, which the passes before leave none of, go another way.
constexpr const char *kShortWay = "fly-layout-lowering,convert-fly-to-rocdl";

mlir::MLIRContext &context() {
  static const bool registered = (tools::registerPasses(), true);
  (void)registered;
  static std::unique_ptr<mlir::MLIRContext> current;
  static int used = 0;
  if (!current || ++used > kModulesPerContext) {
    mlir::DialectRegistry registry;
    tools::registerDialects(registry);
    current = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    used = 0;
  }
  return *current;
}

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

[[noreturn]] void fail(const char *what, const std::string &text) {
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void run(const char *pipeline, mlir::ModuleOp module) {
  mlir::PassManager passes(module->getContext());
  if (failed(mlir::parsePassPipeline(pipeline, passes)))
    fail("no such passes", pipeline);
  (void)passes.run(module);
}

} // namespace

void runIR(std::string_view text) {
  if (jit::problemWithText(text)) // the library shows MLIR no such text
    return;
  mlir::MLIRContext &ctx = context();
  mlir::ScopedDiagnosticHandler quiet(&ctx, [](mlir::Diagnostic &) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text), &ctx);
  if (!module)
    return;
  std::string printed = print(*module);
  auto again = mlir::parseSourceString<mlir::ModuleOp>(printed, &ctx);
  if (!again)
    fail("what was printed does not parse", printed);
  if (print(*again) != printed)
    fail("what was printed prints differently", printed);

  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(mlir::writeBytecodeToFile(*module, stream)))
    fail("bytecode can't be written", printed);
  auto read = mlir::parseSourceString<mlir::ModuleOp>(bytes, &ctx);
  if (!read || print(*read) != printed)
    fail("bytecode reads differently", printed);

  run(kPasses, *module);
  run(kShortWay, *again);
}

} // namespace flydsl::fuzz
