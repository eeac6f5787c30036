// Values become constants, MLIR's canonicalizer folds what depends on them, loops of constant
// bounds are unrolled; then the function's one block is read from top to bottom.
#include "jit/program/evaluate.h"

#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/guarded_work.h"
#include "jit/compile/module/read_module.h"
#include "jit/program/read_launch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cstring>
#include <memory>

namespace flydsl::jit {
namespace {

using namespace mlir;

/// The most iterations of one loop that are unrolled.
constexpr std::uint64_t kMostIterations = 1024;

/// What the guarded thread reads and makes.
struct Evaluation {
  OwningOpRef<ModuleOp> module;
  HostFunction host;
  std::vector<std::byte> arguments;
  Plan plan;

  bool run() {
    auto function = module->lookupSymbol<func::FuncOp>(host.name);
    for (auto [slot, argument] : llvm::zip_equal(host.slots, function.getArguments()))
      if (slot.decides)
        substitute(argument, slot.piece.offset);
    return fold(function) && read(function);
  }

private:
  /// Puts constants in the place of a value, or of the fields that are taken out of it.
  void substitute(Value value, std::size_t at) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    const Type type = value.getType();
    if (isa<IntegerType, FloatType>(type)) {
      value.replaceAllUsesWith(
          arith::ConstantOp::create(builder, value.getLoc(), number(type, at)));
      return;
    }
    auto packed = dyn_cast<LLVM::LLVMStructType>(type);
    if (!packed) // an address stays what it is
      return;
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (auto field = dyn_cast<LLVM::ExtractValueOp>(user))
        substitute(field.getResult(), at + offsetInPacked(packed, field.getPosition()));
  }

  TypedAttr number(Type type, std::size_t at) const {
    const unsigned bits = type.getIntOrFloatBitWidth();
    std::uint64_t word = 0;
    std::memcpy(&word, arguments.data() + at, (bits + 7) / 8);
    const llvm::APInt value(bits, word, /*isSigned=*/false, /*implicitTrunc=*/true);
    if (auto floating = dyn_cast<FloatType>(type))
      return FloatAttr::get(type, llvm::APFloat(floating.getFloatSemantics(), value));
    return IntegerAttr::get(type, value);
  }

  static bool fold(func::FuncOp function) {
    PassManager passes(function.getContext(), func::FuncOp::getOperationName());
    passes.addPass(createCanonicalizerPass());
    for (;;) {
      if (failed(passes.run(function)))
        return false;
      scf::ForOp loop = constantLoop(function);
      if (!loop)
        return true;
      if (loop.getStaticTripCount()->ugt(kMostIterations))
        return loop.emitError("this loop of ")
                   << function.getName() << " would run "
                   << loop.getStaticTripCount()->getZExtValue() << " times; a host function's run "
                   << kMostIterations << " times at most",
               false;
      if (failed(loopUnrollFull(loop)))
        return loop.emitError("this loop can't be unrolled"), false;
    }
  }

  /// A loop of constant bounds that launches; null where there is none.
  static scf::ForOp constantLoop(func::FuncOp function) {
    scf::ForOp found;
    function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!loop.getStaticTripCount())
        return WalkResult::advance();
      found = loop;
      return WalkResult::interrupt();
    });
    return found;
  }

  bool read(func::FuncOp function) {
    if (!function.getBody().hasOneBlock())
      return function.emitError() << "'" << function.getName()
                                  << "' still branches with these arguments",
             false;
    LaunchReader reader(host, function);
    for (Operation &op : function.getBody().front()) {
      if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
        if (!reader.read(launch, plan.emplace_back()))
          return false;
      } else if (!isa<func::ReturnOp>(op) && !isPure(&op)) {
        return op.emitError() << "in '" << function.getName() << "': '" << op.getName()
                              << "' does not fold with these arguments, and a call does nothing "
                                 "but launch",
               false;
      }
    }
    return true;
  }
};

} // namespace

Plan evaluate(const ProgramModule &program, const HostFunction &function,
              std::span<const std::byte> arguments, unsigned timeoutSeconds) {
  ContextLease context;
  auto evaluation = std::make_shared<Evaluation>();
  evaluation->host = function;
  evaluation->arguments.assign(arguments.begin(), arguments.end());
  evaluation->module = readModule(program.host, program.name, *context, timeoutSeconds);
  runOnModule(*context, program.name, "evaluating " + function.name, timeoutSeconds,
              [evaluation] { return evaluation->run(); });
  return std::move(evaluation->plan);
}

} // namespace flydsl::jit
