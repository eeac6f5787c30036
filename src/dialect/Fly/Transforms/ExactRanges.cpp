// scf.for adds the step to its number before it compares with the end. Where the end is near the
// largest integer, the sum wraps to a negative number, and a signed comparison lets the loop go on.
//
// Two numbers that are not negative have a sum below 2^32: where the first number of a loop is known
// not to be negative, comparing without signs is enough, which takes no instruction more in a round.
// Elsewhere a round asks whether there is a next one before it adds: i + step < end is i < end - step,
// and that difference is known before the loop begins. A round has up to one instruction more then.
#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/APInt.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYEXACTRANGESPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

unsigned bitsOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

Value constant(OpBuilder &builder, Location loc, Type type, const llvm::APInt &value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}

/// Whether the number of a round and the step may add up to more than the largest signed integer.
bool maySumWrap(scf::ForOp loop) {
  const int64_t largest =
      llvm::APInt::getSignedMaxValue(bitsOf(loop.getInductionVar().getType())).getSExtValue();
  const int64_t end = factsOf(loop.getUpperBound())->range().hi,
                step = std::max<int64_t>(factsOf(loop.getStep())->range().hi, 1);
  return end > largest - step + 1;
}

/// Compares without signs, in a loop whose first number is not negative.
void compareUnsigned(scf::ForOp loop) {
  if (!factsOf(loop.getUpperBound())->range().isNonNegative()) {
    OpBuilder builder(loop);
    const Type type = loop.getInductionVar().getType();
    const Value zero = constant(builder, loop.getLoc(), type, llvm::APInt(bitsOf(type), 0));
    loop.setUpperBound(arith::MaxSIOp::create(builder, loop.getLoc(), loop.getUpperBound(), zero));
  }
  loop.setUnsignedCmp(true);
}

/// The number below which a round has a next one: end - step. No number is below the least integer,
/// which stands for those that are less.
Value lastWithNext(OpBuilder &builder, scf::ForOp loop) {
  const Location loc = loop.getLoc();
  const Type type = loop.getInductionVar().getType();
  const Value least = constant(builder, loc, type, llvm::APInt::getSignedMinValue(bitsOf(type)));
  const Value enough = arith::AddIOp::create(builder, loc, least, loop.getStep());
  const Value end = arith::MaxSIOp::create(builder, loc, loop.getUpperBound(), enough);
  return arith::SubIOp::create(builder, loc, end, loop.getStep());
}

/// if (first < end) do { body; again = i < end - step; i += step; } while (again).
void askBeforeAdding(scf::ForOp loop) {
  const Location loc = loop.getLoc();
  OpBuilder builder(loop);
  const Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                           loop.getLowerBound(), loop.getUpperBound());
  auto any = scf::IfOp::create(builder, loc, loop.getResultTypes(), some, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(&any.getThenRegion().front());
  const Value last = lastWithNext(builder, loop);
  SmallVector<Value> first{loop.getLowerBound()};
  llvm::append_range(first, loop.getInitArgs());
  SmallVector<Type> types{loop.getInductionVar().getType()};
  llvm::append_range(types, loop.getResultTypes());
  auto rounds = scf::WhileOp::create(builder, loc, types, first);
  rounds.getBefore().takeBody(loop.getRegion());
  Operation *yield = rounds.getBefore().front().getTerminator();
  builder.setInsertionPoint(yield);
  const Value number = rounds.getBefore().front().getArgument(0);
  const Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, last);
  SmallVector<Value> next{arith::AddIOp::create(builder, loc, number, loop.getStep())};
  llvm::append_range(next, yield->getOperands());
  scf::ConditionOp::create(builder, yield->getLoc(), again, next);
  yield->erase();
  Block *after = builder.createBlock(&rounds.getAfter());
  for (Type type : types)
    after->addArgument(type, loc);
  scf::YieldOp::create(builder, loc, after->getArguments());

  // An if without results has its yields already.
  if (loop.getNumResults() > 0) {
    builder.setInsertionPointToEnd(&any.getThenRegion().front());
    scf::YieldOp::create(builder, loc, rounds.getResults().drop_front());
    builder.setInsertionPointToEnd(&any.getElseRegion().front());
    scf::YieldOp::create(builder, loc, loop.getInitArgs());
  }
  loop.replaceAllUsesWith(any.getResults());
  loop.erase();
}

struct ExactRanges : impl::FlyExactRangesPassBase<ExactRanges> {
  void runOnOperation() override {
    // The facts of a loop's bounds may come from the loop around it, which is rewritten after it.
    getOperation()->walk([](scf::ForOp loop) {
      if (loop.getUnsignedCmp() || !maySumWrap(loop))
        return;
      if (factsOf(loop.getLowerBound())->range().isNonNegative())
        compareUnsigned(loop);
      else
        askBeforeAdding(loop);
    });
  }
};

} // namespace

} // namespace mlir::fly
