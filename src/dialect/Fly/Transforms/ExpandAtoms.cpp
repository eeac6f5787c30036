// fly.copy and fly.gemm as atom calls.

#include "dialect/Fly/Transforms/AlgebraLowering.h"

#include "layout/algebra.h"
#include "layout/checked.h"
#include "layout/coord.h"

#include <array>

namespace mlir::fly {

using namespace flydsl::layout;
using flydsl::layout::fail;

namespace {

/// The atom of a tiled operation, or the atom itself.
FailureOr<Value> atomOf(Operation *op, Value atom) {
  if (isa<CopyAtomType, MmaAtomType>(atom.getType()))
    return atom;
  if (auto tiled = atom.getDefiningOp<MakeTiledCopyOp>())
    return tiled.getCopyAtom();
  if (auto tiled = atom.getDefiningOp<MakeTiledMmaOp>())
    return tiled.getMmaAtom();
  OpBuilder builder(op);
  if (auto tiled = dyn_cast<TiledCopyType>(atom.getType());
      tiled && isStaticType(tiled.getCopyAtom()))
    return Value(StaticOp::create(builder, op->getLoc(), tiled.getCopyAtom()));
  if (auto tiled = dyn_cast<TiledMmaType>(atom.getType());
      tiled && isStaticType(tiled.getMmaAtom()))
    return Value(StaticOp::create(builder, op->getLoc(), tiled.getMmaAtom()));
  if (isa<TiledCopyType>(atom.getType()))
    return Value(GetCopyAtomOp::create(builder, op->getLoc(), atom));
  if (isa<TiledMmaType>(atom.getType()))
    return Value(GetMmaAtomOp::create(builder, op->getLoc(), atom));
  return op->emitOpError("can't tell the atom of a value of type ") << atom.getType();
}

/// The part of a tensor at `coord` of its modes from 1 on: its mode 0.
SymbolicValue partAt(const SymbolicValue &tensor, const IntTuple &coord) {
  const MemRefValue &memref = *tensor.asMemRef();
  const Layout &linear = outermost(memref.layout);
  Layout rest = take(linear, 1, linear.rank());
  return {movedBy(memref, crd2idx(coord, rest), linear.at(0)), tensor.base, {}};
}

SymbolicValue modeZero(const SymbolicValue &tensor) {
  const MemRefValue &memref = *tensor.asMemRef();
  return {
      MemRefValue{memref.iterator, withOutermost(memref.layout, outermost(memref.layout).at(0))},
      tensor.base,
      {}};
}

/// Predicates that have one value for all of mode 0 get such a mode.
SymbolicValue withUnitMode(const SymbolicValue &pred) {
  const MemRefValue &memref = *pred.asMemRef();
  AnyLayout layout = withOutermost(memref.layout, prepend(outermost(memref.layout), Layout(1, 0)));
  return {MemRefValue{memref.iterator, layout}, pred.base, {}};
}

const Layout &linearOf(const SymbolicValue &tensor) { return outermost(tensor.asMemRef()->layout); }

int64_t staticSize(const IntTuple &shape, const char *what) {
  Int n = product(shape);
  if (!n.isStatic())
    fail(what, " needs a static shape, not ", shape);
  return n.value();
}

/// Whether `values` elements of a tensor's one mode lie as its linear layout says, wherever the
/// tensor starts: its swizzle neither reads nor changes a bit that the mode moves. Not given where
/// that is not known.
std::optional<bool> isLinear(const SymbolicValue &tensor, int64_t values) {
  auto *composed = std::get_if<ComposedLayout>(&tensor.asMemRef()->layout);
  if (!composed)
    return true;
  auto *swizzle = std::get_if<Swizzle>(&composed->inner());
  const IntTuple &stride = linearOf(tensor).stride();
  if (!swizzle || std::holds_alternative<ComposedLayout>(composed->outer()) || !stride.isLeaf() ||
      !stride.leaf().isStatic() || stride.leaf().hasBasis())
    return std::nullopt;
  uint64_t moved = 0;
  for (int64_t i = 0; i < values; ++i)
    moved |= static_cast<uint64_t>(i * stride.leaf().value());
  const uint64_t bits = ((uint64_t(1) << swizzle->mask) - 1) << swizzle->base;
  return (moved & (bits | bits << swizzle->shift)) == 0;
}

class CopyExpansion {
public:
  CopyExpansion(CopyOp op, Value atom, const SymbolicValue &whole, AlgebraLowering &lowering)
      : op(op), atom(atom), whole(whole), lowering(lowering), builder(op) {}

