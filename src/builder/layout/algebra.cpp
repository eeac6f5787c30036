// The algebra's entry: static operands are computed with, others leave an operation.
#include <flydsl/layout/layout.h>

#include "builder/layout/algebra_ops.h"
#include "builder/layout/own_places.h"
#include "builder/layout/whole_tiles.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/coord.h"
#include "layout/error.h"

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using builder::Tracer;

Handle treeMode(const Handle &tuple, int mode, Loc loc);

namespace {

/// True for operations that look at a tensor's layout alone.
bool observesLayout(const layout::Operation &operation) {
  return operation.most == 1 && operation.numbers == layout::Numbers::none &&
         operation.answer == layout::Answer::value &&
         (operation.operands[0] == layout::Kind::any_layout ||
          operation.operands[0] == layout::Kind::tuple_or_any);
}

HostValue viewOf(const layout::Operation &operation, const Handle &handle, Loc loc) {
  HostValue view = detail::hostView(handle, loc);
  if (std::holds_alternative<std::monostate>(view) && isTraced(handle) && observesLayout(operation))
    if (auto layout = mlir::fly::getLayoutOf(detail::tracedType(handle, loc));
        layout && layout::isStatic(*layout))
      return std::visit([](const auto &l) { return HostValue(l); }, *layout);
  return view;
}

/// The value as the algebra's operations take it; nullopt for numbers and atoms.
std::optional<layout::Value> algebraValue(const HostValue &value) {
  return std::visit(
      [](const auto &v) -> std::optional<layout::Value> {
        if constexpr (std::is_constructible_v<layout::Value, decltype(v)>)
          return layout::Value(v);
        else
          return std::nullopt;
      },
      value);
}

/// The answer where all operands are known while tracing; nullopt where one is not.
std::optional<Handle> computed(const layout::Operation &operation,
                               std::initializer_list<const Handle *> operands,
                               llvm::ArrayRef<int> numbers, Loc loc) {
  llvm::SmallVector<layout::Value, 3> values;
  for (const Handle *h : operands) {
    std::optional<layout::Value> value = algebraValue(viewOf(operation, *h, loc));
    if (!value)
      return std::nullopt;
    values.push_back(std::move(*value));
  }
  layout::Value answer = operation({values, numbers});
  return hostHandle(std::visit([](auto &v) { return HostValue(std::move(v)); }, answer));
}

std::string callText(const builder::AlgebraRow &row,
                     std::initializer_list<const Handle *> operands) {
  std::string text = builder::userName(row.irName) + "(";
  for (const Handle *h : operands)
    text += (text.back() == '(' ? "" : ", ") + detail::describe(*h);
  return text + ")";
}

} // namespace

/// Shape of what has one, the tuple of a tuple: what rank and depth are about.
static layout::IntTuple profileOf(const Handle &handle, Loc loc) {
  if (auto *tuple = hostAs<layout::IntTuple>(handle))
    return *tuple;
  HostValue view = detail::hostView(handle, loc);
  if (auto *tuple = std::get_if<layout::IntTuple>(&view))
    return *tuple;
  if (auto *l = std::get_if<layout::Layout>(&view))
    return l->shape();
  if (auto *l = std::get_if<layout::ComposedLayout>(&view))
    return l->shape();
  if (isTraced(handle)) {
    mlir::Type type = detail::tracedType(handle, loc);
    if (auto t = mlir::dyn_cast<mlir::fly::IntTupleType>(type))
      return t.getValue();
    if (auto l = mlir::fly::getLayoutOf(type))
      return layout::shapeOf(*l);
  }
  throw TraceError(detail::describe(handle) + " has no modes", loc);
}

/// A tuple as its type has it: what is dynamic is anonymous. Nothing where the handle is no tuple.
static std::optional<layout::IntTuple> tupleOf(const Handle &handle, Loc loc) {
  if (auto *tuple = hostAs<layout::IntTuple>(handle))
    return *tuple;
  if (isTraced(handle))
    if (auto type = mlir::dyn_cast<mlir::fly::IntTupleType>(detail::tracedType(handle, loc)))
      return type.getValue();
  return std::nullopt;
}

static bool hasShape(const Handle &handle, Loc loc) {
  if (hostAs<layout::Layout>(handle) || hostAs<layout::ComposedLayout>(handle))
    return true;
  return isTraced(handle) && mlir::fly::getLayoutOf(detail::tracedType(handle, loc)).has_value();
}

/// What is known of a coordinate is inside the shape of the layout that takes it.
static void expectCoordinate(const Handle &at, const Handle &layout, Loc loc) {
  if (std::optional<layout::IntTuple> coord = tupleOf(at, loc); coord && hasShape(layout, loc))
    layout::expectInside(*coord, profileOf(layout, loc));
}

/// What is known of an index is below the layout's reach.
static void expectIndex(const Handle &at, const Handle &layout, Loc loc) {
  std::optional<layout::IntTuple> index = tupleOf(at, loc);
  if (!index || !index->isLeaf() || !index->leaf().isStatic() || !hasShape(layout, loc))
    return;
  HostValue view = detail::hostView(layout, loc);
  auto *plain = std::get_if<layout::Layout>(&view);
  if (!plain)
    return;
  const layout::Int reach = layout::cosize(*plain);
  if (index->leaf().value() < 0 || index->leaf().value() >= reach.value())
    layout::fail("the index ", *index, " is none of ", *plain, ", whose indices are below ", reach);
}

