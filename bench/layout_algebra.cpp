// The layout algebra in nanoseconds per operation, and its growth with rank and depth. Layouts are
// static, or have dynamic parts with types alone (`?` without an expression, as in type inference),
// or with expressions.
#include "layout/divide.h"
#include "layout/make.h"
#include "layout/product.h"
#include "layout/text.h"
#include "layout/tiled.h"

#include <benchmark/benchmark.h>

using namespace flydsl::layout;

namespace {

enum Kind { Static, Types, Expressions };

/// The same layout with symbols for its dynamic leaves, or static (64 for shapes and strides
/// alike).
Layout layoutOf(const char *text, int kind) {
  uint64_t next = 0;
  return mapLeaves(parseLayout(text), [&](const Int &v) {
    if (!v.isDynamic() || kind == Types)
      return v;
    if (kind == Static)
      return Int(64);
    return Int::symbol(next++, v.width(), v.divisibility(), ValueRange::nonNegative());
  });
}

void kinds(benchmark::internal::Benchmark *b) {
  b->ArgName("kind")->Arg(Static)->Arg(Types)->Arg(Expressions);
}

void crd2idxOfMatrix(benchmark::State &state) {
  Layout l = layoutOf("(?,(4,?)):(?{i64},(1,?{div=4}))", int(state.range(0)));
  IntTuple coord = tup(3, tup(1, 2));
  for (auto _ : state)
    benchmark::DoNotOptimize(crd2idx(coord, l));
}
BENCHMARK(crd2idxOfMatrix)->Apply(kinds);

void idx2crdOfMatrix(benchmark::State &state) {
  Layout l = layoutOf("(?,(4,?)):(1,(64,256))", int(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(idx2crd(1234, l));
}
BENCHMARK(idx2crdOfMatrix)->Apply(kinds);

void flatDivideByTile(benchmark::State &state) {
  Layout l = layoutOf("(?,?):(?{i64},1)", int(state.range(0)));
  Tile tile = Tile::list({8, 64});
  for (auto _ : state)
    benchmark::DoNotOptimize(flatDivide(l, tile));
}
BENCHMARK(flatDivideByTile)->Apply(kinds);

void sliceOfTiles(benchmark::State &state) {
  Layout l = layoutOf("(8,64,?,?):(?{i64},1,?{i64 div=8},64)", int(state.range(0)));
  IntTuple coord = tup(Int::wildcard(), Int::wildcard(), 3, 5);
  for (auto _ : state) {
    benchmark::DoNotOptimize(slice(l, coord));
    benchmark::DoNotOptimize(crd2idx(coord, l));
  }
}
BENCHMARK(sliceOfTiles)->Apply(kinds);

void partitionOfVectorAdd(benchmark::State &state) {
  Layout tv(tup(1, 4), tup(1, 1));
  TiledCopy copy = makeTiledCopyTV({Layout(1, 1), tv, tv, tv}, parseLayout("(8,16):(16,1)"),
                                   parseLayout("(1,4):(1,1)"));
  Layout l = layoutOf("(8,64):(?{i64},1)", int(state.range(0)));
  IntTuple thread = state.range(0) == Expressions ? Int::symbol(9) : Int::dynamic();
  for (auto _ : state)
    benchmark::DoNotOptimize(partitionSrc(copy, l, thread));
}
BENCHMARK(partitionOfVectorAdd)->Apply(kinds);

void partitionOfMfma(benchmark::State &state) {
  MmaAtom atom{tup(16, 16, 16), Layout(64, 1), parseLayout("((16,4),4):((1,64),16)"),
               parseLayout("((16,4),4):((1,64),16)"),
               parseLayout("((16,4),(4,1)):((16,4),(1,16))")};
  TiledMma mma{atom, parseLayout("(2,2,1):(1,2,0)")};
  Layout l = layoutOf("(128,64):(?{i64},1)", int(state.range(0)));
  IntTuple thread = state.range(0) == Expressions ? Int::symbol(9) : Int::dynamic();
  for (auto _ : state)
    benchmark::DoNotOptimize(partition(mma, MmaOperand::A, l, thread));
}
BENCHMARK(partitionOfMfma)->Apply(kinds);

// --- Static operations on layouts of real kernels ---

template <class F> void measure(benchmark::State &state, F &&op) {
  for (auto _ : state)
    benchmark::DoNotOptimize(op());
}

void compositionOfPair(benchmark::State &state) {
  Layout a = parseLayout("((8,4),(4,16)):((16,512),(128,1))"), b = parseLayout("(128,16):(1,128)");
  measure(state, [&] { return composition(a, b); });
}
BENCHMARK(compositionOfPair);

void complementOfPair(benchmark::State &state) {
  Layout a = parseLayout("(2,2,4):(1,6,24)");
  measure(state, [&] { return complement(a, 960); });
}
BENCHMARK(complementOfPair);

void rightInverseOfTile(benchmark::State &state) {
  Layout a = parseLayout("((1,8),(4,16)):((0,16),(128,1))");
  measure(state, [&] { return rightInverse(a); });
}
BENCHMARK(rightInverseOfTile);

void rakedProductOfTile(benchmark::State &state) {
  Layout a = parseLayout("(8,16):(16,1)"), b = parseLayout("(1,4):(1,1)");
  measure(state, [&] { return rakedProduct(a, b); });
}
BENCHMARK(rakedProductOfTile);

void makeLayoutTVOfTile(benchmark::State &state) {
  Layout a = parseLayout("(8,16):(16,1)"), b = parseLayout("(1,4):(1,1)");
  measure(state, [&] { return makeLayoutTV(a, b); });
}
BENCHMARK(makeLayoutTVOfTile);

void parseOfLayout(benchmark::State &state) {
  measure(state, [] { return parseLayout("((16,8),4,?{i64 div=8}):((32,1),8,?)"); });
}
BENCHMARK(parseOfLayout);

void printOfLayout(benchmark::State &state) {
  Layout a = parseLayout("((16,8),4,?{i64 div=8}):((32,1),8,?)");
  measure(state, [&] { return a.str(); });
}
BENCHMARK(printOfLayout);

// --- Growth ---

/// A layout of `rank` modes of size 2, compact.
Layout wide(int64_t rank) {
  std::vector<IntTuple> shape(static_cast<size_t>(rank), IntTuple(2));
  return makeLayout(IntTuple::tuple(shape));
}

/// (2,(2,(2,...))), `depth` deep.
Layout deep(int64_t depth) {
  IntTuple shape = 2;
  for (int64_t i = 0; i < depth; ++i)
    shape = tup(2, shape);
  return makeLayout(shape);
}

void crd2idxByRank(benchmark::State &state) {
  Layout l = wide(state.range(0));
  measure(state, [&] { return crd2idx(1, l); });
  state.SetComplexityN(state.range(0));
}
BENCHMARK(crd2idxByRank)->RangeMultiplier(2)->Range(2, 32)->Complexity();

void compositionByRank(benchmark::State &state) {
  Layout a = wide(state.range(0));
  std::vector<IntTuple> order;
  for (int64_t i = state.range(0); i > 0; --i)
    order.emplace_back(i);
  Layout outer = makeOrderedLayout(a.shape(), IntTuple::tuple(order));
  measure(state, [&] { return composition(outer, a); });
  state.SetComplexityN(state.range(0));
}
BENCHMARK(compositionByRank)->RangeMultiplier(2)->Range(2, 32)->Complexity();

void compositionByDepth(benchmark::State &state) {
  Layout a = deep(state.range(0));
  measure(state, [&] { return composition(a, a); });
  state.SetComplexityN(state.range(0));
}
BENCHMARK(compositionByDepth)->RangeMultiplier(2)->Range(2, 32)->Complexity();

void coalesceByDepth(benchmark::State &state) {
  Layout a = deep(state.range(0));
  measure(state, [&] { return coalesce(a); });
  state.SetComplexityN(state.range(0));
}
BENCHMARK(coalesceByDepth)->RangeMultiplier(2)->Range(2, 32)->Complexity();

} // namespace

BENCHMARK_MAIN();