  LogicalResult run(SymbolicValue src, SymbolicValue dst, std::optional<SymbolicValue> pred) {
    const Layout &from = linearOf(src), &to = linearOf(dst);
    if (from.rank() != to.rank())
      fail("source ", from, " and destination ", to, " differ in rank");
    if (pred && linearOf(*pred).rank() == from.rank() - 1)
      pred = withUnitMode(*pred);
    if (pred && linearOf(*pred).rank() != from.rank())
      fail("the predicate ", linearOf(*pred), " fits neither the modes of the source ", from,
           " nor those past the first");
    if (from.rank() == 1) {
      if (from.isLeaf() && to.isLeaf())
        return call(src, dst, pred);
      if (from.isLeaf() || to.isLeaf())
        return callWhole(src, dst, pred);
      return run(modeZero(src), modeZero(dst),
                 pred && !linearOf(*pred).isLeaf() ? std::optional(modeZero(*pred)) : pred);
    }
    int64_t rest = staticSize(take(from.shape(), 1, from.rank()), "copy");
    int64_t restTo = staticSize(take(to.shape(), 1, to.rank()), "copy");
    if (rest != restTo)
      fail("source ", from, " and destination ", to, " have different sizes past the first mode");
    if (pred)
      if (int64_t given = staticSize(take(linearOf(*pred).shape(), 1, from.rank()), "a predicate");
          given != rest && given != 1)
        fail("the predicate ", linearOf(*pred), " has ", given, " values for the ", rest,
             " parts of the source ", from);
    count(rest);
    for (int64_t i = 0; i < rest; ++i)
      if (failed(run(partAt(src, i), partAt(dst, i),
                     pred ? std::optional(partAt(*pred, i)) : std::nullopt)))
        return failure();
    return success();
  }

  LogicalResult emit(const SymbolicValue &src, const SymbolicValue &dst,
                     const std::optional<SymbolicValue> &pred) {
    count(++calls);
    Location loc = op.getLoc();
    FailureOr<Value> from = lowering.materialize(builder, loc, src),
                     to = lowering.materialize(builder, loc, dst);
    FailureOr<Value> when =
        pred ? lowering.materialize(builder, loc, *pred) : FailureOr<Value>(Value());
    if (failed(from) || failed(to) || failed(when))
      return failure();
    CopyAtomCallOp::create(builder, loc, atom, *from, *to, *when);
    return success();
  }

private:
  /// Refuses to become more calls than a program can hold, best before the first is made.
  void count(int64_t calls) const {
    if (calls > kMostCalls)
      fail("a copy becomes at most ", kMostCalls, " atom calls; copy ", linearOf(whole),
           " in a loop over tiles");
  }

  /// One side has nested modes where the other has a single one: as functions of the index they are
  /// the same shape.
  LogicalResult callWhole(const SymbolicValue &src, const SymbolicValue &dst,
                          std::optional<SymbolicValue> pred) {
    auto flat = [](const SymbolicValue &tensor) {
      const MemRefValue &memref = *tensor.asMemRef();
      return SymbolicValue{MemRefValue{memref.iterator, coalesce(memref.layout)}, tensor.base, {}};
    };
    SymbolicValue from = flat(src), to = flat(dst);
    if (!linearOf(from).isLeaf() || !linearOf(to).isLeaf())
      fail("source ", linearOf(src), " and destination ", linearOf(dst), " have different nesting");
    return call(from, to, pred);
  }