/// The operands keep the bounds that the operation's row names, as far as that is known.
static void expectInBounds(const layout::Operation &operation,
                           std::initializer_list<const Handle *> operands, Loc loc) {
  if (operation.bounds == layout::Bounds::none)
    return;
  const Handle &first = **operands.begin(), &second = **(operands.begin() + 1);
  switch (operation.bounds) {
  case layout::Bounds::none:
    return;
  case layout::Bounds::coordinate:
    return expectCoordinate(first, second, loc);
  case layout::Bounds::slice:
    return expectCoordinate(second, first, loc);
  case layout::Bounds::index:
    return expectIndex(first, second, loc);
  case layout::Bounds::tile:
    if (auto *tile = hostAs<layout::Tile>(second))
      builder::expectDivides(running(), std::string(operation.name), first, *tile, loc);
    else if (auto *whole = hostAs<layout::Layout>(second))
      builder::expectDivides(running(), std::string(operation.name), first, *whole, loc);
    return;
  }
}

/// A layout as its type has it: what is dynamic is anonymous. Nothing where the handle is no plain
/// layout.
static std::optional<layout::Layout> layoutOf(const Handle &handle, Loc loc) {
  if (auto *plain = hostAs<layout::Layout>(handle))
    return *plain;
  if (isTraced(handle))
    if (auto type = mlir::dyn_cast<mlir::fly::LayoutType>(detail::tracedType(handle, loc)))
      return type.getValue();
  return std::nullopt;
}

/// Each element of the result has a place of its own, and all of each element is in it.
static void expectOwnPlaces(AlgebraOp op, std::initializer_list<const Handle *> operands,
                            llvm::ArrayRef<int> numbers, Loc loc) {
  if (op == AlgebraOp::make_ordered_layout || op == AlgebraOp::tile_to_shape) {
    const Handle &order = **(operands.end() - 1), &shape = **(operands.end() - 2);
    const auto extents = tupleOf(shape, loc), places = tupleOf(order, loc);
    if (extents && places)
      builder::expectDistinctOrder(builder::userName(builder::rowOf(op).irName), *extents, *places);
  }
  if (op == AlgebraOp::recast_layout)
    if (const auto plain = layoutOf(**operands.begin(), loc))
      builder::expectContiguousMode(*plain, /*oldBits=*/numbers[1], /*newBits=*/numbers[0]);
}

/// The elements of a kernel's tensor are not counted in 32 bits where those do not hold their number:
/// the launch whose trace this is has that many.
static void expectCounted(AlgebraOp op, const Tracer &t, mlir::Value counted, mlir::Type answer,
                          Loc loc) {
  auto tuple = mlir::dyn_cast<mlir::fly::IntTupleType>(answer);
  if (t.kernel.uncounted.empty() || !tuple || !tuple.getValue().isLeaf() ||
      tuple.getValue().leaf().width() == 64)
    return;
  while (auto *viewed = counted.getDefiningOp()) {
    if (!mlir::isa<mlir::fly::GetLayoutOp, mlir::fly::GetShapeOp>(viewed))
      return;
    counted = viewed->getOperand(0);
  }
  if (llvm::is_contained(t.kernel.uncounted,
                         mlir::cast<mlir::BlockArgument>(counted).getArgNumber()))
    throw TraceError(
        builder::userName(builder::rowOf(op).irName) + " of " +
            t.kernel.parameterName(mlir::cast<mlir::BlockArgument>(counted).getArgNumber()) +
            ", whose extents are of 32 bits, which do not hold the 2^31 elements or "
            "more of this launch; multiply the extents in 64 bits, "
            "fx::Int32(x.shape()[0]).to(fx::i64) * ..., or count along each mode",
        loc);
}

Handle algebra(AlgebraOp op, std::initializer_list<const Handle *> operands, Loc loc,
               std::initializer_list<int> numbers) {
  const builder::AlgebraRow &row = builder::rowOf(op);
  const llvm::ArrayRef<int> ints(numbers.begin(), numbers.size());
  try {
    if (row.operation) {
      expectInBounds(*row.operation, operands, loc);
      expectOwnPlaces(op, operands, ints, loc);
      if (std::optional<Handle> answer = computed(*row.operation, operands, ints, loc))
        return *answer;
    }
  } catch (const layout::LayoutError &e) {
    throw TraceError(callText(row, operands) + ": " + e.what(), loc);
  }

  const Handle &first = **operands.begin();
  if (op == AlgebraOp::get && hostAs<layout::IntTuple>(first)) {
    Handle part = first;
    for (int mode : ints)
      part = treeMode(part, mode, loc);
    return part;
  }

  Tracer *current = running();
  Tracer &t = current ? *current : Tracer::require(builder::userName(row.irName).c_str(), loc);
  llvm::SmallVector<mlir::Value, 4> inputs;
  for (const Handle *h : operands)
    inputs.push_back(t.use(*h, loc));
  mlir::Type type = row.infer(t.ir, loc, inputs, ints);
  // An answer that run-time operands can't change is no operation either.
  if (HostValue answer = builder::valueOfStaticType(type);
      !std::holds_alternative<std::monostate>(answer))
    return hostHandle(std::move(answer));
  if (op == AlgebraOp::size || op == AlgebraOp::int_tuple_product)
    expectCounted(op, t, inputs.front(), type, loc);
  return t.wrap(row.emit(t.ir, loc, type, inputs, ints), first.node()->dtype, loc);
}

Handle sliceOf(const Handle &source, const Handle &coord, Loc loc) {
  return algebra(AlgebraOp::slice, {&source, &coord}, loc);
}

int rankOf(const Handle &handle, Loc loc) { return profileOf(handle, loc).rank(); }
int depthOf(const Handle &handle, Loc loc) { return profileOf(handle, loc).depth(); }

} // namespace detail
FLYDSL_NAMESPACE_END
