// One compile from the first pass to the code object. It runs on a guarded thread: a failure of any
// kind becomes a CompileError that says what was going on.
#include "jit/compile/compiler.h"

#include "jit/compile/backends/backends.h"
#include "jit/compile/codegen/codegen.h"
#include "jit/compile/codegen/llvm_options.h"
#include "jit/compile/guard/guard.h"
#include "jit/compile/guard/memory.h"
#include "jit/compile/module/compile_diagnostics.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/kernel_module.h"
#include "jit/compile/module/linked_bitcode.h"
#include "jit/compile/module/print_module.h"
#include "jit/compile/options/dump.h"
#include "jit/compile/pipeline.h"
#include "jit/compile/reproducer.h"
#include "support/clock.h"
#include "support/log.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <atomic>

namespace flydsl::jit {

namespace {

/// One compile. Shared by the caller and the guarded thread, which may outlive the caller's
/// patience.
struct Compile {
  CompileOptions options;
  const Backend &backend;
  std::string kernel;
  Dump dump;
  CompileDiagnostics diagnostics;
  std::atomic<const char *> phase{"starting"}; ///< what is going on; static strings
  std::atomic<bool> inMlir{true};              ///< the caller's MLIR context is in use
  std::string failedPass;
  llvm::Module *llvmModule = nullptr; ///< for a dump after a failure of LLVM
  CodeObject object;
  bool done = false;

  Compile(const CompileOptions &options, std::string kernel)
      : options(options), backend(backendFor(options.target)), kernel(std::move(kernel)),
        dump(options.dumpDir, this->kernel) {}

