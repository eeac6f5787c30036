// A swizzle in arith is x ^ ((x & mask) >> shift), the mask one run of ones at or above `shift`.
// Let P be the power of two just above the mask. Adding a multiple of P changes neither x & mask
// nor the bits that the XOR touches, and carries nothing into them, so
//
//     swizzle(x + d) = swizzle(x) + d    for every d that P divides.
//
// Addends of that kind are taken out of the XOR. Two accesses whose coordinates differ only by such
// addends then share one swizzled base and differ by a plain addition, which folds into an
// instruction's offset field.

#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYINTSWIZZLESIMPLIFYPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

struct Swizzle {
  Value input, mask, shift; // input ^ ((input & mask) >> shift)
  unsigned periodLog2;
};

std::optional<Swizzle> matchHalf(Value input, Value shifted) {
  auto shr = shifted.getDefiningOp<arith::ShRUIOp>();
  auto band = shr ? shr.getLhs().getDefiningOp<arith::AndIOp>() : arith::AndIOp();
  if (!band)
    return std::nullopt;
  Value mask = band.getLhs() == input ? band.getRhs() : band.getLhs();
  if (band.getLhs() != input && band.getRhs() != input)
    return std::nullopt;
  std::optional<int64_t> maskBits = constantValue(mask), shift = constantValue(shr.getRhs());
  unsigned width = input.getType().getIntOrFloatBitWidth();
  if (!maskBits || !shift || *maskBits <= 0 || *shift <= 0 || *shift >= width)
    return std::nullopt;
  unsigned lowest = 0, length = 0;
  if (!llvm::isShiftedMask_64(static_cast<uint64_t>(*maskBits), lowest, length) || lowest < *shift)
    return std::nullopt;
  return Swizzle{input, mask, shr.getRhs(), lowest + length};
}

std::optional<Swizzle> matchSwizzle(arith::XOrIOp op) {
  if (!op.getType().isSignlessInteger() || op.getType().getIntOrFloatBitWidth() > 64)
    return std::nullopt;
  if (std::optional<Swizzle> s = matchHalf(op.getLhs(), op.getRhs()))
    return s;
  return matchHalf(op.getRhs(), op.getLhs());
}

/// The addends of a sum, in two lists: those that the swizzle depends on, and those that it does
/// not.
struct Addends {
  SmallVector<Value> kept, peeled;
  int64_t keptConstant = 0, peeledConstant = 0;
};

void splitAddends(Value value, unsigned periodLog2, Addends &addends) {
  if (std::optional<int64_t> c = constantValue(value)) {
    int64_t low = *c & ((int64_t(1) << periodLog2) - 1);
    if (low == 0 || low == *c) {
      (low == 0 ? addends.peeled : addends.kept).push_back(value);
    } else {
      addends.keptConstant += low;
      addends.peeledConstant += *c - low;
    }
    return;
  }
  if (knownTrailingZeros(value) >= periodLog2) {
    addends.peeled.push_back(value);
    return;
  }
  if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    splitAddends(add.getLhs(), periodLog2, addends);
    splitAddends(add.getRhs(), periodLog2, addends);
    return;
  }
  addends.kept.push_back(value);
}

Value sum(OpBuilder &builder, Location loc, ArrayRef<Value> addends) {
  Value total = addends.front();
  for (Value addend : addends.drop_front())
    total = arith::AddIOp::create(builder, loc, total, addend);
  return total;
}

void peel(arith::XOrIOp op, const Swizzle &swizzle) {
  Addends addends;
  splitAddends(swizzle.input, swizzle.periodLog2, addends);
  if (addends.peeled.empty() && addends.peeledConstant == 0)
    return;

  OpBuilder builder(op);
  Location loc = op.getLoc();
  unsigned width = op.getType().getIntOrFloatBitWidth();
  auto constant = [&](int64_t value) -> Value {
    APInt bits(width, static_cast<uint64_t>(value), /*isSigned=*/true, /*implicitTrunc=*/true);
    return arith::ConstantOp::create(builder, loc, IntegerAttr::get(op.getType(), bits));
  };
  SmallVector<Value> kept = addends.kept, total;
  if (addends.keptConstant != 0)
    kept.push_back(constant(addends.keptConstant));
  if (kept.empty()) {
    total.push_back(constant(0));
  } else {
    Value base = sum(builder, loc, kept);
    Value bits = arith::AndIOp::create(builder, loc, base, swizzle.mask);
    Value low = arith::ShRUIOp::create(builder, loc, bits, swizzle.shift);
    total.push_back(arith::XOrIOp::create(builder, loc, base, low));
  }
  llvm::append_range(total, addends.peeled);
  if (addends.peeledConstant != 0)
    total.push_back(constant(addends.peeledConstant));
  op.replaceAllUsesWith(sum(builder, loc, total));

  SmallVector<Operation *> dead{op};
  while (!dead.empty()) {
    Operation *next = dead.pop_back_val();
    if (!next->use_empty() ||
        !isa<arith::XOrIOp, arith::AndIOp, arith::ShRUIOp, arith::AddIOp>(next))
      continue;
    SmallVector<Operation *> operands;
    for (Value operand : next->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && !llvm::is_contained(dead, def) && !llvm::is_contained(operands, def))
        operands.push_back(def);
    next->erase();
    dead.append(operands);
  }
}

struct IntSwizzleSimplify : impl::FlyIntSwizzleSimplifyPassBase<IntSwizzleSimplify> {
  void runOnOperation() override {
    SmallVector<arith::XOrIOp> candidates;
    getOperation()->walk([&](arith::XOrIOp op) { candidates.push_back(op); });
    for (arith::XOrIOp op : candidates)
      if (std::optional<Swizzle> swizzle = matchSwizzle(op))
        peel(op, *swizzle);
    // Accesses that differ only by the addends that were taken out now share one swizzled base.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace

} // namespace mlir::fly