  /// A single mode: one call, or as many as the atom's values go into it.
  LogicalResult call(const SymbolicValue &src, const SymbolicValue &dst,
                     std::optional<SymbolicValue> pred) {
    int64_t values = staticSize(linearOf(src).shape(), "copy");
    if (values != staticSize(linearOf(dst).shape(), "copy"))
      fail("source ", linearOf(src), " and destination ", linearOf(dst), " have different sizes");
    int64_t perCall = atomValuesOf(src);
    if (values % perCall != 0)
      fail("an atom that copies ", perCall, " elements does not fit into ", linearOf(src),
           " a whole number of times");
    if (values == perCall)
      return callOnce(src, dst, pred, perCall);
    if (pred && !linearOf(*pred).shape().isLeaf(1))
      fail("one predicate an element needs an atom that copies one element, not ", perCall);
    // A swizzle is applied once for all calls where it moves them alike, else for each.
    if (isLinear(src, values).value_or(false) && isLinear(dst, values).value_or(false)) {
      FailureOr<SymbolicValue> from = lowering.apply<DecompositionOp>(op, {src}),
                               to = lowering.apply<DecompositionOp>(op, {dst});
      if (failed(from) || failed(to))
        return failure();
      return split(*from, *to, pred, perCall, values / perCall);
    }
    return split(src, dst, pred, perCall, values / perCall);
  }

  /// The elements of one call.
  LogicalResult callOnce(const SymbolicValue &src, const SymbolicValue &dst,
                         const std::optional<SymbolicValue> &pred, int64_t perCall) {
    for (const SymbolicValue *side : {&src, &dst})
      if (!isLinear(*side, perCall).value_or(true))
        fail("an atom that copies ", perCall, " elements at once does not find them in ",
             str(side->asMemRef()->layout),
             ", whose swizzle takes them apart; a narrower atom does");
    auto atomTy = cast<CopyAtomType>(atom.getType());
    if (perCall > 1 && isa<CopyOpUniversalCopyType>(atomTy.getCopyOp()))
      for (const SymbolicValue *side : {&src, &dst})
        if (const IntTuple &stride = linearOf(*side).stride();
            stride.isLeaf() && stride.leaf().isStatic() && stride.leaf().value() > 1)
          fail("an atom that copies ", perCall, " elements at once takes neighbours, but those of ",
               linearOf(*side), " are apart; a narrower atom copies them one by one");
    FailureOr<SymbolicValue> from = lowering.apply<DecompositionOp>(op, {src}),
                             to = lowering.apply<DecompositionOp>(op, {dst});
    if (failed(from) || failed(to))
      return failure();
    return emit(*from, *to, pred);
  }

  LogicalResult split(const SymbolicValue &from, const SymbolicValue &to,
                      std::optional<SymbolicValue> pred, int64_t perCall, int64_t calls) {
    auto piece = [&](const SymbolicValue &tensor, int64_t i) {
      const MemRefValue &memref = *tensor.asMemRef();
      IntTuple stride = linearOf(tensor).stride();
      return SymbolicValue{
          movedBy(memref, crd2idx(i * perCall, linearOf(tensor)), Layout(perCall, stride)),
          tensor.base,
          {}};
    };
    count(calls);
    for (int64_t i = 0; i < calls; ++i)
      if (failed(callOnce(piece(from, i), piece(to, i), pred, perCall)))
        return failure();
    return success();
  }

