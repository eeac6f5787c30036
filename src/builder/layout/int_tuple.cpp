// Tuples: host trees whose leaves are numbers, or stand for values of the kernel.
#include <flydsl/layout/layout.h>

#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "layout/tuple_ops.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;

namespace detail {
namespace {

struct Tree {
  layout::IntTuple tuple;
  std::vector<DynamicLeaf> leaves;
};

/// A tuple as a tree of its own, whatever made it.
Tree treeOf(const Handle &handle, Loc loc) {
  if (auto *tuple = hostAs<layout::IntTuple>(handle))
    return {*tuple, handle.node()->host()->leaves};
  auto type = mlir::dyn_cast<mlir::fly::IntTupleType>(detail::tracedType(handle, loc));
  if (!type)
    throw TraceError("expected a tuple of integers, got " + detail::describe(handle), loc);
  Tree tree{type.getValue(), {}};
  int count = tree.tuple.dynamicLeafCount();
  for (int i = 0; i < count; ++i)
    tree.leaves.push_back({handle, i});
  return tree;
}

Handle handleOf(Tree tree) { return tupleHandle(std::move(tree.tuple), std::move(tree.leaves)); }

Handle leafOfScalar(const Numeric &value, Loc loc) {
  if (const Tracer *t = detail::running())
    loc = t->ir.place(loc);
  const Handle &handle = value.handle();
  const Node &node = *handle.node();
  if (isTraced(handle) && mlir::isa<mlir::fly::IntTupleType>(detail::tracedType(handle, loc)))
    return handle; // a coordinate
  if (node.dtype && !node.dtype.is_integer())
    throw TraceError("a tuple's leaf is an integer, not a " + std::string(node.dtype.name()), loc);
  if (auto *number = hostAs<HostNumber>(handle)) {
    if (number->kind == HostNumber::Kind::floating || number->kind == HostNumber::Kind::boolean)
      throw TraceError("a tuple's leaf is an integer, not " + detail::describe(handle), loc);
    return staticLeaf(number->integer);
  }
  int width = node.dtype.bits() > 32 ? 64 : 32;
  return handleOf({layout::IntTuple(layout::Int::dynamic(width)), {{handle, -1}}});
}

} // namespace

Handle staticLeaf(std::int64_t value) { return hostHandle(layout::IntTuple(value)); }

void refuseLeaf(std::uint64_t value, Loc loc) {
  throw TraceError("the number " + std::to_string(value) +
                       " of a shape, a stride or a coordinate is more than 63 bits hold",
                   loc);
}

Handle wildcardLeaf() { return hostHandle(layout::IntTuple(layout::Int::wildcard())); }

Handle basisLeaf(std::int64_t scale, std::initializer_list<int> modes, Loc loc) {
  return builder::layoutErrorsAt(loc, [&] {
    return hostHandle(layout::IntTuple(layout::Int(scale).withBasis({modes.begin(), modes.end()})));
  });
}

static AlgebraOp algebraOp(TupleOp op) {
  switch (op) {
  case TupleOp::add:
    return AlgebraOp::int_tuple_add;
  case TupleOp::sub:
    return AlgebraOp::int_tuple_sub;
  case TupleOp::mul:
    return AlgebraOp::int_tuple_mul;
  case TupleOp::div:
    return AlgebraOp::int_tuple_div;
  case TupleOp::mod:
    return AlgebraOp::int_tuple_mod;
  case TupleOp::shapeDiv:
    return AlgebraOp::shape_div;
  case TupleOp::ceilDiv:
    return AlgebraOp::ceil_div;
  }
  llvm_unreachable("an operation on tuples");
}

Handle tupleBinary(TupleOp op, const Handle &a, const Handle &b, Loc loc) {
  return algebra(algebraOp(op), {&a, &b}, loc);
}

bool staticEqual(const Handle &a, const Handle &b, Loc loc) {
  HostValue va = detail::hostView(a, loc), vb = detail::hostView(b, loc);
  auto *ta = std::get_if<layout::IntTuple>(&va), *tb = std::get_if<layout::IntTuple>(&vb);
  if (!ta || !tb)
    throw TraceError("== of tuples compares what is known while tracing, not " +
                         detail::describe(a) + " and " + detail::describe(b) +
                         "; fx::equal compares at run time",
                     loc);
  return *ta == *tb;
}

void expectRank(const Handle &tuple, int rank, Loc loc) {
  if (int got = rankOf(tuple, loc); got != rank)
    throw TraceError("expected a tuple of " + std::to_string(rank) + " modes, got " +
                         detail::describe(tuple) + " of " + std::to_string(got),
                     loc);
}

Handle scalarOfTuple(const Handle &tuple, Loc loc) {
  HostValue view = detail::hostView(tuple, loc);
  if (auto *t = std::get_if<layout::IntTuple>(&view)) {
    if (t->isLeaf() && t->leaf().isStatic() && !t->leaf().hasBasis()) {
      HostNumber n{};
      n.kind = HostNumber::Kind::integer;
      n.integer = t->leaf().value();
      return constant(n, DType(), loc);
    }
  } else if (Tree tree = treeOf(tuple, loc); tree.tuple.isLeaf() && tree.tuple.leaf().isDynamic()) {
    const DynamicLeaf &leaf = tree.leaves[0];
    if (leaf.part < 0)
      return leaf.value;
    Tracer &t = Tracer::require("a run-time number", loc);
    mlir::Value v = t.emit<mlir::fly::GetScalarOp>(loc, t.use(tuple, loc));
    return t.wrap(v, builder::dtypeOfElement(v.getType()), loc);
  }
  throw TraceError("expected one number, got " + detail::describe(tuple) +
                       "; t[i] takes a mode, fx::size(t) the product",
                   loc);
}

/// Mode `mode` of a tuple that is a host tree with run-time leaves.
Handle treeMode(const Handle &tuple, int mode, Loc loc) {
  Tree tree = treeOf(tuple, loc);
  return builder::layoutErrorsAt(loc, [&] {
    std::size_t first = 0;
    for (int i = 0; i < mode; ++i)
      first += tree.tuple.at(i).dynamicLeafCount();
    const layout::IntTuple &part = tree.tuple.at(mode);
    auto begin = tree.leaves.begin() + static_cast<std::ptrdiff_t>(first);
    return handleOf({part, {begin, begin + part.dynamicLeafCount()}});
  });
}

} // namespace detail

