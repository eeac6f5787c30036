#include "dialect/Fly/Transforms/AlgebraLowering.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "layout/checked.h"

namespace mlir::fly {

using namespace flydsl::layout;

namespace {

/// Whether a number made into a tuple by `user` is part of a shape, and so not negative.
bool makesShape(Operation *user) {
  if (isa<MakeShapeOp>(user))
    return true;
  if (!isa<MakeIntTupleOp>(user))
    return false;
  return llvm::any_of(user->getResult(0).getUses(), [](OpOperand &use) {
    return isa<MakeLayoutOp, MakeOrderedLayoutOp, MakeIdentityLayoutOp>(use.getOwner()) &&
           use.getOperandNumber() == 0;
  });
}

Value baseOf(ArrayRef<SymbolicValue> operands) {
  for (const SymbolicValue &operand : operands)
    if (operand.base)
      return operand.base;
  return {};
}

/// Takes the constants out of a tree of sums; they come back in `constant`.
ExprRef withoutConstants(const ExprRef &expr, int64_t &constant) {
  if (expr->isConstant()) {
    constant = checkedAdd(constant, expr->value());
    return exprConstant(0);
  }
  if (expr->op() != ExprOp::Add)
    return expr;
  ExprRef lhs = withoutConstants(expr->lhs(), constant),
          rhs = withoutConstants(expr->rhs(), constant);
  return lhs == expr->lhs() && rhs == expr->rhs() ? expr : exprAdd(lhs, rhs);
}

bool isPointerLike(const AlgebraValue &value) {
  return std::holds_alternative<PointerValue>(value) || std::holds_alternative<MemRefValue>(value);
}

} // namespace

Int AlgebraLowering::scalarOf(Value value, Operation *user, int64_t divisor) {
  if (std::optional<int64_t> c = constantValue(value))
    return Int(*c);
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  ExprRef expr = exprs_.exprOf(value, user, divisor, makesShape(user));
  return Int::dynamic(bits > 32 ? 64 : 32, divisor, expr);
}

FailureOr<SymbolicValue> AlgebraLowering::get(Value value, Operation *user) {
  auto it = known_.find(value);
  if (it != known_.end())
    return it->second;

  Type type = value.getType();
  if (type.isInteger(32) || type.isInteger(64))
    return SymbolicValue{
        ScalarValue{scalarOf(value, user, 1), type.getIntOrFloatBitWidth()}, {}, value};
  if (auto pointer = dyn_cast<PointerType>(type))
    return SymbolicValue{PointerValue{pointer, 0}, value, value};
  AlgebraValue anonymous = getAlgebraValue(type);
  std::optional<AnyLayout> layout = getLayoutOf(type);
  bool dynamic = isa<MayStaticTypeInterface>(type) && !isStaticType(type) &&
                 !std::holds_alternative<Type>(anonymous);
  if (dynamic || (layout && !isStatic(*layout)))
    return user->emitOpError("operand of type ")
           << type << " is not made by a constructor; run fly-rewrite-func-signature first";
  if (auto memref = std::get_if<MemRefValue>(&anonymous)) {
    OpBuilder builder(context_);
    builder.setInsertionPointAfterValue(value);
    SymbolicValue symbolic{*memref, GetIterOp::create(builder, value.getLoc(), value), value};
    known_[value] = symbolic;
    return symbolic;
  }
  return SymbolicValue{anonymous, {}, value};
}

LogicalResult AlgebraLowering::evaluate(AlgebraOpInterface op) {
  SmallVector<AlgebraValue> operands, results;
  SmallVector<SymbolicValue> symbolic;
  auto makesTuple = isa<MakeIntTupleOp, MakeShapeOp, MakeStrideOp, MakeCoordOp>(op.getOperation());
  std::vector<Int> typeLeaves;
  if (makesTuple)
    for (const Int &leaf : cast<IntTupleType>(op->getResult(0).getType()).getValue().leaves())
      if (leaf.isDynamic())
        typeLeaves.push_back(leaf);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (makesTuple && i < typeLeaves.size()) {
      // The leaf's type may promise more of the number than its definition shows.
      Int scalar = scalarOf(operand, op, typeLeaves[i].divisibility());
      symbolic.push_back(
          {ScalarValue{scalar, operand.getType().getIntOrFloatBitWidth()}, {}, operand});
    } else {
      FailureOr<SymbolicValue> value = get(operand, op);
      if (failed(value))
        return failure();
      symbolic.push_back(*value);
    }
    operands.push_back(symbolic.back().value);
  }
  if (failed(op.evaluate(operands, results)))
    return failure();

