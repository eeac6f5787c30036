#include "dialect/Fly/Transforms/IntegerFacts.h"

#include "layout/error.h"
#include "target/processors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

#include <algorithm>

namespace mlir::fly {

using namespace flydsl::layout;
using flydsl::detail::launchLimits;
using Bounds = flydsl::layout::ValueRange;

namespace {

// Definitions are followed at most this deep, which bounds the time on long chains of arithmetic.
constexpr unsigned kMaxDepth = 16;

unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : std::min(type.getIntOrFloatBitWidth(), 64u);
}

/// The numbers that a signed integer of `bits` bits can hold.
Bounds fullRange(unsigned bits) {
  if (bits >= 64)
    return {};
  if (bits == 1)
    return {0, 1};
  int64_t limit = int64_t(1) << (bits - 1);
  return {-limit, limit - 1};
}

bool contains(Bounds outer, Bounds inner) { return outer.lo <= inner.lo && inner.hi <= outer.hi; }

/// The largest power of two known to divide `e`.
int64_t powerOfTwoIn(const ExprRef &e) {
  if (e->isConstant(0))
    return int64_t(1) << 62;
  return std::max<int64_t>(e->divisor() & -e->divisor(), 1);
}

class Facts {
public:
  explicit Facts(bool withAssumptions) : withAssumptions_(withAssumptions) {}
  ExprRef of(Value value, unsigned depth) {
    auto it = known_.find(value);
    if (it != known_.end())
      return it->second;
    ExprRef e;
    try {
      e = compute(value, depth);
      if (withAssumptions_)
        e = assumed(value, e);
    } catch (const LayoutError &) { // constants whose exact result needs more than 64 bits
      e = symbol(value, fullRange(widthOf(value.getType())));
    }
    known_[value] = e;
    return e;
  }

private:
  static ExprRef symbol(Value value, Bounds range, int64_t divisor = 1) {
    auto id = reinterpret_cast<uintptr_t>(value.getAsOpaquePointer());
    return exprSymbol(id, widthOf(value.getType()) > 32 ? 64 : 32, divisor, range);
  }

  /// `exact` if the type of `value` can hold all of its range. Otherwise the arithmetic may wrap,
  /// and only the powers of two that divide it are kept.
  static ExprRef wrapped(Value value, const ExprRef &exact) {
    Bounds full = fullRange(widthOf(value.getType()));
    // Ranges saturate at 64 bits. A saturated one does not tell whether the arithmetic wrapped.
    bool saturated = exact->range().lo == INT64_MIN || exact->range().hi == INT64_MAX;
    if (!saturated && contains(full, exact->range()))
      return exact;
    return symbol(value, full, powerOfTwoIn(exact));
  }

  static int64_t blockSizeBound(Operation *op, gpu::Dimension dim) {
    if (auto func = op->getParentOfType<gpu::GPUFuncOp>())
      if (std::optional<ArrayRef<int32_t>> sizes = func.getKnownBlockSize())
        return (*sizes)[static_cast<unsigned>(dim)];
    return launchLimits().blockSize;
  }

