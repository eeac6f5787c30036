#include "dialect/Fly/Transforms/ExprMaterializer.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "layout/checked.h"

#include <algorithm>

namespace mlir::fly {

using namespace flydsl::layout;

namespace {

bool isLogic(ExprOp op) { return op == ExprOp::Less || op == ExprOp::Equal; }

/// True for operations whose low 32 bits depend on nothing but the low 32 bits of their operands.
bool isModular(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Mul || op == ExprOp::And ||
         op == ExprOp::Or || op == ExprOp::Xor || op == ExprOp::Shl;
}

bool isZeroOrOne(const Expr &e) { return e.range().lo >= 0 && e.range().hi <= 1; }

/// The bits that `e` is computed in.
unsigned widthFor(const Expr &e, ExprMaterializer::Mode mode) {
  switch (mode) {
  case ExprMaterializer::Mode::Typed:
    return e.width();
  case ExprMaterializer::Mode::Exact:
    if (!e.range().fits32())
      return 64;
    if (e.isConstant() || e.isSymbol() || isModular(e.op()))
      return 32;
    return e.lhs()->range().fits32() && e.rhs()->range().fits32() ? 32 : 64;
  case ExprMaterializer::Mode::Low32:
    if (e.isConstant() || e.isSymbol() || isModular(e.op()) || e.width() == 32)
      return 32;
    return 64;
  }
  return 64;
}

Block *entryBlockOf(Block *block) {
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp()) {
    if (isa<FunctionOpInterface>(op) || op->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return &block->getParent()->front();
    block = op->getBlock();
  }
  return &block->getParent()->front();
}

} // namespace

ExprRef ExprMaterializer::exprOf(Value value, Operation *user, int64_t divisor, bool nonNegative) {
  if (std::optional<int64_t> c = constantValue(value))
    return exprConstant(*c);
  auto holds = [&](const Known &known) {
    return !known.expr->isSymbol() ||
           (known.expr->divisor() % divisor == 0 &&
            (!nonNegative || known.expr->range().isNonNegative()) &&
            (!known.promisedIn || known.promisedIn->findAncestorOpInBlock(*user)));
  };
  SmallVector<Known, 1> &all = exprsOfValue_[value];
  for (const Known &known : llvm::reverse(all))
    if (holds(known))
      return known.expr;
  ExprRef facts = factsOf(value);
  int64_t known = facts->divisor(), g = gcdOf(known, divisor);
  // Both promises hold, so their least common multiple is a divisor too. If it does not fit into 64
  // bits, the larger promise is kept.
  int64_t lcm;
  if (__builtin_mul_overflow(known / g, divisor, &lcm))
    lcm = std::max(known, divisor);
  int width = value.getType().getIntOrFloatBitWidth() > 32 ? 64 : 32;
  flydsl::layout::ValueRange range = facts->range();
  if (nonNegative)
    range.lo = std::max<int64_t>(range.lo, 0);
  ExprRef symbol = exprSymbol(symbolValues_.size(), width, lcm, range);
  symbolValues_.push_back(value);
  bool promises = divisor != 1 || nonNegative;
  all.push_back({symbol, promises ? user->getBlock() : nullptr});
  return symbol;
}

Value ExprMaterializer::constant(OpBuilder &builder, Location loc, int64_t value, Type type) {
  Block *entry = entryBlockOf(builder.getInsertionBlock());
  Value &slot = constants_[{entry, value, type}];
  if (!slot) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    unsigned bits = type.getIntOrFloatBitWidth();
    slot = arith::ConstantOp::create(
        builder, loc,
        IntegerAttr::get(type, APInt(bits, static_cast<uint64_t>(value), /*isSigned=*/true,
                                     /*implicitTrunc=*/true)));
  }
  return slot;
}

Value ExprMaterializer::convert(OpBuilder &builder, Location loc, Value value, unsigned width,
                                bool nonNegative) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  Type type = builder.getIntegerType(width);
  if (from == width)
    return value;
  if (from > width)
    return arith::TruncIOp::create(builder, loc, type, value);
  if (nonNegative || from == 1)
    return arith::ExtUIOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}

void ExprMaterializer::placeAfter(OpBuilder &builder, Value a, Value b) {
  if (here_)
    return;
  auto isConstant = [](Value v) { return !v || constantValue(v).has_value(); };
  Value later = isConstant(a) ? b : a;
  if (!isConstant(a) && !isConstant(b)) {
    Operation *defB = b.getDefiningOp();
    bool aFirst = defB ? dominance_.properlyDominates(a, defB)
                       : !dominance_.properlyDominates(b.getParentBlock(), a.getParentBlock()) &&
                             b.getParentBlock() != a.getParentBlock();
    later = aFirst ? b : a;
  }
  if (isConstant(later))
    return;
  builder.setInsertionPointAfterValue(later);
  // Constants come first in the entry block; operations on arguments come after them.
  while (builder.getInsertionPoint() != builder.getInsertionBlock()->end() &&
         isa<arith::ConstantOp>(*builder.getInsertionPoint()))
    builder.setInsertionPointAfter(&*builder.getInsertionPoint());
}