  Value base = baseOf(symbolic);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
    if (auto *scalar = std::get_if<ScalarValue>(&value)) {
      if (result.use_empty())
        continue;
      OpBuilder builder(op);
      ExprRef expr = scalar->value.expr();
      if (!expr)
        return op->emitOpError("operand has a number that no operation gives");
      Type type = result.getType();
      Value number = exprs_.materializeAs(builder, op.getLoc(), expr, type);
      result.replaceAllUsesWith(number);
      continue;
    }
    bool isNormal = isa<MakeIntTupleOp>(op.getOperation());
    known_[result] = SymbolicValue{value, isPointerLike(value) ? base : Value(),
                                   isNormal ? Value(result) : Value()};
  }
  return success();
}

Value AlgebraLowering::materializeInt(OpBuilder &builder, Location loc, const Int &leaf) {
  return exprs_.materializeAs(builder, loc, leaf.expr(), builder.getIntegerType(leaf.width()));
}

Value AlgebraLowering::materializeTuple(OpBuilder &builder, Location loc, const IntTuple &tuple) {
  SmallVector<Value> numbers;
  for (const Int &leaf : tuple.leaves())
    if (leaf.isDynamic())
      numbers.push_back(materializeInt(builder, loc, leaf));
  return MakeIntTupleOp::create(builder, loc, IntTupleType::get(context_, tuple), numbers);
}

Value AlgebraLowering::materializeLayout(OpBuilder &builder, Location loc,
                                         const AnyLayout &layout) {
  if (auto *plain = std::get_if<Layout>(&layout)) {
    Value shape = materializeTuple(builder, loc, plain->shape());
    Value stride = materializeTuple(builder, loc, plain->stride());
    return MakeLayoutOp::create(builder, loc, shape, stride);
  }
  const auto &composed = std::get<ComposedLayout>(layout);
  Value inner = std::visit(
      [&](const auto &function) -> Value {
        using T = std::decay_t<decltype(function)>;
        if constexpr (std::is_same_v<T, Swizzle>)
          return StaticOp::create(builder, loc, SwizzleType::get(context_, function));
        else if constexpr (std::is_same_v<T, CoordSwizzle>)
          return StaticOp::create(builder, loc, CoordSwizzleType::get(context_, function));
        else
          return materializeLayout(builder, loc, function);
      },
      composed.inner());
  Value offset = materializeTuple(builder, loc, composed.offset());
  Value outer = materializeLayout(builder, loc, composed.outer());
  return MakeComposedLayoutOp::create(builder, loc, inner, offset, outer);
}

/// If `early` is set, the operations are placed directly after their operands. They then never
/// stand between two accesses with the same predicate, which can so be merged under one branch.
Value AlgebraLowering::addOffset(OpBuilder &builder, Location loc, Value pointer, const Int &offset,
                                 bool early) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> numbers;
  Int leaf = offset;
  if (offset.isDynamic()) {
    auto space = cast<PointerType>(pointer.getType()).getSpace();
    auto mode = space.getAddressBits() <= 32 ? ExprMaterializer::Mode::Low32
                                             : ExprMaterializer::Mode::Exact;
    numbers.push_back(exprs_.materialize(builder, loc, offset.expr(), mode));
    leaf = Int::dynamic(numbers.front().getType().getIntOrFloatBitWidth(), offset.divisibility());
  }
  if (early) {
    exprs_.placeAfter(builder, pointer, numbers.empty() ? Value() : numbers.front());
    // Insert after the offsets that are there already, so that offsets keep the program's order.
    Block::iterator at = builder.getInsertionPoint();
    if (at != builder.getInsertionBlock()->end() && moves_.contains(&*at))
      builder.setInsertionPointAfter(endOfMoves(&*at));
  }
  auto tuple =
      MakeIntTupleOp::create(builder, loc, IntTupleType::get(context_, IntTuple(leaf)), numbers);
  auto moved = AddOffsetOp::create(builder, loc, pointer, tuple);
  moves_[tuple] = moved;
  moves_[moved] = moved;
  return moved;
}

Operation *AlgebraLowering::endOfMoves(Operation *op) {
  Operation *end = op;
  for (;;) {
    Operation *known = moves_.lookup(end), *next = known != end ? known : end->getNextNode();
    if (!next || !moves_.contains(next))
      break;
    end = next;
  }
  // Let every operation on the way point to the end directly, for the next search.
  while (op != end) {
    Operation *&slot = moves_[op];
    Operation *next = slot != op ? slot : op->getNextNode();
    slot = end;
    op = next;
  }
  return end;
}

