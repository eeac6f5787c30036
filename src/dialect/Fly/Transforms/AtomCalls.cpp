#include "dialect/Fly/Transforms/AtomCalls.h"

#include "layout/algebra.h"
#include "layout/checked.h"
#include "layout/coord.h"

#include <array>

namespace mlir::fly {

using namespace flydsl::layout;
using flydsl::layout::fail;

namespace {

/// The part of a tensor at `coord` of its modes from 1 on: its mode 0.
MemRefValue partAt(const MemRefValue &tensor, const IntTuple &coord) {
  const Layout &linear = outermost(tensor.layout);
  Layout rest = take(linear, 1, linear.rank());
  return movedBy(tensor, crd2idx(coord, rest), linear.at(0));
}

const Layout &linearOf(const MemRefValue &tensor) { return outermost(tensor.layout); }

MemRefValue withLinear(const MemRefValue &tensor, const Layout &linear) {
  return {tensor.iterator, withOutermost(tensor.layout, linear)};
}

MemRefValue modeZero(const MemRefValue &tensor) {
  return withLinear(tensor, linearOf(tensor).at(0));
}

int64_t staticSize(const IntTuple &shape, const char *what) {
  Int n = product(shape);
  if (!n.isStatic())
    fail(what, " needs a static shape, not ", shape);
  return n.value();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether `type` is in one of these memories.
bool isInOneOf(MemRefType type, ArrayRef<Attribute> spaces) {
  Attribute space = type.getAddressSpace();
  if (type.isIn(AddressSpace::Generic))
    space = AddressSpaceAttr::get(type.getContext(), AddressSpace::Global);
  return llvm::is_contained(spaces, space);
}

class CopyWalk {
public:
  CopyWalk(CopyAtomType atom, const CopyOperands &whole, OneElement oneElement,
           llvm::function_ref<LogicalResult(const CopyOperands &)> fn)
      : atom_(atom), whole_(whole), oneElement_(oneElement), fn_(fn) {}

  LogicalResult run(const MemRefValue &src, const MemRefValue &dst,
                    std::optional<MemRefValue> pred) {
    const Layout &from = linearOf(src), &to = linearOf(dst);
    if (from.rank() != to.rank())
      fail("source ", from, " and destination ", to, " differ in rank");
    // Predicates that have one value for all of mode 0 get such a mode.
    if (pred && linearOf(*pred).rank() == from.rank() - 1)
      pred = withLinear(*pred, prepend(linearOf(*pred), Layout(1, 0)));
    if (pred && linearOf(*pred).rank() != from.rank())
      fail("the predicate ", linearOf(*whole_.pred), " has neither as many modes as the source ",
           from, " nor as those past the first; ", onePerCall());
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
        fail("the predicate ", linearOf(*whole_.pred), " has ", given, " values for the ", rest,
             " parts of the source ", from, "; ", onePerCall());
    count(rest);
    for (int64_t i = 0; i < rest; ++i)
      if (failed(run(partAt(src, i), partAt(dst, i),
                     pred ? std::optional(partAt(*pred, i)) : std::nullopt)))
        return failure();
    return success();
  }

private:
  /// Refuses a copy of more calls than a program can hold, before the first call is made.
  void count(int64_t calls) const {
    if (calls > kMostCalls)
      fail("a copy becomes at most ", kMostCalls, " atom calls; copy ", linearOf(whole_.src),
           " in a loop over tiles");
  }

  /// How a predicate fits the whole copy, for messages.
  std::string onePerCall() const {
    const int64_t perCall = elementsPerCall(atom_, whole_.src.iterator.type.getElemTy());
    const IntTuple calls = callsOf(linearOf(whole_.src).shape(), perCall);
    return "it has one value a call, so its shape is " + calls.str() +
           (calls.isLeaf() ? "" : "; the first mode may be left out");
  }

  /// A shape whose first leaves, those of one call, are 1.
  static IntTuple callsOf(const IntTuple &shape, int64_t perCall) {
    const Int elements = product(shape);
    if (elements.isStatic() && elements.value() <= perCall)
      return Int(1);
    if (shape.isLeaf())
      return ceilDiv(shape.leaf(), Int(perCall));
    std::vector<IntTuple> modes{callsOf(shape.at(0), perCall)};
    for (int i = 1; i < shape.rank(); ++i)
      modes.push_back(shape.at(i));
    return IntTuple::tuple(std::move(modes));
  }

  /// One side has nested modes where the other has a single one: as functions of the index they are
  /// the same shape.
  LogicalResult callWhole(const MemRefValue &src, const MemRefValue &dst,
                          const std::optional<MemRefValue> &pred) {
    MemRefValue from{src.iterator, coalesce(src.layout)}, to{dst.iterator, coalesce(dst.layout)};
    if (!linearOf(from).isLeaf() || !linearOf(to).isLeaf())
      fail("source ", linearOf(src), " and destination ", linearOf(dst), " have different nesting");
    return call(from, to, pred);
  }

  /// A single mode: one call, or as many as the atom's values go into it. A predicate is for all of
  /// them, or has one value for each.
  LogicalResult call(const MemRefValue &src, const MemRefValue &dst,
                     const std::optional<MemRefValue> &pred) {
    const int64_t values = staticSize(linearOf(src).shape(), "copy");
    const int64_t taken = staticSize(linearOf(dst).shape(), "copy");
    const int64_t perCall = elementsPerCall(atom_, src.iterator.type.getElemTy());
    if (oneElement_ == OneElement::Begins && perCall > 1 && (values == 1 || taken == 1) &&
        (values == 1 || values == perCall) && (taken == 1 || taken == perCall))
      return call(values == 1 ? beginningAt(src, perCall) : src,
                  taken == 1 ? beginningAt(dst, perCall) : dst, pred);
    if (values != taken)
      fail("source ", linearOf(src), " and destination ", linearOf(dst), " have different sizes");
    if (values % perCall != 0)
      fail("an atom that copies ", perCall, " elements does not fit into ", linearOf(src),
           " a whole number of times");
    const int64_t calls = values / perCall;
    if (pred)
      if (int64_t given = staticSize(linearOf(*pred).shape(), "a predicate");
          given != 1 && given != calls)
        fail("the predicate ", linearOf(*whole_.pred), " has ", given, " values for ", calls,
             calls == 1 ? " call" : " calls", " of an atom that copies ", perCall,
             " elements at once; ", onePerCall());
    if (calls == 1)
      return callOnce(src, dst, pred, perCall);
    // If the swizzle moves all calls alike, it is applied once for all of them, else once for each.
    if (isLinear(src, values).value_or(false) && isLinear(dst, values).value_or(false))
      return split(decomposed(src), decomposed(dst), pred, perCall, calls);
    return split(src, dst, pred, perCall, calls);
  }

  static MemRefValue beginningAt(const MemRefValue &element, int64_t values) {
    return withLinear(element, Layout(values, 1));
  }

  /// The elements of one call.
  LogicalResult callOnce(const MemRefValue &src, const MemRefValue &dst,
                         const std::optional<MemRefValue> &pred, int64_t perCall) {
    for (const MemRefValue *side : {&src, &dst})
      if (!isLinear(*side, perCall).value_or(true))
        fail("an atom that copies ", perCall, " elements at once does not find them in ",
             str(side->layout), ", whose swizzle separates them; a narrower atom does");
    if (perCall > 1 && isa<CopyOpUniversalCopyType>(atom_.getCopyOp()))
      for (const MemRefValue *side : {&src, &dst})
        if (const IntTuple &stride = linearOf(*side).stride();
            stride.isLeaf() && stride.leaf().isStatic() && stride.leaf().value() > 1)
          fail("an atom that copies ", perCall, " elements at once takes neighbours, but those of ",
               linearOf(*side), " are not contiguous; a narrower atom copies them one by one");
    count(++calls_);
    return fn_({src, dst, pred});
  }

  LogicalResult split(const MemRefValue &from, const MemRefValue &to,
                      const std::optional<MemRefValue> &pred, int64_t perCall, int64_t calls) {
    auto piece = [&](const MemRefValue &tensor, int64_t i) {
      IntTuple stride = linearOf(tensor).stride();
      return movedBy(tensor, crd2idx(i * perCall, linearOf(tensor)), Layout(perCall, stride));
    };
    const bool one = !pred || size(linearOf(*pred)).isStatic(1);
    count(calls);
    for (int64_t i = 0; i < calls; ++i) {
      std::optional<MemRefValue> when =
          one ? pred : std::optional(movedBy(*pred, crd2idx(i, linearOf(*pred)), Layout(1, 0)));
      if (failed(callOnce(piece(from, i), piece(to, i), when, perCall)))
        return failure();
    }
    return success();
  }

  CopyAtomType atom_;
  const CopyOperands &whole_;
  OneElement oneElement_;
  llvm::function_ref<LogicalResult(const CopyOperands &)> fn_;
  int64_t calls_ = 0;
};

} // namespace

bool copiesBetween(CopyOpTypeInterface instruction, MemRefType src, MemRefType dst) {
  SmallVector<CopyRoute> routes = instruction.getRoutes();
  return routes.empty() || llvm::any_of(routes, [&](const CopyRoute &route) {
           return isInOneOf(src, route.from) && isInOneOf(dst, route.to);
         });
}

int64_t elementsPerCall(CopyAtomType atom, Type elemTy) {
  int64_t bits = size(atom.getThrValLayoutRef().at(1)).value() * atom.getValBits();
  int64_t elementBits = elemTy.isIntOrFloat() ? elemTy.getIntOrFloatBitWidth() : 0;
  if (elementBits == 0 || bits % elementBits != 0)
    fail("an atom of ", bits, " bits does not move a whole number of elements of ", elementBits,
         " bits");
  return bits / elementBits;
}

std::optional<bool> isLinear(const MemRefValue &tensor, int64_t values) {
  auto *composed = std::get_if<ComposedLayout>(&tensor.layout);
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

LogicalResult forEachCall(CopyAtomType atom, const CopyOperands &whole, OneElement oneElement,
                          llvm::function_ref<LogicalResult(const CopyOperands &)> fn) {
  auto instruction = dyn_cast<CopyOpTypeInterface>(atom.getCopyOp());
  if (instruction && instruction.isWholeTileCopy())
    return fn(whole);
  return CopyWalk(atom, whole, oneElement, fn).run(whole.src, whole.dst, whole.pred);
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// How a gemm walks through its atom calls: the modes, 0 for M, 1 for N and 2 for K, from the one
/// that runs fastest. A serpentine turns the inner loops around on every other pass.
struct Walk {
  int inner, middle, outer;
  bool serpentine = false;
};

static Walk walkOf(GemmTraversalOrder order) {
  switch (order) {
  case GemmTraversalOrder::KMN:
    return {2, 0, 1};
  case GemmTraversalOrder::KNM:
    return {2, 1, 0};
  case GemmTraversalOrder::MKN:
    return {0, 2, 1};
  case GemmTraversalOrder::MNK:
    return {0, 1, 2};
  case GemmTraversalOrder::NKM:
    return {1, 2, 0};
  case GemmTraversalOrder::NMK:
    return {1, 0, 2};
  case GemmTraversalOrder::KMN_Serpentine:
    return {2, 0, 1, true};
  case GemmTraversalOrder::KNM_Serpentine:
    return {2, 1, 0, true};
  case GemmTraversalOrder::MKN_Serpentine:
    return {0, 2, 1, true};
  case GemmTraversalOrder::MNK_Serpentine:
    return {0, 1, 2, true};
  case GemmTraversalOrder::NKM_Serpentine:
    return {1, 2, 0, true};
  case GemmTraversalOrder::NMK_Serpentine:
    return {1, 0, 2, true};
  }
  llvm_unreachable("an order");
}

/// (m, n, k) of each call in order.
static std::vector<std::array<int64_t, 3>> inOrder(std::optional<GemmTraversalOrder> given,
                                                   const Layout *traversal,
                                                   std::array<int64_t, 3> extents) {
  std::vector<std::array<int64_t, 3>> calls;
  if (traversal) {
    const Layout &layout = *traversal;
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

  const auto [inner, middle, outer, serpentine] = walkOf(given.value_or(GemmTraversalOrder::NMK));
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

LogicalResult
forEachCall(const MmaOperands &whole, std::optional<GemmTraversalOrder> order,
            const Layout *traversal,
            llvm::function_ref<LogicalResult(const MmaOperands &, MmaParts, bool begins)> fn) {
  const auto &[d, a, b, c] = whole;
  const Layout &ld = linearOf(d), &la = linearOf(a), &lb = linearOf(b), &lc = linearOf(c);
  if (ld.rank() == 1 && la.rank() == 1 && lb.rank() == 1 && lc.rank() == 1)
    return fn(whole, {0, 0, 0}, /*begins=*/true);
  if (ld.rank() != 3 || lc.rank() != 3 || la.rank() != lb.rank() || la.rank() < 2 || la.rank() > 3)
    fail("operands are not (value, M, K), (value, N, K) and (value, M, N): D "
         "is ",
         ld, ", A ", la, ", B ", lb, ", C ", lc);
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
  for (auto [m, n, k] : inOrder(order, traversal, extents)) {
    IntTuple atA = hasK ? tup(m, k) : IntTuple(m), atB = hasK ? tup(n, k) : IntTuple(n),
             atD = tup(m, n);
    // After the first step along K, D holds the sum so far.
    const MmaParts parts{m * extents[1] + n, m * extents[2] + k, n * extents[2] + k};
    const bool begins = !begun[parts.d];
    begun[parts.d] = true;
    if (failed(fn({partAt(d, atD), partAt(a, atA), partAt(b, atB), partAt(begins ? c : d, atD)},
                  parts, begins)))
      return failure();
  }
  return success();
}

} // namespace mlir::fly
