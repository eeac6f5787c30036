//===- IntSwizzleSimplify.cpp
//---------------------------------------------------------------------===//
//
// A swizzle in arith is x ^ ((x & mask) >> shift), the mask one run of ones at or above `shift`.
// Let P be the power of two just above the mask. Adding a multiple of P changes neither x & mask
// nor the bits that the XOR touches, and carries nothing into them, so
//
//     swizzle(x + d) = swizzle(x) + d    for every d that P divides.
//
// Addends of that kind are taken out of the XOR. Two accesses whose coordinates differ only by such
// addends then share one swizzled base and differ by a plain addition, which folds into an
// instruction's offset field.
//
//===----------------------------------------------------------------------------------------------===//

#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// Splits a tree of additions into addends that the period divides and the others.
void splitAddends(Value value, unsigned periodLog2, SmallVectorImpl<Value> &kept,
                  SmallVectorImpl<Value> &peeled) {
  if (knownTrailingZeros(value) >= periodLog2) {
    peeled.push_back(value);
    return;
  }
  if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    splitAddends(add.getLhs(), periodLog2, kept, peeled);
    splitAddends(add.getRhs(), periodLog2, kept, peeled);
    return;
  }
  kept.push_back(value);
}

Value sum(OpBuilder &builder, Location loc, ArrayRef<Value> addends) {
  Value total = addends.front();
  for (Value addend : addends.drop_front())
    total = arith::AddIOp::create(builder, loc, total, addend);
  return total;
}

void peel(arith::XOrIOp op, const Swizzle &swizzle) {
  SmallVector<Value> kept, peeled;
  splitAddends(swizzle.input, swizzle.periodLog2, kept, peeled);
  if (peeled.empty())
    return;

  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value swizzled;
  if (kept.empty()) {
    swizzled = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(op.getType()));
  } else {
    Value base = sum(builder, loc, kept);
    Value bits = arith::AndIOp::create(builder, loc, base, swizzle.mask);
    Value low = arith::ShRUIOp::create(builder, loc, bits, swizzle.shift);
    swizzled = arith::XOrIOp::create(builder, loc, base, low);
  }
  peeled.insert(peeled.begin(), swizzled);
  op.replaceAllUsesWith(sum(builder, loc, peeled));

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
  }
};

} // namespace

} // namespace mlir::fly