  /// Elements of the tensor that one call moves; an atom's values may be wider or narrower than
  /// they are.
  int64_t atomValuesOf(const SymbolicValue &tensor) const {
    auto atomTy = cast<CopyAtomType>(atom.getType());
    int64_t bits = size(atomTy.getThrValLayoutRef().at(1)).value() * atomTy.getValBits();
    Type elemTy = tensor.asMemRef()->iterator.type.getElemTy();
    int64_t elementBits = elemTy.isIntOrFloat() ? elemTy.getIntOrFloatBitWidth() : 0;
    if (elementBits == 0 || bits % elementBits != 0)
      fail("an atom of ", bits, " bits does not move a whole number of elements");
    return bits / elementBits;
  }

  CopyOp op;
  Value atom;
  const SymbolicValue &whole; ///< the source
  AlgebraLowering &lowering;
  OpBuilder builder;
  int64_t calls = 0;
};

/// (m, n, k) of each call in order.
std::vector<std::array<int64_t, 3>> traversal(GemmOp op, std::array<int64_t, 3> extents) {
  std::vector<std::array<int64_t, 3>> calls;
  if (Value given = op.getTraversalLayout()) {
    const Layout &layout = cast<LayoutType>(given.getType()).getValue();
    int64_t total = extents[0] * extents[1] * extents[2];
    if (!layout.isStatic() || size(layout).value() != total || cosize(layout).value() != total)
      fail("traversal layout ", layout, " does not order the ", total, " atom calls of (",
           extents[0], ",", extents[1], ",", extents[2], ")");
    IntTuple shape = tup(extents[0], extents[1], extents[2]);
    std::vector<bool> visited(total);
    for (int64_t i = 0; i < total; ++i) {
      int64_t index = crd2idx(IntTuple(i), layout).leaf().value();
      if (visited[index])
        fail("traversal layout ", layout, " visits atom call ", index, " twice");
      visited[index] = true;
      IntTuple coord = idx2crdColMajor(IntTuple(index), shape);
      calls.push_back({coord[0].leaf().value(), coord[1].leaf().value(), coord[2].leaf().value()});
    }
    return calls;
  }

  // The first letter is the mode that runs fastest; the attribute's cases come in pairs of plain
  // and serpentine.
  static constexpr int kFastest[6][3] = {{2, 0, 1}, {2, 1, 0}, {0, 2, 1},
                                         {0, 1, 2}, {1, 2, 0}, {1, 0, 2}};
  auto order = static_cast<int>(op.getTraversalOrder().value_or(GemmTraversalOrder::NMK));
  bool serpentine = order >= 6;
  const int *fastest = kFastest[order % 6];
  int inner = fastest[0], middle = fastest[1], outer = fastest[2];
  for (int64_t o = 0; o < extents[outer]; ++o)
    for (int64_t m = 0; m < extents[middle]; ++m)
      for (int64_t i = 0; i < extents[inner]; ++i) {
        bool middleBack = serpentine && o % 2,
             innerBack = serpentine && (o * extents[middle] + m) % 2;
        std::array<int64_t, 3> call{};
        call[outer] = o;
        call[middle] = middleBack ? extents[middle] - 1 - m : m;
        call[inner] = innerBack ? extents[inner] - 1 - i : i;
        calls.push_back(call);
      }
  return calls;
}

LogicalResult emitGemm(GemmOp op, Value atom, AlgebraLowering &lowering, const SymbolicValue &d,
                       const SymbolicValue &a, const SymbolicValue &b, const SymbolicValue &c) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto call = [&](const SymbolicValue &d, const SymbolicValue &a, const SymbolicValue &b,
                  const SymbolicValue &c) {
    SmallVector<Value> operands;
    for (const SymbolicValue *operand : {&d, &a, &b, &c}) {
      FailureOr<Value> value = lowering.materialize(builder, loc, *operand);
      if (failed(value))
        return failure();
      operands.push_back(*value);
    }
    MmaAtomCallOp::create(builder, loc, atom, operands[0], operands[1], operands[2], operands[3]);
    return success();
  };

