#include <flydsl/kernel/gather.h>

#include "builder/trace/facade.h"
#include "layout/tuple_ops.h"

FLYDSL_NAMESPACE_BEGIN

/// `values` is ((values of a call, V), rest...) for offsets and predicates of (V, rest...).
static void expectShapes(const Tensor &offsets, const Tensor &values, const CopyOptions &options,
                         Loc loc) {
  auto refuse = [&](const std::string &why) {
    throw TraceError("gather or scatter of " + values.str() + " by the offsets " + offsets.str() +
                         ": " + why,
                     loc);
  };
  const DType type = offsets.dtype(loc);
  if (!type.is_integer() || type == boolean)
    refuse("offsets are integers, not " + std::string(type.name()));
  auto shapeOf = [&](const Tensor &t, const char *name) {
    detail::HostValue view = detail::hostView(t.shape(loc).handle(), loc);
    auto *shape = std::get_if<layout::IntTuple>(&view);
    if (!shape)
      refuse("the shape of the " + std::string(name) + " is known while tracing");
    return *shape;
  };
  const layout::IntTuple at = shapeOf(offsets, "offsets");
  layout::IntTuple taken = shapeOf(values, "values");
  // Of one mode of offsets, the values' first mode may stand alone: (values of a call, V).
  const bool flat = at.rank() == 1 && taken.rank() == 2;
  const layout::IntTuple first = flat ? taken : taken.at(0);
  auto sameSize = [](const layout::IntTuple &a, const layout::IntTuple &b) {
    return layout::product(a) == layout::product(b);
  };
  bool fits = !first.isLeaf() && first.rank() == 2 && sameSize(first.at(1), at.at(0)) &&
              (flat || taken.rank() == at.rank());
  for (int i = 1; fits && !flat && i < at.rank(); ++i)
    fits = sameSize(taken.at(i), at.at(i));
  if (!fits)
    refuse(
        "for offsets (V, rest...) the values are ((values of a call, V), rest...), here with the "
        "V and rest of " +
        at.str() + ", not " + taken.str());
  if (options.pred && !sameSize(shapeOf(*options.pred, "predicate"), at))
    refuse("the predicate " + options.pred->str() + " has one value for each offset");
}

/// fn(offset, values of the call, predicate of the call) for each atom call.
template <class Fn>
static void eachCall(const Tensor &offsets, const Tensor &values, const CopyOptions &options,
                     Loc loc, Fn fn) {
  expectShapes(offsets, values, options, loc);
  const std::int64_t calls = size(offsets, 0, loc).value(loc);
  auto copyOptions = [&](const Tensor *pred) {
    CopyOptions of = options;
    of.pred.reset();
    if (pred)
      of.pred.emplace(*pred);
    return of;
  };
  auto element = [&](const Tensor &t, const IntTuple &at) { return t.point(at, loc); };
  // Of one boolean per call, a fragment of one: (1, V, rest...), its first mode of stride 0.
  std::optional<Tensor> pred;
  if (options.pred)
    pred.emplace(make_view(options.pred->iter(loc),
                           prepend(options.pred->layout(loc), make_layout(1, 0, loc), loc), loc));
  if (offsets.rank(loc) == 1) {
    for (std::int64_t v = 0; v < calls; ++v) {
      std::optional<Tensor> p;
      if (pred)
        p.emplace(slice(*pred, make_coord(_, v), loc));
      fn(element(offsets, v), slice(values, make_coord(_, v), loc), copyOptions(p ? &*p : nullptr));
    }
    return;
  }
  Tensor places = group(offsets, 1, offsets.rank(loc), loc);
  Tensor parts = group(values, 1, values.rank(loc), loc);
  if (pred) {
    Tensor grouped = group(*pred, 2, pred->rank(loc), loc);
    pred.emplace(grouped);
  }
  const std::int64_t rest = size(places, 1, loc).value(loc);
  for (std::int64_t v = 0; v < calls; ++v)
    for (std::int64_t i = 0; i < rest; ++i) {
      std::optional<Tensor> p;
      if (pred)
        p.emplace(slice(*pred, make_coord(_, v, i), loc));
      fn(element(places, make_coord(v, i)), slice(parts, make_coord(make_coord(_, v), i), loc),
         copyOptions(p ? &*p : nullptr));
    }
}

/// An offset without a sign is extended without one: its 32 bits reach 2^32 elements.
static IntTuple::Arg placeOf(const Numeric &offset, Loc loc) {
  return IntTuple::Arg(offset.dtype(loc) == u32 ? offset.to(i64, loc) : offset, loc);
}

void gather(const CopyAtom &atom, const Pointer &base, const Tensor &offsets,
            const Tensor &destination, const CopyOptions &options, Loc loc) {
  Layout values = get(atom.layout_src_tv(loc), 1, loc);
  eachCall(offsets, destination, options, loc,
           [&](const Numeric &offset, const Tensor &part, const CopyOptions &of) {
             Pointer at = base + placeOf(offset, loc);
             copy(atom, make_view(at, values, loc), part, of, loc);
           });
}

void scatter(const CopyAtom &atom, const Tensor &source, const Pointer &base, const Tensor &offsets,
             const CopyOptions &options, Loc loc) {
  Layout values = get(atom.layout_dst_tv(loc), 1, loc);
  eachCall(offsets, source, options, loc,
           [&](const Numeric &offset, const Tensor &part, const CopyOptions &of) {
             Pointer at = base + placeOf(offset, loc);
             copy(atom, part, make_view(at, values, loc), of, loc);
           });
}

FLYDSL_NAMESPACE_END
