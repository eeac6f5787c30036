#include "dialect/Conversion/FlyToROCDL/AddressSum.h"

#include "dialect/Conversion/FlyToROCDL/NarrowIntegers.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::fly {

using namespace flydsl::layout;

std::optional<int64_t> bytesOf(Type type) {
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() % 8 != 0)
    return std::nullopt;
  return type.getIntOrFloatBitWidth() / 8;
}

AddressConstant AddressConstant::of(uint64_t bytes, unsigned bits) {
  const uint64_t range = uint64_t(1) << bits, common = (bytes + range / 2) & ~(range - 1);
  return {static_cast<int64_t>(common), static_cast<int64_t>(bytes - common)};
}

unsigned Loops::around(Value value) {
  if (auto known = known_.find(value); known != known_.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  unsigned count = 0;
  if (op && isPure(op) && op->getNumRegions() == 0) {
    for (Value operand : op->getOperands())
      count = std::max(count, around(operand));
  } else {
    for (Operation *parent = value.getParentBlock()->getParentOp(); parent;
         parent = parent->getParentOp())
      count += isa<LoopLikeOpInterface>(parent);
  }
  known_[value] = count;
  return count;
}

//===-- What fits ---------------------------------------------------------===//

bool fitsLane(ArrayRef<Value> terms) {
  return fits32([&] {
    ExprRef all = exprConstant(0);
    for (Value term : terms)
      all = exprAdd(all, factsOf(term));
    return all;
  });
}

static bool fitsBytes(ArrayRef<AddressMove> moves, ExprRef (*facts)(Value)) {
  return fitsUnsigned32([&] {
    ExprRef all = exprConstant(0);
    for (const AddressMove &move : moves)
      for (Value term : move.by.ofLane)
        all = exprAdd(all, exprMul(facts(term), exprConstant(*bytesOf(move.step))));
    return all;
  });
}
bool fitsByAssumptions(ArrayRef<AddressMove> moves) {
  return !fitsBytes(moves, factsWithoutAssumptions) && fitsBytes(moves, factsOf);
}

//===-- Sums ----------------------------------------------------------------===//

static Value numberOf(OpBuilder &builder, Location loc, Value pointer) {
  const Type number = builder.getI64Type();
  auto from = pointer.getDefiningOp<LLVM::IntToPtrOp>();
  return from && from.getArg().getType() == number
             ? from.getArg()
             : Value(LLVM::PtrToIntOp::create(builder, loc, number, pointer));
}
static Value constant64(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}
static Value times64(OpBuilder &builder, Location loc, Value value, int64_t by) {
  return by == 1 ? value
                 : Value(arith::MulIOp::create(builder, loc, value, constant64(builder, loc, by)));
}
/// A number in 64 bits, which shows where it has 32 without a sign.
static Value extended(OpBuilder &builder, Location loc, Value value) {
  return fitsUnsigned32(value) ? unsigned32(builder, loc, value) : wide(builder, loc, value);
}
/// The lane's terms in bytes, extended without a sign: the instruction takes such an offset as it is.
static Value bytesOfLane(OpBuilder &builder, Location loc, ArrayRef<AddressMove> moves) {
  SmallVector<Value> all;
  for (const AddressMove &move : moves)
    if (!move.by.ofLane.empty())
      all.push_back(
          times32(builder, loc, sum32(builder, loc, move.by.ofLane), *bytesOf(move.step)));
  return unsigned32(builder, loc, sum32(builder, loc, all));
}

Value AddressSums::addUp(OpBuilder &builder, LLVM::GEPOp end, Value base,
                         ArrayRef<AddressMove> moves, const AddressConstant &constant) {
  const Location loc = end.getLoc();
  Value sum; // the base with what was added as numbers; none: nothing was
  const auto add = [&](auto bytes) {
    if (!sum)
      sum = numberOf(builder, loc, base);
    sum = arith::AddIOp::create(builder, loc, sum, bytes());
  };
  for (const AddressMove &move : moves)
    if (!move.by.ofWave.empty())
      add([&] {
        return times64(builder, loc, sum64(builder, loc, move.by.ofWave), *bytesOf(move.step));
      });
  if (constant.common != 0)
    add([&] { return constant64(builder, loc, constant.common); });
  const bool assumed = fitsByAssumptions(moves);
  if (!assumed)
    addWide(moves, [&](ArrayRef<WideTerm> together) {
      add([&] { return bytesOfTerms(builder, loc, together); });
    });
  if (sum)
    base = LLVM::IntToPtrOp::create(builder, loc, end.getType(), sum);
  auto moved = [&](Type step, LLVM::GEPArg by) {
    base = LLVM::GEPOp::create(builder, loc, end.getType(), step, base, by);
  };
  if (assumed) {
    moved(builder.getI8Type(), bytesOfLane(builder, loc, moves));
  } else {
    for (const AddressMove &move : moves)
      if (!move.by.ofLane.empty() && fitsLane(move.by.ofLane))
        moved(move.step, sum32(builder, loc, move.by.ofLane));
  }
  if (llvm::isInt<32>(constant.near) && constant.near != 0)
    moved(builder.getI8Type(), static_cast<int32_t>(constant.near));
  else if (constant.near != 0)
    moved(builder.getI8Type(), constant64(builder, loc, constant.near));
  return base;
}

//===-- Terms of 64 bits ----------------------------------------------------===//

/// Calls `add` with the terms of sums that 32 bits do not hold, those first that change least often:
/// what accesses of a loop have in common is so added up before it, and what neighbouring rows have in
/// common once for all of them. Small terms that change together are one number of 32 bits.
void AddressSums::addWide(ArrayRef<AddressMove> moves, function_ref<void(ArrayRef<WideTerm>)> add) {
  SmallVector<WideTerm> terms;
  for (const AddressMove &move : moves)
    if (!fitsLane(move.by.ofLane))
      for (Value term : move.by.ofLane) {
        const int64_t bytes = *bytesOf(move.step);
        const bool small = !isRow(term) && fitsUnsigned32(term, bytes);
        terms.push_back({term, bytes, loops_.around(term), small, terms.size()});
      }
  llvm::sort(terms, [&](const WideTerm &a, const WideTerm &b) {
    return std::tuple(a.loops, !a.small, a.place) < std::tuple(b.loops, !b.small, b.place);
  });
  for (ArrayRef<WideTerm> rest = terms; !rest.empty();) {
    size_t count = 1;
    while (rest[0].small && count < rest.size() && rest[count].small &&
           rest[count].loops == rest[0].loops && fitTogether(rest.take_front(count + 1)))
      ++count;
    add(rest.take_front(count));
    rest = rest.drop_front(count);
  }
}
bool AddressSums::fitTogether(ArrayRef<WideTerm> terms) {
  return fitsUnsigned32([&] {
    ExprRef all = exprConstant(0);
    for (const WideTerm &term : terms)
      all = exprAdd(all, exprMul(factsOf(term.value), exprConstant(term.bytes)));
    return all;
  });
}
/// A product with a number that the lanes have in common and that only the call knows.
bool AddressSums::isRow(Value term) const {
  auto product = term.getDefiningOp<arith::MulIOp>();
  return product && llvm::any_of(product->getOperands(), [&](Value factor) {
           return uniformity_.isUniform(factor) && !constantValue(factor);
         });
}
Value AddressSums::bytesOfTerms(OpBuilder &builder, Location loc, ArrayRef<WideTerm> terms) const {
  if (terms.size() == 1)
    return bytesOfTerm(builder, loc, terms[0]);
  SmallVector<Value> all;
  for (const WideTerm &term : terms)
    all.push_back(times32(builder, loc, term.value, term.bytes));
  return unsigned32(builder, loc, sum32(builder, loc, all));
}
/// A term in bytes. Of a product, the factor that the lanes have in common takes the bytes. If both
/// factors are known to be 32 bits without a sign, they are extended, and their product and its sum
/// are one instruction.
Value AddressSums::bytesOfTerm(OpBuilder &builder, Location loc, const WideTerm &term) const {
  const auto inBytes = [&](Value value) { return times64(builder, loc, value, term.bytes); };
  auto product = term.value.getDefiningOp<arith::MulIOp>();
  if (!product || !isExact(product))
    return inBytes(extended(builder, loc, term.value));
  Value factor = product.getRhs(), own = product.getLhs();
  if (!uniformity_.isUniform(factor))
    std::swap(factor, own);
  if (!uniformity_.isUniform(factor))
    return inBytes(extended(builder, loc, product));
  const std::optional<int64_t> known = constantValue(factor);
  Value common =
      known ? constant64(builder, loc, *known * term.bytes) : inBytes(wide(builder, loc, factor));
  if (!known && fitsUnsigned32(own) && fitsUnsigned32(factor, term.bytes))
    common = unsigned32(builder, loc, common);
  return arith::MulIOp::create(builder, loc, extended(builder, loc, own), common);
}

} // namespace mlir::fly