  /// The same with the bounds that the kernel assumes, of values of which nothing else is known. An
  /// assumption counts where it stands in the block that has the value: wherever that is used, the
  /// block runs to its end.
  static ExprRef assumed(Value value, const ExprRef &e) {
    Bounds range = e->range();
    const Bounds full = fullRange(widthOf(value.getType()));
    if (!e->isSymbol() || value.getType().isInteger(1) || range.lo != full.lo ||
        range.hi != full.hi)
      return e;
    for (OpOperand &use : value.getUses())
      if (auto comparison = dyn_cast<arith::CmpIOp>(use.getOwner()))
        if (isAssumed(comparison.getResult(), value.getParentBlock()))
          narrow(range, comparison, use.getOperandNumber());
    return range.lo > range.hi ? e : symbol(value, range, e->divisor());
  }
  /// Whether a condition is one of those that a block assumes to hold together.
  static bool isAssumed(Value condition, Block *block) {
    return llvm::any_of(condition.getUsers(), [block](Operation *user) {
      if (auto both = dyn_cast<arith::AndIOp>(user))
        return isAssumed(both.getResult(), block);
      auto assume = dyn_cast<LLVM::AssumeOp>(user);
      return assume && assume->getBlock() == block;
    });
  }
  /// Applies a comparison of the value with a constant; the value is operand `number`.
  static void narrow(Bounds &range, arith::CmpIOp comparison, unsigned number) {
    using arith::CmpIPredicate;
    const std::optional<int64_t> limit = constantValue(comparison->getOperand(1 - number));
    if (!limit)
      return;
    CmpIPredicate predicate = comparison.getPredicate();
    if (number == 1)
      predicate = swapped(predicate);
    const int64_t least = *limit == INT64_MAX ? *limit : *limit + 1,
                  most = *limit == INT64_MIN ? *limit : *limit - 1;
    switch (predicate) {
    case CmpIPredicate::ult:
    case CmpIPredicate::ule:
      if (*limit < 0) // above all numbers without a sign
        return;
      range.lo = std::max<int64_t>(range.lo, 0);
      range.hi = std::min(range.hi, predicate == CmpIPredicate::ult ? most : *limit);
      return;
    case CmpIPredicate::slt:
      range.hi = std::min(range.hi, most);
      return;
    case CmpIPredicate::sle:
      range.hi = std::min(range.hi, *limit);
      return;
    case CmpIPredicate::sgt:
      range.lo = std::max(range.lo, least);
      return;
    case CmpIPredicate::sge:
      range.lo = std::max(range.lo, *limit);
      return;
    case CmpIPredicate::eq:
    case CmpIPredicate::ne:
    case CmpIPredicate::ugt:
    case CmpIPredicate::uge:
      return;
    }
  }
  static arith::CmpIPredicate swapped(arith::CmpIPredicate predicate) {
    using arith::CmpIPredicate;
    switch (predicate) {
    case CmpIPredicate::slt:
      return CmpIPredicate::sgt;
    case CmpIPredicate::sle:
      return CmpIPredicate::sge;
    case CmpIPredicate::sgt:
      return CmpIPredicate::slt;
    case CmpIPredicate::sge:
      return CmpIPredicate::sle;
    case CmpIPredicate::ult:
      return CmpIPredicate::ugt;
    case CmpIPredicate::ule:
      return CmpIPredicate::uge;
    case CmpIPredicate::ugt:
      return CmpIPredicate::ult;
    case CmpIPredicate::uge:
      return CmpIPredicate::ule;
    case CmpIPredicate::eq:
    case CmpIPredicate::ne:
      return predicate;
    }
    llvm_unreachable("a comparison of no kind");
  }

  ExprRef compute(Value value, unsigned depth) {
    if (std::optional<int64_t> c = constantValue(value))
      return exprConstant(*c);
    ExprRef unknown = symbol(value, fullRange(widthOf(value.getType())));
    // Truth values are 0 and 1 here but 0 and -1 in signed arithmetic, so they are not followed.
    if (depth == 0 || value.getType().isInteger(1))
      return unknown;
    if (auto arg = dyn_cast<BlockArgument>(value))
      return inductionVariable(arg, depth, unknown);
    Operation *op = value.getDefiningOp();
    if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
      return symbol(value, {0, blockSizeBound(op, id.getDimension()) - 1});
    if (auto size = dyn_cast<gpu::BlockDimOp>(op))
      return symbol(value, {1, blockSizeBound(op, size.getDimension())});
    if (isa<gpu::BlockIdOp>(op))
      return symbol(value, {0, launchLimits().gridSize - 1});
    if (isa<gpu::GridDimOp>(op))
      return symbol(value, {1, launchLimits().gridSize});
    if (isa<gpu::LaneIdOp>(op))
      return symbol(value, {0, launchLimits().waveSize - 1});
    return arithmetic(op, depth, unknown);
  }

  ExprRef inductionVariable(BlockArgument arg, unsigned depth, const ExprRef &unknown) {
    auto loop = dyn_cast_or_null<scf::ForOp>(arg.getOwner()->getParentOp());
    if (!loop || arg != loop.getInductionVar())
      return unknown;
    ExprRef lo = of(loop.getLowerBound(), depth - 1), hi = of(loop.getUpperBound(), depth - 1),
            step = of(loop.getStep(), depth - 1);
    if (loop.getUnsignedCmp() && !(lo->range().isNonNegative() && hi->range().isNonNegative()))
      return unknown;
    int64_t last = hi->range().hi == INT64_MIN ? INT64_MIN : hi->range().hi - 1;
    Bounds range{lo->range().lo, std::max(lo->range().lo, last)};
    return symbol(arg, range, std::min(powerOfTwoIn(lo), powerOfTwoIn(step)));
  }