IntTuple::IntTuple(const Numeric &value, Loc loc) : Value(detail::leafOfScalar(value, loc)) {}

detail::Handle detail::tupleOf(std::span<const IntTuple> modes, Loc loc) {
  return builder::layoutErrorsAt(loc, [&] {
    std::vector<layout::IntTuple> parts;
    Tree whole;
    for (const IntTuple &mode : modes) {
      Tree tree = treeOf(mode.handle(), loc);
      parts.push_back(std::move(tree.tuple));
      for (DynamicLeaf &leaf : tree.leaves)
        whole.leaves.push_back(std::move(leaf));
    }
    whole.tuple = layout::IntTuple::tuple(std::move(parts));
    return handleOf(std::move(whole));
  });
}

IntTuple::IntTuple(std::initializer_list<IntTuple> elements, Loc loc)
    : Value(detail::tupleOf({elements.begin(), elements.size()}, loc)) {}

int IntTuple::rank(Loc loc) const { return detail::rankOf(handle_, loc); }
int IntTuple::depth(Loc loc) const { return detail::depthOf(handle_, loc); }
bool IntTuple::is_leaf(Loc loc) const { return depth(loc) == 0; }

IntTuple IntTuple::at(int mode, Loc loc) const {
  return IntTuple(detail::algebra(detail::AlgebraOp::get, {&handle_}, loc, {mode}));
}

std::int64_t IntTuple::value(Loc loc) const {
  detail::HostValue view = detail::hostView(handle_, loc);
  auto *tuple = std::get_if<layout::IntTuple>(&view);
  if (!tuple || !tuple->isLeaf() || !tuple->leaf().isStatic())
    throw TraceError("value() of " + detail::describe(handle_) +
                         ": it is no single number that is known while tracing; take an fx::Int32 "
                         "of it to compute at run time, or make it static (fx::Constexpr, "
                         "mark_layout_static)",
                     loc);
  return tuple->leaf().value();
}

FLYDSL_NAMESPACE_END
