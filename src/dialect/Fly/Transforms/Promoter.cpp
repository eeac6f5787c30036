#include "dialect/Fly/Transforms/Promoter.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fly::promotion {

namespace {
/// `value` as `type` of the same number of elements and bits.
Value cast(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (isa<VectorType>(type))
    return vector::BitCastOp::create(builder, loc, type, value);
  Value one =
      vector::FromElementsOp::create(builder, loc, VectorType::get({1}, value.getType()), value);
  one = vector::BitCastOp::create(builder, loc, VectorType::get({1}, type), one);
  return vector::ExtractOp::create(builder, loc, one, ArrayRef<int64_t>{0});
}
} // namespace

void Promoter::run(Block &block, State &state) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (analysis_.promoted().contains(&op)) {
      OpBuilder builder(&op);
      state[&op] = contents(ub::PoisonOp::create(builder, op.getLoc(), analysis_.typeOf(&op)));
    } else if (auto load = dyn_cast<PtrLoadOp>(op)) {
      promoteLoad(load, state);
    } else if (auto store = dyn_cast<PtrStoreOp>(op)) {
      promoteStore(store, state);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      promoteFor(loop, state);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      promoteIf(branch, state);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      promoteWhile(loop, state);
    } else {
      // Memory that is made inside another kind of region is not visible outside of it.
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          run(inner, state);
    }
  }
}

void Promoter::promoteLoad(PtrLoadOp op, State &state) {
  std::optional<Slot> slot = analysis_.slotOf(op.getPtr());
  if (!slot)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type type = op.getResult().getType();
  Value part =
      state[slot->root].load(builder, loc, slot->offset, elementCount(type), isa<VectorType>(type));
  op.getResult().replaceAllUsesWith(cast(builder, loc, part, type));
  op.erase();
}

void Promoter::promoteStore(PtrStoreOp op, State &state) {
  std::optional<Slot> slot = analysis_.slotOf(op.getPtr());
  if (!slot)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type type = analysis_.typeOf(slot->root).getElementType();
  if (auto vector = dyn_cast<VectorType>(op.getValue().getType()))
    type = VectorType::get(vector.getShape(), type);
  Value value = cast(builder, loc, op.getValue(), type);
  state[slot->root].store(builder, loc, value, slot->offset);
  op.erase();
}

SmallVector<Operation *> Promoter::touchedIn(Operation *op, const State &state) {
  Roots touched;
  op->walk([&](Operation *inner) {
    Value pointer;
    if (auto load = dyn_cast<PtrLoadOp>(inner))
      pointer = load.getPtr();
    else if (auto store = dyn_cast<PtrStoreOp>(inner))
      pointer = store.getPtr();
    if (!pointer)
      return;
    if (std::optional<Slot> slot = analysis_.slotOf(pointer); slot && state.contains(slot->root))
      touched.insert(slot->root);
  });
  SmallVector<Operation *> ordered;
  for (Operation *root : analysis_.promoted())
    if (touched.contains(root))
      ordered.push_back(root);
  return ordered;
}

SmallVector<Value> Promoter::valuesBefore(Operation *op, ArrayRef<Operation *> roots,
                                          State &state) const {
  OpBuilder builder(op);
  SmallVector<Value> values;
  forParts(roots, [&](Operation *root, int64_t offset, int64_t size) {
    const bool isWhole = size == analysis_.typeOf(root).getNumElements();
    values.push_back(isWhole ? state[root].joined(builder, op->getLoc())
                             : state[root].gather(builder, op->getLoc(), offset, size));
  });
  return values;
}

SmallVector<Type> Promoter::typesOf(ArrayRef<Operation *> roots) const {
  SmallVector<Type> types;
  forParts(roots, [&](Operation *root, int64_t, int64_t size) {
    types.push_back(VectorType::get({size}, analysis_.typeOf(root).getElementType()));
  });
  return types;
}

