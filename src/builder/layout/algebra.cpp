// The algebra's entry: static operands are computed with, others leave an operation.
#include <flydsl/layout.h>

#include "builder/trace/guard.h"
#include "builder/layout/tiling.h"
#include "builder/trace/tracer.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/coord.h"
#include "layout/error.h"
#include "layout/operations.h"

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
  HostValue view = builder::hostView(handle, loc);
  if (std::holds_alternative<std::monostate>(view) && handle.node()->trace &&
      observesLayout(operation))
    if (auto layout = mlir::fly::getLayoutOf(builder::tracedType(handle, loc));
        layout && layout::isStatic(*layout))
      return std::visit([](const auto &l) { return HostValue(l); }, *layout);
  return view;
}

/// The operation's numbers as its attributes in the IR.
llvm::SmallVector<mlir::NamedAttribute, 2> attributesOf(Tracer &t,
                                                        const layout::Operation &operation,
                                                        llvm::ArrayRef<int> numbers) {
  mlir::OpBuilder &b = t.builder();
  auto i32 = [&](unsigned i) { return b.getI32IntegerAttr(numbers[i]); };
  switch (operation.numbers) {
  case layout::Numbers::none:
    return {};
  case layout::Numbers::path:
    return {t.named("mode", b.getDenseI32ArrayAttr(numbers))};
  case layout::Numbers::modes:
    return {t.named("indices", b.getDenseI32ArrayAttr(numbers))};
  case layout::Numbers::range:
    return {t.named("begin", i32(0)), t.named("end", i32(1))};
  case layout::Numbers::rank:
    if (numbers.empty())
      return {};
    return {t.named("n", i32(0))};
  case layout::Numbers::bits:
    return {t.named("new_type_bits", i32(0)), t.named("old_type_bits", i32(1))};
  }
  return {};
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

std::string callText(const char *name, std::initializer_list<const Handle *> operands) {
  std::string text = builder::userName(name) + "(";
  for (const Handle *h : operands)
    text += (text.back() == '(' ? "" : ", ") + builder::describe(*h);
  return text + ")";
}

} // namespace

/// Shape of what has one, the tuple of a tuple: what rank and depth are about.
static layout::IntTuple profileOf(const Handle &handle, Loc loc) {
  if (auto *tuple = hostAs<layout::IntTuple>(handle))
    return *tuple;
  HostValue view = builder::hostView(handle, loc);
  if (auto *tuple = std::get_if<layout::IntTuple>(&view))
    return *tuple;
  if (auto *l = std::get_if<layout::Layout>(&view))
    return l->shape();
  if (auto *l = std::get_if<layout::ComposedLayout>(&view))
    return l->shape();
  if (handle.node()->trace) {
    mlir::Type type = builder::tracedType(handle, loc);
    if (auto t = mlir::dyn_cast<mlir::fly::IntTupleType>(type))
      return t.getValue();
    if (auto l = mlir::fly::getLayoutOf(type))
      return layout::shapeOf(*l);
  }
  throw TraceError(builder::describe(handle) + " has no modes", loc);
}

/// A tuple as its type has it: what is dynamic is anonymous. Nothing where the handle is no tuple.
static std::optional<layout::IntTuple> tupleOf(const Handle &handle, Loc loc) {
  if (auto *tuple = hostAs<layout::IntTuple>(handle))
    return *tuple;
  if (handle.node()->trace)
    if (auto type = mlir::dyn_cast<mlir::fly::IntTupleType>(builder::tracedType(handle, loc)))
      return type.getValue();
  return std::nullopt;
}

static bool hasShape(const Handle &handle, Loc loc) {
  if (hostAs<layout::Layout>(handle) || hostAs<layout::ComposedLayout>(handle))
    return true;
  return handle.node()->trace &&
         mlir::fly::getLayoutOf(builder::tracedType(handle, loc)).has_value();
}

/// A function of coordinates or indices is asked inside its domain, as far as that is known. (The
/// algebra itself goes on past it, in the last mode.)
static void expectInDomain(llvm::StringRef name, std::initializer_list<const Handle *> operands,
                           Loc loc) {
  const bool maps = name == "crd2idx", slices = name == "slice",
             inverts = name == "idx2crd" || name == "get_flat_coord" || name == "get_1d_coord";
  if (!maps && !slices && !inverts)
    return;
  const Handle &first = **operands.begin(), &second = **(operands.begin() + 1);
  const Handle &layout = slices ? first : second, &at = slices ? second : first;
  std::optional<layout::IntTuple> coord = tupleOf(at, loc);
  if (!coord || !hasShape(layout, loc))
    return;
  if (!inverts) {
    layout::expectInside(*coord, profileOf(layout, loc));
    return;
  }
  HostValue view = builder::hostView(layout, loc);
  auto *plain = std::get_if<layout::Layout>(&view);
  if (!plain || !coord->isLeaf() || !coord->leaf().isStatic())
    return;
  const layout::Int reach = layout::cosize(*plain);
  if (coord->leaf().value() < 0 || coord->leaf().value() >= reach.value())
    layout::fail("the index ", *coord, " is none of ", *plain, ", whose indices are below ", reach);
}

Handle algebra(const char *name, std::initializer_list<const Handle *> operands, Loc loc,
               const int *numbers, std::size_t count) {
  llvm::ArrayRef<int> ints(numbers, count);
  // Operations on pointers have no row.
  const layout::Operation *operation = layout::findOperation(name);
  try {
    expectInDomain(name, operands, loc);
    if (auto *tile = llvm::StringRef(name).ends_with("_divide")
                         ? hostAs<layout::Tile>(**(operands.begin() + 1))
                         : nullptr)
      builder::expectDivides(name, **operands.begin(), *tile, loc);
    if (operation)
      if (std::optional<Handle> answer = computed(*operation, operands, ints, loc))
        return *answer;
  } catch (const layout::LayoutError &e) {
    throw TraceError(callText(name, operands) + ": " + e.what(), loc);
  }

  const Handle &first = **operands.begin();
  if (llvm::StringRef(name) == "get" && hostAs<layout::IntTuple>(first)) {
    Handle part = first;
    for (int mode : ints)
      part = treeMode(part, mode, loc);
    return part;
  }

  Tracer &t = Tracer::require(name, loc);
  llvm::SmallVector<mlir::Value, 4> inputs;
  for (const Handle *h : operands)
    inputs.push_back(t.use(*h, loc));
  std::string op = "fly." + std::string(name);
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes;
  if (operation)
    attributes = attributesOf(t, *operation, ints);
  mlir::Type type = t.infer(op, inputs, loc, attributes)[0];
  // An answer that run-time operands can't change is no operation either.
  if (HostValue answer = builder::valueOfStaticType(type);
      !std::holds_alternative<std::monostate>(answer))
    return hostHandle(std::move(answer));
  mlir::Value v = t.emitInferred(op, inputs, loc, attributes, type);
  return t.wrap(v, first.node()->dtype, loc);
}

Handle algebra(const char *name, std::initializer_list<const Handle *> operands, Loc loc,
               std::initializer_list<int> numbers) {
  return algebra(name, operands, loc, numbers.begin(), numbers.size());
}

Handle sliceOf(const Handle &source, const Handle &coord, Loc loc) {
  return algebra("slice", {&source, &coord}, loc);
}

int rankOf(const Handle &handle, Loc loc) { return profileOf(handle, loc).rank(); }
int depthOf(const Handle &handle, Loc loc) { return profileOf(handle, loc).depth(); }

} // namespace detail
FLYDSL_NAMESPACE_END