Value ExprMaterializer::cached(OpBuilder &builder, const Key &key) {
  auto it = done_.find(key);
  if (it == done_.end())
    return {};
  // Divisions stay where they were asked for, so a cached value may not dominate this place.
  Value value = it->second;
  Block *block = builder.getInsertionBlock();
  auto point = builder.getInsertionPoint();
  if (point != block->end() ? dominance_.properlyDominates(value, &*point)
                            : dominance_.dominates(value.getParentBlock(), block))
    return value;
  return {};
}

namespace {
/// The number that is added to a dividend before it is shifted right by `bits`, so that the
/// quotient rounds towards zero: 2^bits - 1 if the dividend is negative, else 0.
Value roundingBias(OpBuilder &builder, Location loc, Value dividend, unsigned bits,
                   function_ref<Value(int64_t)> number) {
  unsigned width = dividend.getType().getIntOrFloatBitWidth();
  Value sign = arith::ShRSIOp::create(builder, loc, dividend, number(width - 1));
  return arith::ShRUIOp::create(builder, loc, sign, number(width - bits));
}
} // namespace

Value ExprMaterializer::emitNode(OpBuilder &builder, Location loc, const Expr &node, unsigned width,
                                 Value lhs, Value rhs) {
  Type type = builder.getIntegerType(width);
  bool nonNegative = node.lhs()->range().isNonNegative() && node.rhs()->range().isNonNegative();
  bool powerOfTwo = node.rhs()->isConstant() && isPowerOf2(node.rhs()->value());
  unsigned bits = powerOfTwo ? __builtin_ctzll(node.rhs()->value()) : 0;
  auto number = [&](int64_t v) { return constant(builder, loc, v, type); };
  switch (node.op()) {
  case ExprOp::Add:
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Sub:
    return arith::SubIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Mul:
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Div:
    if (nonNegative && powerOfTwo)
      return arith::ShRUIOp::create(builder, loc, lhs, number(bits));
    if (powerOfTwo && bits > 0 && bits < width) {
      // If the power of two divides the dividend, there is no remainder to round, whatever its
      // sign.
      if (node.lhs()->divisor() % node.rhs()->value() != 0)
        lhs =
            arith::AddIOp::create(builder, loc, lhs, roundingBias(builder, loc, lhs, bits, number));
      return arith::ShRSIOp::create(builder, loc, lhs, number(bits));
    }
    if (nonNegative)
      return arith::DivUIOp::create(builder, loc, lhs, rhs);
    return arith::DivSIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Mod:
    if (nonNegative && powerOfTwo)
      return arith::AndIOp::create(builder, loc, lhs, number(node.rhs()->value() - 1));
    if (powerOfTwo && bits > 0 && bits < width) {
      Value bias = roundingBias(builder, loc, lhs, bits, number);
      Value low =
          arith::AndIOp::create(builder, loc, arith::AddIOp::create(builder, loc, lhs, bias),
                                number(node.rhs()->value() - 1));
      return arith::SubIOp::create(builder, loc, low, bias);
    }
    if (nonNegative)
      return arith::RemUIOp::create(builder, loc, lhs, rhs);
    return arith::RemSIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Min:
    return arith::MinSIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Max:
    return arith::MaxSIOp::create(builder, loc, lhs, rhs);
  case ExprOp::And:
    return arith::AndIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Or:
    return arith::OrIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Xor:
    return arith::XOrIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Shl:
    return arith::ShLIOp::create(builder, loc, lhs, rhs);
  case ExprOp::Shr:
    return arith::ShRUIOp::create(builder, loc, lhs, rhs);
  default:
    llvm_unreachable("leaves and comparisons are emitted elsewhere");
  }
}

