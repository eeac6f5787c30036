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

  /// The same with the bounds that the kernel assumes, for values without other known bounds. An
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
    return symbol(value, range, e->divisor());
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
    const std::optional<int64_t> limit = constantValue(comparison->getOperand(1 - number));
    if (!limit)
      return;
    const arith::CmpIPredicate predicate = comparison.getPredicate();
    range = within(range, number == 0 ? predicate : swapped(predicate), {*limit, *limit});
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
      if (operand(0)->range().isNonNegative())
        return wrapped(value, exprDiv(operand(0), power));
    }
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      ExprRef a = operand(1), b = operand(2);
      const Value condition = select.getCondition();
      const Bounds whenTrue = guarded(condition, true, select.getTrueValue(), a->range(), depth),
                   whenFalse = guarded(condition, false, select.getFalseValue(), b->range(), depth);
      return symbol(value,
                    {std::min(whenTrue.lo, whenFalse.lo), std::max(whenTrue.hi, whenFalse.hi)},
                    std::min(powerOfTwoIn(a), powerOfTwoIn(b)));
    }
    if (std::optional<Bounds> range = unsignedByConstant(op))
      return symbol(value, *range);
    return unknown;
  }

  /// The results of an unsigned quotient, remainder or shift by a constant, whatever the other number
  /// is.
  static std::optional<Bounds> unsignedByConstant(Operation *op) {
    if (!isa<arith::DivUIOp, arith::RemUIOp, arith::ShRUIOp>(op))
      return std::nullopt;
    const unsigned bits = widthOf(op->getResult(0).getType());
    const std::optional<int64_t> by = constantValue(op->getOperand(1));
    if (!by || *by <= 0)
      return std::nullopt;
    const uint64_t largest = ~uint64_t(0) >> (64 - bits), number = static_cast<uint64_t>(*by);
    if (isa<arith::RemUIOp>(op))
      return Bounds{0, *by - 1};
    if (isa<arith::DivUIOp>(op) && number > 1)
      return Bounds{0, static_cast<int64_t>(largest / number)};
    if (isa<arith::ShRUIOp>(op) && number < bits)
      return Bounds{0, static_cast<int64_t>(largest >> number)};
    return std::nullopt;
  }

  /// What remains of the range of `value` where `condition` holds, or where it does not.
  Bounds guarded(Value condition, bool holds, Value value, Bounds range, unsigned depth) {
    Operation *op = condition.getDefiningOp();
    if (!op || depth == 0)
      return range;
    // Both parts of a conjunction hold if it does; neither part of a disjunction, if it does not.
    if (holds ? isa<arith::AndIOp>(op) : isa<arith::OrIOp>(op)) {
      range = guarded(op->getOperand(0), holds, value, range, depth - 1);
      return guarded(op->getOperand(1), holds, value, range, depth - 1);
    }
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare || compare.getLhs().getType().isInteger(1))
      return range;
    arith::CmpIPredicate predicate = compare.getPredicate();
    if (!holds)
      predicate = arith::invertPredicate(predicate);
    if (numberOf(compare.getLhs()) == numberOf(value))
      return within(range, predicate, of(compare.getRhs(), depth - 1)->range());
    if (numberOf(compare.getRhs()) == numberOf(value))
      return within(range, swapped(predicate), of(compare.getLhs(), depth - 1)->range());
    return range;
  }
  /// The value that was extended with its sign to this one: the same number.
  static Value numberOf(Value value) {
    auto extended = value.getDefiningOp<arith::ExtSIOp>();
    return extended && !extended.getIn().getType().isInteger(1) ? extended.getIn() : value;
  }
  /// The predicate of b and a that says what this one says of a and b.
  static arith::CmpIPredicate swapped(arith::CmpIPredicate predicate) {
    using Predicate = arith::CmpIPredicate;
    switch (predicate) {
    case Predicate::slt:
      return Predicate::sgt;
    case Predicate::sle:
      return Predicate::sge;
    case Predicate::sgt:
      return Predicate::slt;
    case Predicate::sge:
      return Predicate::sle;
    case Predicate::ult:
      return Predicate::ugt;
    case Predicate::ule:
      return Predicate::uge;
    case Predicate::ugt:
      return Predicate::ult;
    case Predicate::uge:
      return Predicate::ule;
    case Predicate::eq:
    case Predicate::ne:
      break;
    }
    return predicate;
  }
  /// The numbers of `range` that compare so with some number of `other`. All of them if there are
  /// none: the program does not come there.
  static Bounds within(Bounds range, arith::CmpIPredicate predicate, Bounds other) {
    using Predicate = arith::CmpIPredicate;
    const int64_t below = other.hi - (other.hi != INT64_MIN),
                  above = other.lo + (other.lo != INT64_MAX);
    Bounds part = range;
    switch (predicate) {
    case Predicate::slt:
      part.hi = std::min(part.hi, below);
      break;
    case Predicate::sle:
      part.hi = std::min(part.hi, other.hi);
      break;
    case Predicate::sgt:
      part.lo = std::max(part.lo, above);
      break;
    case Predicate::sge:
      part.lo = std::max(part.lo, other.lo);
      break;
    case Predicate::eq:
      part = {std::max(part.lo, other.lo), std::min(part.hi, other.hi)};
      break;
    case Predicate::ult:
    case Predicate::ule:
      // What is below a number without a sign bit has none.
      if (other.isNonNegative())
        part = {std::max<int64_t>(part.lo, 0),
                std::min(part.hi, predicate == Predicate::ult ? below : other.hi)};
      break;
    case Predicate::ugt:
    case Predicate::uge:
    case Predicate::ne:
      break;
    }
    return part.lo <= part.hi ? part : range;
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
