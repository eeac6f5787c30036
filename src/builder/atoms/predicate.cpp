// Predicates of copies at a border: which calls of the atom lie inside of a shape.
#include <flydsl/kernel/copy.h>

#include "builder/atoms/specs.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "layout/algebra.h"
#include "layout/coord.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using layout::Int;
namespace fly = mlir::fly;

namespace {

/// The coordinates of the elements that one thread copies, in the modes of a partition: ((elements
/// of a call, calls), repeats...).
class CallPlaces {
public:
  CallPlaces(Tracer &tracer, const Tensor &places, const IntTuple &shape, std::int64_t perCall,
             Loc loc)
      : places_(places), loc_(loc), perCall_(perCall),
        type_(mlir::cast<fly::CoordTensorType>(builder::tracedType(&tracer, places.handle(), loc))),
        shape_(shapeOf(tracer, shape, loc)) {
    if (perCall_ > 1)
      findAxis();
  }

  /// Whether some call may have elements on both sides of the border, as far as is known.
  bool mayStraddle() const {
    return perCall_ > 1 && !(extent_.isDivisibleBy(perCall_) && startsAtMultiples());
  }

  /// What is missing for a copy whose calls never straddle: "mode 1 of the shape (?,?) ...".
  std::string whyItMayStraddle() const {
    const std::string times = " is not known to be a multiple of " + std::to_string(perCall_);
    const std::string mode = "mode " + std::to_string(axis_.front());
    if (extent_.isDivisibleBy(perCall_))
      return "the place of a call along " + mode + times +
             "; cut the identity tensor into the tile";
    const std::string number = std::to_string(perCall_);
    return mode + " of the shape " + shape_.str() + times + "; if it is, mark_shape_dynamic(" +
           std::to_string(axis_.front()) + ", " + number + ") on the argument says so";
  }

  /// Registers with a boolean for each call, in the modes of the
  /// partition: ((1, calls), repeats...).
  Tensor fragment() const {
    const layout::IntTuple &shape = layout::outermost(type_.getLayout()).shape();
    if (!layout::product(shape).isStatic())
      throw TraceError("predicate: the shape of the places " + places_.str() +
                           " is known only at the launch; take a tile of them (fx::flat_divide)",
                       loc_);
    std::vector<layout::IntTuple> modes{layout::IntTuple::tuple({Int(1), shape.at(0).at(1)})};
    for (int mode = 1; mode < shape.rank(); ++mode)
      modes.push_back(shape.at(mode));
    return make_rmem_tensor(IntTuple(detail::hostHandle(layout::IntTuple::tuple(std::move(modes)))),
                            boolean, loc_);
  }

  /// The coordinates of element `index` of every call, in the same order: (calls, repeats...).
  Tensor elementOfCalls(std::int64_t index) const {
    std::vector<layout::IntTuple> coordinate(
        static_cast<std::size_t>(layout::outermost(type_.getLayout()).rank()), Int::wildcard());
    coordinate.front() = layout::IntTuple::tuple({Int(index), Int::wildcard()});
    const detail::Handle at = detail::hostHandle(layout::IntTuple::tuple(std::move(coordinate)));
    return Tensor(detail::sliceOf(places_.handle(), at, loc_));
  }

private:
  static layout::IntTuple shapeOf(Tracer &tracer, const IntTuple &shape, Loc loc) {
    return mlir::cast<fly::IntTupleType>(tracer.values.typeOf(shape.handle(), loc)).getValue();
  }

  /// The mode of the shape along which the elements of a call follow one another.
  void findAxis() {
    const layout::Layout &all = layout::outermost(type_.getLayout());
    const layout::Layout call =
        builder::layoutErrorsAt(loc_, [&] { return layout::coalesce(all.at(0).at(0)); });
    const bool isRow =
        call.isLeaf() && call.stride().isBasis() && call.stride().leaf().withoutBasis().isStatic(1);
    if (!isRow)
      throw TraceError("predicate: the " + std::to_string(perCall_) +
                           " elements of a call are neighbours along one mode of the shape; here "
                           "they are at " +
                           call.str(),
                       loc_);
    axis_ = call.stride().leaf().basis();
    extent_ = leafAt(shape_);
  }