  void run(mlir::ModuleOp source, Guard &guard);

private:
  /// What LLVM makes of the module; empty if something went wrong.
  llvm::SmallVector<char, 0> generate(mlir::ModuleOp source, TargetMachineLease &machine,
                                      Guard &guard);
  std::unique_ptr<llvm::Module> lower(mlir::ModuleOp source, llvm::LLVMContext &context,
                                      llvm::TargetMachine &machine, Guard &guard);
  bool verify(const llvm::Module &module);
};

/// Checks the module. Nothing before has checked the intrinsics that the IR calls by name, and LLVM
/// crashes on wrong ones.
bool Compile::verify(const llvm::Module &module) {
  phase = "verifying LLVM IR";
  llvm::raw_string_ostream stream(diagnostics.errors);
  return !llvm::verifyModule(module, &stream);
}

std::unique_ptr<llvm::Module> Compile::lower(mlir::ModuleOp source, llvm::LLVMContext &context,
                                             llvm::TargetMachine &machine, Guard &guard) {
  CollectMlirDiagnostics collect(source.getContext(), diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    support::Timer timer(object.times.passes);
    phase = "lowering";
    source.getContext()->loadAllAvailableDialects();
    if (options.verify && mlir::failed(source.verify()))
      return nullptr;
    module = source.clone();
    PipelineResult result = runPipeline(*module, options, dump, guard);
    if (!result.ok) {
      failedPass = result.failedPass;
      return nullptr;
    }
    noteWork(*module);
  }
  support::Timer timer(object.times.translate);
  phase = "translating to LLVM IR";
  mlir::Operation *gpuModule = findGpuModule(*module);
  if (gpuModule)
    diagnostics.shared = sharedUses(gpuModule, backend.sharedAddressSpace());
  return gpuModule ? translate(gpuModule, context, machine, backend, options) : nullptr;
}

llvm::SmallVector<char, 0> Compile::generate(mlir::ModuleOp source, TargetMachineLease &machine,
                                             Guard &guard) {
  // On the heap, where a module that LLVM crashed over can still be printed when this thread and
  // its stack are gone.
  auto context = std::make_unique<llvm::LLVMContext>();
  context->setDiagnosticHandler(collectLlvmDiagnostics(diagnostics));
  std::unique_ptr<llvm::Module> module = lower(source, *context, *machine, guard);
  inMlir = false;
  if (!module)
    return {};
  llvmModule = module.get();
  if (options.verify && !verify(*module))
    return {};
  guard.allowAbandon();
  if (dump.enabled())
    dump.write("llvm_ir", "ll", printed(*module));
  {
    support::Timer timer(object.times.optimize);
    phase = "optimizing LLVM IR";
    optimize(*module, *machine, options);
    backend.finish(*module, *machine);
    guard.checkDeadline();
  }
  if (dump.enabled()) {
    dump.write("llvm_ir_optimized", "ll", printed(*module));
    phase = "printing the ISA";
    llvm::SmallString<0> assembly;
    if (emit(*llvm::CloneModule(*module), machine, backend, options, /*assembly=*/true, assembly))
      dump.write("final_isa", "s", {assembly.data(), assembly.size()});
  }
  support::Timer timer(object.times.codegen);
  phase = "generating code";
  llvm::SmallVector<char, 0> code;
  const bool emitted = backend.emit(*module, machine, options, code);
  llvmModule = nullptr;
  if (!emitted && !diagnostics.failed())
    diagnostics.errors = "the target can't emit objects";
  if (diagnostics.failed())
    code.clear();
  return code;
}

void Compile::run(mlir::ModuleOp source, Guard &guard) {
  llvm::SmallVector<char, 0> code;
  {
    TargetMachineLease machine(backend, options);
    runAbandoning([&] { code = generate(source, machine, guard); });
  }
  if (code.empty())
    return;
  support::Timer timer(object.times.link);
  guard.forbidInterrupt(); // LLD's state is the process's
  phase = "linking";
  CompileTimes times = object.times;
  object = backend.describe(backend.link(code, options.target));
  object.times = times;
  // A feature that the options leave open reads back as the default of the processor, but the
  // code runs with either value.
  object.target = options.target.id();
  done = true;
}

[[noreturn]] void fail(Compile &compile, mlir::ModuleOp source, const GuardOutcome &outcome) {
  // After a crash or a time-out the thread that wrote the diagnostics is not waited for any more.
  const bool readable =
      outcome.kind == GuardOutcome::finished || outcome.kind == GuardOutcome::threw;
  if (compile.inMlir && (!readable || outcome.ranOutOfMemory()))
    abandonContext(*source.getContext());
  if (outcome.kind == GuardOutcome::exiting)
    throw CompileError("compiling kernel '" + compile.kernel + "' was given up: the process exits");
  std::string what = outcome.kind == GuardOutcome::finished && !compile.failedPass.empty()
                         ? "pass '" + compile.failedPass + "' failed"
                         : describe(outcome, compile.phase.load(), compile.options.timeoutSeconds);
  if (outcome.kind == GuardOutcome::finished && compile.failedPass == kRegisterReadsStage)
    throw TraceError("kernel '" + compile.kernel + "': " + compile.diagnostics.first,
                     compile.diagnostics.where);
  if (readable && compile.diagnostics.failed())
    what += ":\n" + compile.diagnostics.errors;
  // A module that a time-out left half changed is not printed: its thread may still be at work.
  bool llvmFailed = outcome.kind == GuardOutcome::fatal || outcome.kind == GuardOutcome::crashed;
  std::string file;
  try {
    if (!outcome.ranOutOfMemory()) // it is no fault of the module
      file = writeReproducer(source, compile.options, compile.kernel,
                             llvmFailed ? compile.llvmModule : nullptr);
  } catch (const Error &) {
    // The compiler can't be used any more. What went wrong first is what is told.
  }
  std::string message =
      "compiling kernel '" + compile.kernel + "' for " + compile.options.target.id() + ": " + what;
  if (!file.empty())
    message += "\nreproducer: " + file;
  throw CompileError(message, readable ? compile.diagnostics.where : SourceLocation());
}

} // namespace

std::string problemWith(const CompileOptions &options) {
  const Backend &backend = backendFor(options.target);
  std::string problem = backend.problemWith(options);
  for (const auto &[name, value] : options.attributes)
    if (problem.empty())
      problem = backend.problemWithAttribute(name, value, options.target);
  return problem.empty() ? problemWithLlvmOptions(options.llvmOptions) : problem;
}

std::shared_ptr<const CodeObject> compileModule(mlir::ModuleOp module,
                                                const CompileOptions &options) {
  const std::string kernel = kernelName(module);
  expectMemory(kCompilerMemory, "compiling kernel '" + kernel + "'");
  auto compile = std::make_shared<Compile>(options, kernel);
  if (options.bitcode.empty())
    compile->options.bitcode = readLinkedBitcode(module);
  const LlvmOptionsScope llvmOptions(options.llvmOptions);
  GuardOutcome outcome = runGuarded(
      [compile, module](Guard &guard) { compile->run(module, guard); }, options.timeoutSeconds);
  if (outcome.kind != GuardOutcome::finished || !compile->done)
    fail(*compile, module, outcome);
  const CompileTimes &times = compile->object.times;
  support::log().debug("event=compile kernel={} target={} passes_ms={:.2f} translation_ms={:.2f} "
                       "llvm_ms={:.2f} codegen_ms={:.2f} link_ms={:.2f}",
                       compile->kernel, options.target.id(), times.passes, times.translate,
                       times.optimize, times.codegen, times.link);
  return std::make_shared<const CodeObject>(std::move(compile->object));
}

} // namespace flydsl::jit