Value ExprMaterializer::emitLogic(OpBuilder &builder, Location loc, const ExprRef &expr,
                                  Mode mode) {
  if (expr->isConstant())
    return constant(builder, loc, expr->value() != 0, builder.getI1Type());
  Key key{expr, 1, mode, entryBlockOf(builder.getInsertionBlock())};
  if (Value known = cached(builder, key))
    return known;

  OpBuilder::InsertionGuard guard(builder);
  Value result;
  if (isLogic(expr->op())) {
    const Expr &a = *expr->lhs(), &b = *expr->rhs();
    unsigned width = std::max(widthFor(a, mode), widthFor(b, mode));
    Value lhs = emit(builder, loc, expr->lhs(), width, mode);
    Value rhs = emit(builder, loc, expr->rhs(), width, mode);
    placeAfter(builder, lhs, rhs);
    auto predicate =
        expr->op() == ExprOp::Less ? arith::CmpIPredicate::slt : arith::CmpIPredicate::eq;
    result = arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  } else if ((expr->op() == ExprOp::And || expr->op() == ExprOp::Or || expr->op() == ExprOp::Xor) &&
             isZeroOrOne(*expr->lhs()) && isZeroOrOne(*expr->rhs())) {
    Value lhs = emitLogic(builder, loc, expr->lhs(), mode),
          rhs = emitLogic(builder, loc, expr->rhs(), mode);
    placeAfter(builder, lhs, rhs);
    if (expr->op() == ExprOp::And)
      result = arith::AndIOp::create(builder, loc, lhs, rhs);
    else if (expr->op() == ExprOp::Or)
      result = arith::OrIOp::create(builder, loc, lhs, rhs);
    else
      result = arith::XOrIOp::create(builder, loc, lhs, rhs);
  } else {
    Value value = emit(builder, loc, expr, widthFor(*expr, mode), mode);
    placeAfter(builder, value, {});
    result = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                   constant(builder, loc, 0, value.getType()));
  }
  done_[key] = result;
  return result;
}

Value ExprMaterializer::emit(OpBuilder &builder, Location loc, const ExprRef &expr, unsigned width,
                             Mode mode) {
  if (expr->isConstant())
    return constant(builder, loc, expr->value(), builder.getIntegerType(width));
  Key key{expr, width, mode, entryBlockOf(builder.getInsertionBlock())};
  if (Value known = cached(builder, key))
    return known;

  OpBuilder::InsertionGuard guard(builder);
  unsigned own = widthFor(*expr, mode);
  Value result;
  if (expr->isSymbol()) {
    result = symbolValues_[expr->symbol()];
    own = result.getType().getIntOrFloatBitWidth();
  } else if (isLogic(expr->op())) {
    result = emitLogic(builder, loc, expr, mode);
    own = 1;
  } else if (own != width) {
    result = emit(builder, loc, expr, own, mode);
  } else {
    // A division whose divisor may be zero must not move to a place where the program does not
    // divide.
    bool speculatable =
        (expr->op() != ExprOp::Div && expr->op() != ExprOp::Mod) || expr->rhs()->range().lo > 0;
    // Operands of an operation that depends on high bits are computed in full.
    Mode below = mode == Mode::Low32 && !isModular(expr->op()) && width == 64 ? Mode::Exact : mode;
    Value lhs = emit(builder, loc, expr->lhs(), width, below);
    Value rhs;
    bool shifts = expr->rhs()->isConstant() && isPowerOf2(expr->rhs()->value()) &&
                  expr->rhs()->value() > 1 && (width == 64 || expr->rhs()->value() <= INT32_MAX) &&
                  (expr->op() == ExprOp::Div || expr->op() == ExprOp::Mod);
    if (!shifts)
      rhs = emit(builder, loc, expr->rhs(), width, below);
    if (speculatable)
      placeAfter(builder, lhs, rhs);
    result = emitNode(builder, loc, *expr, width, lhs, rhs);
    done_[key] = result;
    return result;
  }
  if (own != width) {
    placeAfter(builder, result, {});
    result = convert(builder, loc, result, width, expr->range().isNonNegative());
  }
  done_[key] = result;
  return result;
}

Value ExprMaterializer::materialize(OpBuilder &builder, Location loc, const ExprRef &expr,
                                    Mode mode) {
  Value value = emit(builder, loc, expr, widthFor(*expr, mode), mode);
  remember(value, expr);
  return value;
}

void ExprMaterializer::remember(Value value, const ExprRef &expr) {
  SmallVector<Known, 1> &all = exprsOfValue_[value];
  if (all.empty())
    all.push_back({expr, nullptr});
}

Value ExprMaterializer::materializeAs(OpBuilder &builder, Location loc, const ExprRef &expr,
                                      Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  Value value = width == 1 ? emitLogic(builder, loc, expr, Mode::Typed)
                           : emit(builder, loc, expr, width, Mode::Typed);
  if (width != 1)
    remember(value, expr);
  return value;
}

Value ExprMaterializer::materializeHere(OpBuilder &builder, Location loc, const ExprRef &expr,
                                        Type type) {
  here_ = true;
  Value value = materializeAs(builder, loc, expr, type);
  here_ = false;
  return value;
}

} // namespace mlir::fly
