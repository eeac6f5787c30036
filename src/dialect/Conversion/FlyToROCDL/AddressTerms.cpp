#include "dialect/Conversion/FlyToROCDL/AddressTerms.h"

#include "dialect/Conversion/FlyToROCDL/NarrowIntegers.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fly {

static bool isShift(Value by) {
  const std::optional<int64_t> bits = constantValue(by);
  return bits && *bits >= 0 && *bits <= 62;
}
static bool isExactIn32(Operation *op) {
  using namespace flydsl::layout;
  if (isa<arith::ShLIOp>(op) && !isShift(op->getOperand(1)))
    return false;
  return fits32([&] {
    const ExprRef a = factsOf(op->getOperand(0)), b = factsOf(op->getOperand(1));
    return isa<arith::AddIOp>(op)   ? exprAdd(a, b)
           : isa<arith::MulIOp>(op) ? exprMul(a, b)
                                    : exprMul(a, exprConstant(int64_t(1) << b->value()));
  });
}

bool isExact(Operation *op) {
  return op->getResult(0).getType().isInteger(64) ||
         (op->getResult(0).getType().isInteger(32) && isExactIn32(op));
}

namespace {

/// Splits sums of integers into their terms. It makes operations where it multiplies out, at `builder`.
class TermsOfSums {
public:
  TermsOfSums(OpBuilder &builder, Location loc, const Uniformity &uniformity)
      : builder_(builder), loc_(loc), uniformity_(uniformity) {}

  /// Adds the terms of an integer of 32 or 64 bits, as a number with a sign.
  void add(Value value, AddressTerms &to) {
    if (std::optional<int64_t> constant = constantValue(value)) {
      to.constant += static_cast<uint64_t>(*constant);
    } else if (uniformity_.isUniform(value)) {
      to.ofWave.push_back(value);
    } else if (!addParts(value, to)) {
      to.ofLane.push_back(value);
    }
  }

private:
  /// False if the value is no sum whose parts can be added one by one.
  bool addParts(Value value, AddressTerms &to) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    // An extension of a sum is the sum of the extensions only if the sum does not wrap.
    if (isa<arith::ExtSIOp>(op) || isa<arith::ExtUIOp>(op)) {
      Value from = op->getOperand(0);
      if (!from.getType().isInteger(32) || (isa<arith::ExtUIOp>(op) && !isNonNegative(from)))
        return false;
      add(from, to);
      return true;
    }
    if (isa<arith::AddIOp>(op) && isExact(op)) {
      add(op->getOperand(0), to);
      add(op->getOperand(1), to);
      return true;
    }
    if (Value whole = withoutQuotient(op)) {
      add(whole, to);
      return true;
    }
    return multiplyOut(op, to);
  }

  /// x, if the operation is x / c * c and c divides x: a piece of c neighbours, at x as its number.
  static Value withoutQuotient(Operation *op) {
    using namespace flydsl::layout;
    if (!isa<arith::MulIOp, arith::ShLIOp>(op))
      return {};
    const std::optional<int64_t> by = constantValue(op->getOperand(1));
    if (!by || *by <= 0 || (isa<arith::ShLIOp>(op) && !isShift(op->getOperand(1))))
      return {};
    const int64_t factor = isa<arith::ShLIOp>(op) ? int64_t(1) << *by : *by;
    Value quotient = op->getOperand(0);
    if (auto extended = quotient.getDefiningOp<arith::ExtSIOp>())
      quotient = extended.getIn();
    Operation *division = quotient.getDefiningOp();
    if (!isa_and_nonnull<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(division) ||
        constantValue(division->getOperand(1)) != factor)
      return {};
    Value whole = division->getOperand(0);
    const ExprRef facts = factsOf(whole);
    if (isa<arith::DivUIOp>(division) && !facts->range().isNonNegative())
      return {};
    return facts->divisor() % factor == 0 ? whole : Value();
  }

  /// A product of a sum and a factor that all lanes have in common.
  bool multiplyOut(Operation *op, AddressTerms &to) {
    if (!isa<arith::MulIOp, arith::ShLIOp>(op) || !isExact(op))
      return false;
    Value factor = op->getOperand(1), other = op->getOperand(0);
    if (isa<arith::MulIOp>(op) && !uniformity_.isUniform(factor))
      std::swap(factor, other);
    if (!uniformity_.isUniform(factor) || (isa<arith::ShLIOp>(op) && !isShift(factor)))
      return false;
    AddressTerms parts;
    add(other, parts);
    if (parts.ofWave.empty() && parts.constant == 0)
      return false;
    for (Value part : parts.ofWave)
      to.ofWave.push_back(times(op, part, factor));
    for (Value part : parts.ofLane)
      to.ofLane.push_back(times(op, part, factor));
    if (parts.constant != 0)
      addConstant(op, parts.constant, factor, to);
    return true;
  }

  void addConstant(Operation *op, uint64_t constant, Value factor, AddressTerms &to) {
    if (std::optional<int64_t> by = constantValue(factor)) {
      to.constant +=
          isa<arith::ShLIOp>(op) ? constant << *by : constant * static_cast<uint64_t>(*by);
      return;
    }
    Value number = arith::ConstantOp::create(
        builder_, loc_, builder_.getI64IntegerAttr(static_cast<int64_t>(constant)));
    to.ofWave.push_back(times(op, number, factor));
  }

  /// In the type of the product where it is known to fit there, else in 64 bits: a part may be
  /// larger than the sum.
  Value times(Operation *op, Value part, Value factor) {
    using namespace flydsl::layout;
    const bool shifts = isa<arith::ShLIOp>(op);
    const ExprRef by =
        shifts ? exprConstant(int64_t(1) << *constantValue(factor)) : factsOf(factor);
    Type type = op->getResult(0).getType();
    if (!fits32([&] { return exprMul(factsOf(part), by); }))
      type = builder_.getI64Type();
    part = inType(part, type);
    factor = inType(factor, type);
    if (shifts)
      return arith::ShLIOp::create(builder_, loc_, part, factor);
    return arith::MulIOp::create(builder_, loc_, part, factor);
  }
  Value inType(Value value, Type type) {
    const unsigned from = value.getType().getIntOrFloatBitWidth(),
                   to = type.getIntOrFloatBitWidth();
    if (from < to)
      return arith::ExtSIOp::create(builder_, loc_, type, value);
    return from > to ? Value(arith::TruncIOp::create(builder_, loc_, type, value)) : value;
  }

  static bool isNonNegative(Value value) { return factsOf(value)->range().isNonNegative(); }

  OpBuilder &builder_;
  Location loc_;
  const Uniformity &uniformity_;
};

} // namespace

void addTerms(OpBuilder &builder, Location loc, const Uniformity &uniformity, Value value,
              AddressTerms &to) {
  TermsOfSums(builder, loc, uniformity).add(value, to);
}

} // namespace mlir::fly