void Promoter::assign(State &state, ArrayRef<Operation *> roots, ValueRange values,
                      OpBuilder at) const {
  size_t next = 0;
  forParts(roots, [&](Operation *root, int64_t offset, int64_t size) {
    Value value = values[next++];
    VectorType type = analysis_.typeOf(root);
    if (size == type.getNumElements()) {
      state[root] = contents(value);
      return;
    }
    if (offset == 0)
      state[root] = contents(ub::PoisonOp::create(at, root->getLoc(), type));
    state[root].store(at, root->getLoc(), value, offset);
  });
}

void Promoter::passOn(Operation *terminator, ArrayRef<Operation *> roots, State &state) const {
  SmallVector<Value> values = valuesBefore(terminator, roots, state);
  terminator->insertOperands(terminator->getNumOperands(), values);
}

void Promoter::replace(Operation *op, Operation *with, ArrayRef<Operation *> roots, State &state) {
  unsigned old = op->getNumResults();
  op->replaceAllUsesWith(with->getResults().take_front(old));
  assign(state, roots, with->getResults().drop_front(old), OpBuilder(op));
  with->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->erase();
}

void Promoter::promoteFor(scf::ForOp op, State &state) {
  SmallVector<Operation *> roots = touchedIn(op, state);
  if (roots.empty())
    return run(*op.getBody(), state);
  OpBuilder builder(op);
  SmallVector<Value> inits(op.getInitArgs());
  inits.append(valuesBefore(op, roots, state));
  auto loop = scf::ForOp::create(builder, op.getLoc(), op.getLowerBound(), op.getUpperBound(),
                                 op.getStep(), inits, nullptr, op.getUnsignedCmp());
  // The builder makes a terminator only where nothing is carried.
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  loop.getBody()->getOperations().splice(loop.getBody()->end(), op.getBody()->getOperations());
  for (auto [from, to] :
       llvm::zip_first(op.getBody()->getArguments(), loop.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  State inner = state;
  builder.setInsertionPoint(loop);
  assign(inner, roots, loop.getBody()->getArguments().take_back(typesOf(roots).size()), builder);
  run(*loop.getBody(), inner);
  passOn(loop.getBody()->getTerminator(), roots, inner);
  replace(op, loop, roots, state);
}

void Promoter::promoteIf(scf::IfOp op, State &state) {
  SmallVector<Operation *> roots = touchedIn(op, state);
  if (roots.empty()) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        run(block, state);
    return;
  }
  OpBuilder builder(op);
  assign(state, roots, valuesBefore(op, roots, state), builder);
  SmallVector<Type> types(op.getResultTypes());
  types.append(typesOf(roots));
  auto branch =
      scf::IfOp::create(builder, op.getLoc(), types, op.getCondition(), /*addThenBlock=*/false,
                        /*addElseBlock=*/false);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), branch->getRegions()))
    to.takeBody(from);
  if (branch.getElseRegion().empty()) {
    builder.createBlock(&branch.getElseRegion());
    scf::YieldOp::create(builder, op.getLoc());
  }
  for (Region &region : branch->getRegions()) {
    State inner = state;
    run(region.front(), inner);
    passOn(region.front().getTerminator(), roots, inner);
  }
  replace(op, branch, roots, state);
}

void Promoter::promoteWhile(scf::WhileOp op, State &state) {
  SmallVector<Operation *> roots = touchedIn(op, state);
  if (roots.empty()) {
    run(*op.getBeforeBody(), state);
    return run(*op.getAfterBody(), state);
  }
  OpBuilder builder(op);
  SmallVector<Value> inits(op.getInits());
  inits.append(valuesBefore(op, roots, state));
  SmallVector<Type> types(op.getResultTypes());
  types.append(typesOf(roots));
  auto loop = scf::WhileOp::create(builder, op.getLoc(), types, inits);
  loop.getBefore().takeBody(op.getBefore());
  loop.getAfter().takeBody(op.getAfter());
  State inner = state;
  builder.setInsertionPoint(loop);
  for (Region *region : loop.getRegions()) {
    Block &block = region->front();
    SmallVector<Value> parts;
    for (Type type : typesOf(roots))
      parts.push_back(block.addArgument(type, op.getLoc()));
    assign(inner, roots, parts, builder);
    run(block, inner);
    passOn(block.getTerminator(), roots, inner);
  }
  replace(op, loop, roots, state);
}

} // namespace mlir::fly::promotion
