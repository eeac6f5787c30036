// The Fly dialect: inference and folding per operation, types, parsing, and the lowering of a
// module as large as an unrolled GEMM's.
#include "Registry.h"

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "layout/text.h"

#include <benchmark/benchmark.h>

#include <string>

using namespace mlir;
using namespace mlir::fly;

namespace {

MLIRContext &context() {
  static MLIRContext *ctx = [] {
    DialectRegistry registry;
    flydsl::tools::registerDialects(registry);
    flydsl::tools::registerPasses();
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *ctx;
}

LayoutType layoutType(const std::string &text) {
  return LayoutType::get(&context(), flydsl::layout::parseLayout(text));
}

/// `((2,2,...):(1,2,...))` of `rank` modes, nested `depth` times around the last.
std::string powers(int rank, int depth) {
  std::string shape, stride;
  for (int i = 0; i < rank; ++i) {
    shape += (i ? ",2" : "2");
    stride += (i ? "," : "") + std::to_string(1LL << i);
  }
  for (int d = 1; d < depth; ++d) {
    shape = "(" + shape + "),1";
    stride = "(" + stride + "),0";
  }
  return "(" + shape + "):(" + stride + ")";
}

/// Creates `Op` with inferred type over operands of the given types, and erases it.
template <class Op> void create(benchmark::State &state, std::vector<Type> types) {
  Location loc = UnknownLoc::get(&context());
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Block block;
  SmallVector<Value> operands;
  for (Type type : types)
    operands.push_back(block.addArgument(type, loc));
  for (auto _ : state) {
    OperationState op(loc, Op::getOperationName());
    Op::build(builder, op, operands);
    builder.create(op)->erase();
  }
}

void inferComposition(benchmark::State &state) {
  std::string text = powers(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  create<CompositionOp>(state, {layoutType(text), layoutType("(4,2):(2,1)")});
}
BENCHMARK(inferComposition)
    ->ArgNames({"rank", "depth"})
    ->Args({4, 1})
    ->Args({16, 1})
    ->Args({60, 1})
    ->Args({4, 4})
    ->Args({4, 16})
    ->Args({4, 60});

/// Folds an operation over static operands that exist already.
template <class Op> void fold(benchmark::State &state, std::vector<Type> types) {
  Location loc = UnknownLoc::get(&context());
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Value> operands;
  for (Type type : types)
    operands.push_back(StaticOp::create(builder, loc, type));
  OperationState op(loc, Op::getOperationName());
  Op::build(builder, op, operands);
  Operation *made = builder.create(op);
  for (auto _ : state) {
    SmallVector<OpFoldResult> results;
    if (failed(made->fold(results)))
      state.SkipWithError("it does not fold");
    benchmark::DoNotOptimize(results);
  }
}

void foldComposition(benchmark::State &state) {
  fold<CompositionOp>(state, {layoutType("(8,16):(1,8)"), layoutType("(4,2):(2,1)")});
}
BENCHMARK(foldComposition);

void inferSize(benchmark::State &state) {
  create<SizeOp>(state, {layoutType("((4,8),16):((1,4),32)")});
}
BENCHMARK(inferSize);

void inferComplement(benchmark::State &state) {
  create<ComplementOp>(state, {layoutType("((4,8),16):((1,4),64)"),
                               IntTupleType::get(&context(), flydsl::layout::IntTuple(8192))});
}
BENCHMARK(inferComplement);

void inferRakedProduct(benchmark::State &state) {
  create<RakedProductOp>(state, {layoutType("(8,16):(16,1)"), layoutType("(1,4):(1,1)")});
}
BENCHMARK(inferRakedProduct);

void inferDynamicDivide(benchmark::State &state) {
  Type tile = TileType::get(&context(), flydsl::layout::parseTile("[8|64]"));
  create<ZippedDivideOp>(state, {layoutType("(?,?):(?{i64},1)"), tile});
}
BENCHMARK(inferDynamicDivide);

void inferCrd2Idx(benchmark::State &state) {
  Type coord = IntTupleType::get(&context(), flydsl::layout::parseIntTuple("(?,?)"));
  create<Crd2IdxOp>(state, {coord, layoutType("((4,8),16):((1,?),?{div=8})")});
}
BENCHMARK(inferCrd2Idx);

void uniqueType(benchmark::State &state) {
  flydsl::layout::Layout layout = flydsl::layout::parseLayout(powers(8, 2));
  for (auto _ : state)
    benchmark::DoNotOptimize(LayoutType::get(&context(), layout));
}
BENCHMARK(uniqueType);

/// A kernel with `loads` loads from a block's tile, each at a coordinate of its own.
std::string gemmLikeModule(int64_t loads) {
  std::string body =
      "func.func @f(%a: !fly.memref<f16, global, (?,?):(?{i64},1)>, %i: i32, %j: i32) -> f16 {\n"
      "  %t = fly.static : !fly.tile<[128|64]>\n"
      "  %d = fly.flat_divide(%a, %t) : (!fly.memref<f16, global, (?,?):(?{i64},1)>, "
      "!fly.tile<[128|64]>) -> !fly.memref<f16, global, (128,64,?,?):(?{i64},1,?{i64 "
      "div=128},64)>\n"
      "  %b = fly.make_int_tuple(%i, %j) : (i32, i32) -> !fly.int_tuple<(*,*,?,?)>\n"
      "  %s = fly.slice(%d, %b) : (!fly.memref<f16, global, (128,64,?,?):(?{i64},1,?{i64 div=128},"
      "64)>, !fly.int_tuple<(*,*,?,?)>) -> !fly.memref<f16, global, (128,64):(?{i64},1)>\n"
      "  %z = arith.constant 0.0 : f16\n";
  std::string last = "%z";
  for (int64_t n = 0; n < loads; ++n) {
    std::string k = std::to_string(n);
    std::string coord =
        "!fly.int_tuple<(" + std::to_string(n / 64) + "," + std::to_string(n % 64) + ")>";
    body += "  %c" + k + " = fly.make_int_tuple() : () -> " + coord + "\n  %v" + k +
            " = fly.memref.load(%s, %c" + k +
            ") : (!fly.memref<f16, global, (128,64):(?{i64},1)>, " + coord + ") -> f16\n  %s" + k +
            " = arith.addf " + last + ", %v" + k + " : f16\n";
    last = "%s" + k;
  }
  return body + "  return " + last + " : f16\n}\n";
}

void parseModule(benchmark::State &state) {
  std::string text = gemmLikeModule(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(*parseSourceString<ModuleOp>(text, &context()));
}
BENCHMARK(parseModule)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Times only the passes, neither copying the module nor dropping the copy.
void timePasses(benchmark::State &state, ModuleOp module, PassManager &passes) {
  for (auto _ : state) {
    state.PauseTiming();
    OwningOpRef<ModuleOp> copy = module.clone();
    state.ResumeTiming();
    if (failed(passes.run(*copy)))
      state.SkipWithError("the passes failed");
    state.PauseTiming();
    copy = nullptr;
    state.ResumeTiming();
  }
}

void lowerModule(benchmark::State &state) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(gemmLikeModule(state.range(0)), &context());
  PassManager passes(&context());
  if (!module || failed(parsePassPipeline("fly-rewrite-func-signature,fly-canonicalize,"
                                          "fly-layout-lowering,canonicalize",
                                          passes))) {
    state.SkipWithError("no module or no passes");
    return;
  }
  timePasses(state, *module, passes);
}
BENCHMARK(lowerModule)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Runs sample 04's kernel through the passes of one step: all of them, or one that comes after
/// others.
void lowerGemm(benchmark::State &state, const char *before, const char *timed) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(FLYDSL_BENCH_GEMM, &context());
  PassManager prepare(&context()), passes(&context());
  if (!module || failed(parsePassPipeline(before, prepare)) ||
      failed(parsePassPipeline(timed, passes)) || failed(prepare.run(*module))) {
    state.SkipWithError("no module or no passes");
    return;
  }
  timePasses(state, *module, passes);
}
BENCHMARK_CAPTURE(lowerGemm, layout_lowering, "fly-rewrite-func-signature,fly-canonicalize",
                  "fly-layout-lowering")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(
    lowerGemm, all, "",
    "fly-rewrite-func-signature,fly-canonicalize,fly-layout-lowering,fly-int-swizzle-simplify,"
    "canonicalize,fly-convert-atom-call-to-ssa-form,fly-promote-regmem-to-vectorssa{pieces=true},"
    "convert-fly-to-rocdl,canonicalize")
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