  const Layout &ld = linearOf(d), &la = linearOf(a), &lb = linearOf(b), &lc = linearOf(c);
  if (ld.rank() == 1 && la.rank() == 1 && lb.rank() == 1 && lc.rank() == 1)
    return call(d, a, b, c);
  if (ld.rank() != 3 || lc.rank() != 3 || la.rank() != lb.rank() || la.rank() < 2 || la.rank() > 3)
    fail("operands are not (value, M, K), (value, N, K) and (value, M, N): D is ", ld, ", A ", la,
         ", B ", lb, ", C ", lc);
  auto extent = [](const Layout &layout, int mode) {
    return staticSize(layout.shape()[mode], "gemm");
  };
  bool hasK = la.rank() == 3;
  std::array<int64_t, 3> extents{extent(ld, 1), extent(ld, 2), hasK ? extent(la, 2) : 1};
  if (extent(la, 1) != extents[0] || extent(lc, 1) != extents[0] || extent(lb, 1) != extents[1] ||
      extent(lc, 2) != extents[1] || (hasK && extent(lb, 2) != extents[2]))
    fail("operands do not agree in (M, N, K): D is ", ld, ", A ", la, ", B ", lb, ", C ", lc);

  if (checkedMul(checkedMul(extents[0], extents[1]), extents[2]) > kMostCalls)
    fail("a gemm becomes at most ", kMostCalls, " atom calls, not (", extents[0], ",", extents[1],
         ",", extents[2], ")");
  std::vector<bool> begun(extents[0] * extents[1]);
  for (auto [m, n, k] : traversal(op, extents)) {
    IntTuple atA = hasK ? tup(m, k) : IntTuple(m), atB = hasK ? tup(n, k) : IntTuple(n),
             atD = tup(m, n);
    // After the first step along K, D holds the sum so far.
    const SymbolicValue &addend = begun[m * extents[1] + n] ? d : c;
    begun[m * extents[1] + n] = true;
    if (failed(call(partAt(d, atD), partAt(a, atA), partAt(b, atB), partAt(addend, atD))))
      return failure();
  }
  return success();
}

} // namespace

LogicalResult expandCopy(CopyOp op, AlgebraLowering &lowering) {
  FailureOr<Value> atom = atomOf(op, op.getCopyAtom());
  FailureOr<SymbolicValue> src = lowering.get(op.getSrc(), op), dst = lowering.get(op.getDst(), op);
  if (failed(atom) || failed(src) || failed(dst))
    return failure();
  std::optional<SymbolicValue> pred;
  if (op.getPred()) {
    FailureOr<SymbolicValue> value = lowering.get(op.getPred(), op);
    if (failed(value))
      return failure();
    pred = *value;
  }
  auto instruction = dyn_cast<CopyOpTypeInterface>(cast<CopyAtomType>(atom->getType()).getCopyOp());
  bool whole = instruction && instruction.isWholeTileCopy();
  LogicalResult done = guarded(op, [&] {
    CopyExpansion expansion(op, *atom, *src, lowering);
    return whole ? expansion.emit(*src, *dst, pred) : expansion.run(*src, *dst, pred);
  });
  if (failed(done))
    return failure();
  op.erase();
  return success();
}

LogicalResult expandGemm(GemmOp op, AlgebraLowering &lowering) {
  FailureOr<Value> atom = atomOf(op, op.getMmaAtom());
  FailureOr<SymbolicValue> d = lowering.get(op.getD(), op), a = lowering.get(op.getA(), op),
                           b = lowering.get(op.getB(), op), c = lowering.get(op.getC(), op);
  if (failed(atom) || failed(d) || failed(a) || failed(b) || failed(c))
    return failure();
  LogicalResult done = guarded(op, [&] { return emitGemm(op, *atom, lowering, *d, *a, *b, *c); });
  if (failed(done))
    return failure();
  op.erase();
  return success();
}

} // namespace mlir::fly