  /// The leaf of a tuple that the axis leads to.
  Int leafAt(layout::IntTuple tuple) const {
    for (std::int32_t mode : axis_) {
      if (tuple.isLeaf() || mode >= tuple.rank())
        throw TraceError("predicate: the shape " + shape_.str() +
                             " has no such modes as the coordinates " + places_.str(),
                         loc_);
      tuple = tuple.at(mode);
    }
    if (!tuple.isLeaf())
      throw TraceError("predicate: the shape " + shape_.str() +
                           " has no such modes as the coordinates " + places_.str(),
                       loc_);
    return tuple.leaf();
  }

  /// Whether the first element of every call is known to be at a multiple of the call's elements.
  bool startsAtMultiples() const {
    if (!leafAt(type_.getBase()).isDivisibleBy(perCall_))
      return false;
    const layout::Layout &all = layout::outermost(type_.getLayout());
    bool allMultiples = stepsByMultiples(all.at(0).at(1));
    for (int mode = 1; mode < all.rank(); ++mode)
      allMultiples = allMultiples && stepsByMultiples(all.at(mode));
    return allMultiples;
  }
  bool stepsByMultiples(const layout::Layout &steps) const {
    if (!steps.isLeaf()) {
      for (int mode = 0; mode < steps.rank(); ++mode)
        if (!stepsByMultiples(steps.at(mode)))
          return false;
      return true;
    }
    const Int stride = steps.stride().leaf();
    if (steps.shape().isLeaf(1) || !stride.hasBasis() || stride.basis() != axis_)
      return true;
    return stride.withoutBasis().isDivisibleBy(perCall_);
  }

  const Tensor &places_;
  Loc loc_;
  std::int64_t perCall_;
  fly::CoordTensorType type_;
  layout::IntTuple shape_;
  layout::ModePath axis_;
  Int extent_;
};

} // namespace

Tensor ThrCopy::predicate(const Tensor &places, const IntTuple &shape, Straddling straddling,
                          Loc loc) const {
  Tracer &t = Tracer::require("predicate", loc);
  if (!mlir::isa<fly::CoordTensorType>(builder::tracedType(&t, places.handle(), loc)))
    throw TraceError("predicate takes the places of the elements, a tile of "
                     "fx::make_identity_tensor(shape) that is cut as the source is, not " +
                         places.str(),
                     loc);
  const auto tiled = mlir::cast<fly::TiledCopyType>(builder::atomType(&t, handle(), loc));
  const std::int64_t perCall = builder::layoutErrorsAt(
      loc, [&] { return layout::size(tiled.getCopyAtom().getThrValLayoutRef().at(1)).value(); });
  const Tensor mine = partition_S(places, loc);
  const CallPlaces calls(t, mine, shape, perCall, loc);

  const bool mayStraddle = calls.mayStraddle();
  if (mayStraddle && straddling == Straddling::refused)
    throw TraceError(
        "predicate: a call of the atom copies " + std::to_string(perCall) +
            " elements, and one may reach over the border: " + calls.whyItMayStraddle() +
            ". fx::Straddling::copied has such a call happen where padding lies "
            "past the border, fx::Straddling::left_out leaves it out whole, and an "
            "atom of one element has none",
        loc);
  const bool askLast = mayStraddle && straddling == Straddling::left_out;
  const Tensor asked = calls.elementOfCalls(askLast ? perCall - 1 : 0);
  const Tensor pred = calls.fragment();
  for (std::int64_t i = 0, n = size(pred, loc).value(loc); i < n; ++i)
    pred.point(i, loc) =
        Numeric::Arg(elem_less(IntTuple(asked.point(i, loc), loc), shape, loc), loc);
  return pred;
}

FLYDSL_NAMESPACE_END