LogicalResult AlgebraLowering::lowerAddOffset(AddOffsetOp op) {
  auto inner = op.getPtr().getDefiningOp<AddOffsetOp>();
  auto moved = [](AddOffsetOp by) { return cast<IntTupleType>(by.getOffset().getType()); };
  if (inner && isa<PointerType>(inner.getType()) && !inner->hasOneUse() &&
      moved(inner).isStatic() && !moved(op).isStatic()) {
    FailureOr<SymbolicValue> from = get(op.getPtr(), op);
    if (failed(from))
      return failure();
    OpBuilder builder(op);
    FailureOr<Value> made = materialize(builder, op.getLoc(), *from);
    if (failed(made))
      return failure();
    known_[op.getPtr()] =
        SymbolicValue{PointerValue{cast<PointerType>(made->getType()), 0}, *made, *made};
  }
  return evaluate(cast<AlgebraOpInterface>(op.getOperation()));
}

namespace {
/// An offset as the part that is known at run time, which may be null, and a constant.
std::pair<ExprRef, int64_t> splitOffset(const Int &offset) {
  if (!offset.isDynamic())
    return {nullptr, offset.value()};
  int64_t constant = 0;
  ExprRef expr = withoutConstants(offset.expr(), constant);
  return {expr->isConstant(0) ? nullptr : expr, constant};
}
} // namespace

/// Adds the part that is known at run time first and the constant last, so that accesses that
/// differ by a constant share the first addition.
Value AlgebraLowering::offsetPointer(OpBuilder &builder, Location loc, Value base,
                                     const PointerValue &pointer) {
  auto [dynamic, constant] = splitOffset(pointer.offset.leaf());
  Value result = base;
  // The pointer's type says how far the whole offset is known to be aligned; the constant is a
  // multiple of that too.
  if (dynamic)
    result =
        addOffset(builder, loc, result,
                  Int::dynamic(pointer.offset.leaf().width(),
                               std::max<int64_t>(pointer.type.getValueDivisibility(), 1), dynamic),
                  /*early=*/true);
  if (constant != 0)
    result = addOffset(builder, loc, result, Int(constant), /*early=*/true);
  if (!(cast<PointerType>(result.getType()).getSwizzle() == pointer.type.getSwizzle())) {
    Value swizzle =
        StaticOp::create(builder, loc, SwizzleType::get(context_, pointer.type.getSwizzle()));
    result = ApplySwizzleOp::create(builder, loc, result, swizzle);
  }
  return result;
}

Value AlgebraLowering::materializePointer(OpBuilder &builder, Location loc,
                                          const SymbolicValue &tensor, const IntTuple &offset) {
  const PointerValue &iterator =
      tensor.asMemRef() ? tensor.asMemRef()->iterator : *tensor.asPointer();
  PointerValue element = movedBy(iterator, offset);
  auto [dynamic, constant] = splitOffset(element.offset.leaf());
  if (dynamic && constant == 0)
    return offsetPointer(builder, loc, tensor.base, element);
  PointerValue shared = element;
  shared.offset = dynamic ? IntTuple(element.offset.leaf().withExpr(dynamic)) : IntTuple(0);
  return addOffset(builder, loc, offsetPointer(builder, loc, tensor.base, shared), Int(constant),
                   /*early=*/false);
}

FailureOr<Value> AlgebraLowering::materialize(OpBuilder &builder, Location loc,
                                              const SymbolicValue &symbolic) {
  if (symbolic.origin)
    return symbolic.origin;
  return std::visit(
      [&](const auto &value) -> FailureOr<Value> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Type>)
          return Value(StaticOp::create(builder, loc, value));
        else if constexpr (std::is_same_v<T, IntTuple>)
          return materializeTuple(builder, loc, value);
        else if constexpr (std::is_same_v<T, Layout> || std::is_same_v<T, ComposedLayout>)
          return materializeLayout(builder, loc, value);
        else if constexpr (std::is_same_v<T, Tile>)
          return Value(StaticOp::create(builder, loc, TileType::get(context_, value)));
        else if constexpr (std::is_same_v<T, Swizzle>)
          return Value(StaticOp::create(builder, loc, SwizzleType::get(context_, value)));
        else if constexpr (std::is_same_v<T, CoordSwizzle>)
          return Value(StaticOp::create(builder, loc, CoordSwizzleType::get(context_, value)));
        else if constexpr (std::is_same_v<T, ScalarValue>)
          return exprs_.materializeAs(builder, loc, value.value.expr(),
                                      builder.getIntegerType(value.bits));
        else if constexpr (std::is_same_v<T, PointerValue>)
          return offsetPointer(builder, loc, symbolic.base, value);
        else if constexpr (std::is_same_v<T, MemRefValue>)
          return Value(MakeViewOp::create(
              builder, loc, offsetPointer(builder, loc, symbolic.base, value.iterator),
              materializeLayout(builder, loc, value.layout)));
        else
          return Value(MakeViewOp::create(builder, loc, materializeTuple(builder, loc, value.base),
                                          materializeLayout(builder, loc, value.layout)));
      },
      symbolic.value);
}

} // namespace mlir::fly
