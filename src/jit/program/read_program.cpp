// The passes that lower a kernel's layouts lower those of host functions too: they run over the
// module with the kernels' bodies taken out, which leaves what is small.
#include "jit/program/read_program.h"

#include "jit/binding/read_parameters.h"
#include "jit/compile/module/bytecode_reader.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/guarded_work.h"
#include "jit/compile/module/read_module.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace flydsl::jit {
namespace {

using namespace mlir;

constexpr const char *kHostPasses =
    "fly-rewrite-func-signature,fly-canonicalize,fly-layout-lowering,fly-int-swizzle-simplify,"
    "canonicalize";

bool launches(func::FuncOp function) {
  return function.walk([](gpu::LaunchFuncOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

std::string bytecode(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  (void)writeBytecodeToFile(module, stream);
  return bytes;
}

/// Leaves of each kernel its name and its parameters, which its launches are verified against.
void emptyKernels(ModuleOp module) {
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>())
    for (Operation &op : llvm::make_early_inc_range(*gpuModule.getBody())) {
      auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
      if (!kernel) {
        if (!isa<LLVM::LLVMFuncOp>(op)) // a module that is lowered already
          op.erase();
        continue;
      }
      Region &body = kernel.getBody();
      while (body.getBlocks().size() > 1) {
        for (Block &block : body)
          block.dropAllDefinedValueUses();
        body.back().erase();
      }
      Block &entry = body.front();
      entry.dropAllDefinedValueUses();
      entry.dropAllReferences();
      entry.clear();
      OpBuilder builder = OpBuilder::atBlockEnd(&entry);
      gpu::ReturnOp::create(builder, kernel.getLoc());
    }
}

void keepKernels(ModuleOp module) {
  for (func::FuncOp function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    function.erase();
}

/// What the guarded thread makes.
struct Split {
  OwningOpRef<ModuleOp> module;
  ProgramModule program;

  bool run() {
    std::vector<func::FuncOp> functions;
    for (auto function : module->getOps<func::FuncOp>())
      if (!function.isDeclaration() && launches(function))
        functions.push_back(function);
    if (functions.empty())
      return mlir::emitError(
                 module->getLoc(),
                 "no host function launches a kernel: a program is the module that FlyDSL writes "
                 "as 00_origin.mlir; compile_ir takes one of kernels alone"),
             false;
    for (func::FuncOp function : functions)
      if (!callsNothing(function))
        return false;
    if (!isa_and_nonnull<gpu::GPUModuleOp>(onlyGpuModule()))
      return false;
    for (func::FuncOp function : functions) {
      HostFunction &host = program.functions.emplace_back();
      host.name = function.getName().str();
      host.signature = Signature(readParameters(function.getArgumentTypes()));
    }
    OwningOpRef<ModuleOp> device = module->clone();
    keepKernels(*device);
    program.device = bytecode(*device);
    device = nullptr;
    emptyKernels(*module);
    if (!lower())
      return false;
    for (HostFunction &host : program.functions)
      if (!readSlots(host))
        return false;
    program.host = bytecode(*module);
    return true;
  }

private:
  /// What still is a call after reading has no body to put in its place.
  static bool callsNothing(func::FuncOp function) {
    return !function
                .walk([](func::CallOp call) {
                  call.emitError("'") << call.getCallee()
                                      << "' is declared, but has no body in this module; a host "
                                         "function calls functions of its module alone";
                  return WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  /// The one module with kernels; null after an error.
  Operation *onlyGpuModule() {
    Operation *found = nullptr;
    for (auto gpuModule : module->getOps<gpu::GPUModuleOp>()) {
      if (found) {
        gpuModule.emitError("a program has one gpu.module; this is a second one");
        return nullptr;
      }
      found = gpuModule;
    }
    if (!found)
      module->emitError("no gpu.module with the kernels that its functions launch");
    return found;
  }

  bool lower() {
    registerPasses();
    PassManager passes(module->getContext());
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (failed(parsePassPipeline(kHostPasses, passes, stream)))
      return module->emitError(message), false;
    return succeeded(passes.run(*module));
  }

  /// The arguments that the passes made of the function's parameters.
  bool readSlots(HostFunction &host) {
    auto function = module->lookupSymbol<func::FuncOp>(host.name);
    std::size_t bytes = 0;
    int streams = 0;
    for (const Parameter &parameter : host.signature.parameters) {
      if (parameter.kind == Parameter::Kind::stream)
        host.slots.push_back({{}, streams++, false});
      for (const Piece &piece : piecesOf(parameter, bytes)) {
        host.slots.push_back({piece, -1, false});
        bytes = piece.offset + piece.size;
      }
      if (parameter.kind == Parameter::Kind::unsupported)
        return true; // a call is refused, and tells why
    }
    if (host.slots.size() != function.getNumArguments())
      return function.emitError("its parameters have ")
                 << host.slots.size() << " parts, its lowered form takes "
                 << function.getNumArguments() << " arguments",
             false;
    for (auto [slot, argument] : llvm::zip_equal(host.slots, function.getArguments()))
      slot.decides = isa<IntegerType, FloatType, LLVM::LLVMStructType>(argument.getType()) &&
                     !llvm::all_of(argument.getUses(), isOperandOfKernel);
    return true;
  }

  static bool isOperandOfKernel(OpOperand &use) {
    auto launch = dyn_cast<gpu::LaunchFuncOp>(use.getOwner());
    if (!launch)
      return false;
    for (OpOperand &operand : launch.getKernelOperandsMutable())
      if (&operand == &use)
        return true;
    return false;
  }
};

} // namespace

ProgramModule readProgram(std::string_view module, const std::string &name, bool trusted,
                          unsigned timeoutSeconds) {
  const std::string text = readableModule(module, name, trusted, timeoutSeconds);
  ContextLease context;
  auto split = std::make_shared<Split>();
  split->program.name = name;
  split->module = readModule(text, name, *context, timeoutSeconds);
  runOnModule(*context, name, "lowering its host functions", timeoutSeconds,
              [split] { return split->run(); });
  return std::move(split->program);
}

} // namespace flydsl::jit
