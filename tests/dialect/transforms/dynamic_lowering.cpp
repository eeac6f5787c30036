// Runs the lowering of dynamic layouts: random operations with dynamic numbers become machine code
// by fly-layout-lowering. Their results for random numbers are compared with the algebra's own
// results for static numbers.
#include "made_code.h"
#include "random_algebra.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "layout/algebra.h"
#include "layout/error.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace mlir::fly;
using namespace flydsl::test;
namespace fl = flydsl::layout;

namespace {

/// The value with every dynamic number replaced: of operands by its symbol's value, of results by
/// the next output.
AlgebraValue withNumbers(const AlgebraValue &value,
                         const std::function<int64_t(const fl::Int &)> &number) {
  return mapLeaves(value, [&](const fl::Int &leaf) {
    return leaf.isDynamic() ? fl::Int(number(leaf)).withBasis(leaf.basis()) : leaf;
  });
}

/// Text that is equal for equal answers: tuples by their numbers, layouts by their values, for a
/// layout may be written in more than one way.
std::string meaning(const AlgebraValue &value) {
  if (auto *tuple = std::get_if<fl::IntTuple>(&value))
    return tuple->str();
  if (auto *scalar = std::get_if<ScalarValue>(&value))
    return std::to_string(scalar->value.value());
  const auto &layout = std::get<fl::Layout>(value);
  int64_t size = fl::size(layout).value();
  std::string text = std::to_string(size) + ":";
  int64_t step = std::max<int64_t>(1, size / 64);
  for (int64_t i = 0; i < size; i += step)
    text += " " + fl::crd2idx(fl::IntTuple(i), layout).str();
  return text;
}

/// Whether modes of the outer layout of a composition happen to join under these numbers. Then
/// there may be an answer where the modes by themselves, which is what the dynamic form has,
/// promise none.
bool joinsByChance(Operation *op, ArrayRef<AlgebraValue> operands) {
  const auto *outer = isa<CompositionOp>(op) ? std::get_if<fl::Layout>(&operands[0]) : nullptr;
  if (!outer)
    return false;
  auto countOf = [](const fl::Layout &layout) {
    auto shapes = layout.shape().leaves();
    return llvm::count_if(shapes, [](const fl::Int &n) { return n.value() != 1; });
  };
  return countOf(fl::coalesce(*outer)) < countOf(*outer);
}

struct Fixture {
  MLIRContext context;
  Fixture() : context(MLIRContext::Threading::DISABLED) {
    DialectRegistry registry;
    registry.insert<FlyDialect, arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  }
};

} // namespace

TEST_CASE("random operations compute what the algebra says", "[passes]") {
  constexpr int kModules = 40, kFunctions = 60, kRunsEach = 8;
  Fixture fixture;
  std::mt19937_64 random(20240917);
  int64_t compared = 0, functions = 0;
  for (int m = 0; m < kModules; ++m) {
    OpBuilder builder(&fixture.context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
    std::vector<Case> cases;
    {
      // Operations that are not admissible say so; another one is drawn.
      ScopedDiagnosticHandler quiet(&fixture.context, [](Diagnostic &) { return success(); });
      for (int i = 0; static_cast<int>(cases.size()) < kFunctions && i < 10 * kFunctions; ++i) {
        Case drawn;
        if (addRandomCase(builder, *module, random, "f" + std::to_string(cases.size()), drawn))
          cases.push_back(std::move(drawn));
      }
    }
    REQUIRE(succeeded(verify(*module)));

    // What the algebra says, before the operations are gone.
    struct Run {
      std::vector<int64_t> in;
      std::string expected;
    };
    std::vector<std::vector<Run>> runs(cases.size());
    for (size_t c = 0; c < cases.size(); ++c) {
      ScopedDiagnosticHandler quiet(&fixture.context, [](Diagnostic &) { return success(); });
      for (int r = 0; r < kRunsEach; ++r) {
        Run run;
        for (size_t i = 0; i < cases[c].divisors.size(); ++i) {
          int64_t d = cases[c].divisors[i];
          int64_t number = d * (1 + static_cast<int64_t>(random() % (cases[c].largest[i] / d)));
          run.in.push_back(cases[c].negative[i] && random() % 2 ? -number : number);
        }
        SmallVector<AlgebraValue> operands, results;
        for (const AlgebraValue &operand : cases[c].operands)
          operands.push_back(withNumbers(
              operand, [&](const fl::Int &leaf) { return run.in[leaf.expr()->symbol()]; }));
        // Numbers that break what the operation takes for granted are no case.
        try {
          if (!joinsByChance(cases[c].op, operands) &&
              succeeded(cases[c].op.evaluate(operands, results))) {
            run.expected = meaning(results.front());
            runs[c].push_back(std::move(run));
          }
        } catch (const fl::LayoutError &) {
        }
      }
    }

    PassManager passes(&fixture.context);
    passes.addPass(createFlyLayoutLoweringPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertFuncToLLVMPass());
    passes.addPass(createReconcileUnrealizedCastsPass());
    REQUIRE(succeeded(passes.run(*module)));
    ExecutionEngineOptions options;
    options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
    auto engine = ExecutionEngine::create(*module, options);
    REQUIRE(static_cast<bool>(engine));

    for (size_t c = 0; c < cases.size(); ++c) {
      ++functions;
      auto function = (*engine)->lookup(cases[c].name);
      REQUIRE(static_cast<bool>(function));
      for (const Run &run : runs[c]) {
        std::vector<int64_t> out(64, INT64_MIN);
        callMade<void>(*function, run.in.data(), out.data());
        size_t next = 0;
        AlgebraValue got =
            withNumbers(cases[c].result, [&](const fl::Int &) { return out[next++]; });
        INFO(cases[c].text);
        INFO("numbers: " << Catch::Detail::stringify(run.in));
        REQUIRE(meaning(got) == run.expected);
        ++compared;
      }
    }
  }
  WARN(functions << " functions, " << compared << " comparisons");
  REQUIRE(compared >= 10000);
}