  ExprRef arithmetic(Operation *op, unsigned depth, const ExprRef &unknown) {
    Value value = op->getResult(0);
    auto operand = [&](unsigned i) { return of(op->getOperand(i), depth - 1); };
    auto binary = [&](ExprOp kind) {
      return wrapped(value, exprBinary(kind, operand(0), operand(1)));
    };
    auto nonNegative = [&] {
      return operand(0)->range().isNonNegative() && operand(1)->range().isNonNegative();
    };
    if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op)) {
      if (op->getOperand(0).getType().isInteger(1))
        return symbol(value, {-1, 0});
      return wrapped(value, operand(0));
    }
    if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) {
      unsigned from = widthOf(op->getOperand(0).getType()), to = widthOf(value.getType());
      if (operand(0)->range().isNonNegative())
        return wrapped(value, operand(0));
      return from < to ? symbol(value, {0, (int64_t(1) << from) - 1}, powerOfTwoIn(operand(0)))
                       : unknown;
    }
    if (isa<arith::AddIOp>(op))
      return binary(ExprOp::Add);
    if (isa<arith::SubIOp>(op))
      return binary(ExprOp::Sub);
    if (isa<arith::MulIOp>(op))
      return binary(ExprOp::Mul);
    if (isa<arith::AndIOp>(op)) {
      // The result of an AND is at most as large as an operand that is not negative.
      Bounds a = operand(0)->range(), b = operand(1)->range();
      int64_t top =
          std::min(a.isNonNegative() ? a.hi : INT64_MAX, b.isNonNegative() ? b.hi : INT64_MAX);
      int64_t divisor = std::max(powerOfTwoIn(operand(0)), powerOfTwoIn(operand(1)));
      bool bounded = a.isNonNegative() || b.isNonNegative();
      return symbol(value, bounded ? Bounds{0, top} : fullRange(widthOf(value.getType())), divisor);
    }
    if (isa<arith::OrIOp>(op))
      return binary(ExprOp::Or);
    if (isa<arith::XOrIOp>(op))
      return binary(ExprOp::Xor);
    if (isa<arith::MinSIOp>(op))
      return binary(ExprOp::Min);
    if (isa<arith::MaxSIOp>(op))
      return binary(ExprOp::Max);
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) && nonNegative() &&
        operand(1)->range().lo > 0)
      return binary(ExprOp::Div);
    if (isa<arith::RemSIOp, arith::RemUIOp>(op) && nonNegative() && operand(1)->range().lo > 0)
      return binary(ExprOp::Mod);
    if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op)) {
      std::optional<int64_t> by = constantValue(op->getOperand(1));
      if (!by || *by < 0 || *by > 62)
        return unknown;
      ExprRef power = exprConstant(int64_t(1) << *by);
      if (isa<arith::ShLIOp>(op))
        return wrapped(value, exprMul(operand(0), power));
      return operand(0)->range().isNonNegative() ? wrapped(value, exprDiv(operand(0), power))
                                                 : unknown;
    }
    if (isa<arith::SelectOp>(op)) {
      ExprRef a = operand(1), b = operand(2);
      return symbol(
          value, {std::min(a->range().lo, b->range().lo), std::max(a->range().hi, b->range().hi)},
          std::min(powerOfTwoIn(a), powerOfTwoIn(b)));
    }
    return unknown;
  }

  const bool withAssumptions_;
  llvm::DenseMap<Value, ExprRef> known_;
};

} // namespace

std::optional<int64_t> constantValue(Value value) {
  APInt c;
  if (!matchPattern(value, m_ConstantInt(&c)) || c.getSignificantBits() > 64)
    return std::nullopt;
  return c.getBitWidth() == 1 ? static_cast<int64_t>(c.getZExtValue()) : c.getSExtValue();
}

ExprRef factsOf(Value value) { return Facts(true).of(value, kMaxDepth); }
ExprRef factsWithoutAssumptions(Value value) { return Facts(false).of(value, kMaxDepth); }

unsigned knownTrailingZeros(Value value) {
  ExprRef facts = factsOf(value);
  if (facts->isConstant(0))
    return 63;
  return __builtin_ctzll(static_cast<uint64_t>(facts->divisor()));
}

} // namespace mlir::fly
