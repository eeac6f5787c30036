// Tiles that gfx1250's tensor data mover copies: the atom that the tensor, the tile and its place in
// LDS make.
#include <flydsl/rocdl/tensor_mover.h>

#include <flydsl/kernel/copy.h>
#include <flydsl/rocdl/atoms.h>

#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/trace/whole_block.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/coord.h"

#include <algorithm>
#include <limits>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

using builder::Tracer;
using detail::BinaryOp;
using detail::Handle;
namespace fly = mlir::fly;

namespace {

constexpr int kMaxRank = 5;

Handle number(std::int64_t n, DType type, Loc loc) {
  return detail::constant(detail::hostNumber(n), type, loc);
}

/// A gap after every `interval` elements of LDS; both 0: there is none.
struct Gap {
  std::int64_t interval = 0, amount = 0;
};

class TileMove {
public:
  TileMove(const char *function, const Tensor &tensor, const IntTuple &tile, const Tensor &lds,
           const TensorMoveOptions &options, Loc loc)
      : function_(function), tensor_(tensor), tile_(tile), lds_(lds), options_(options), loc_(loc),
        tracer_(Tracer::require(function, loc)) {
    tracer_.kernel.targetWith(Feature::tensor_mover, function, loc);
    expectOperands();
    waves_ = wavesOf();
    if (options_.workgroups)
      tracer_.kernel.targetWith(Feature::clusters, function, loc);
    // A move does not look at which lanes are on, so that a branch of some lanes would not stop it.
    if (options_.waves)
      tracer_.arrivals.expectGroups("a tensor move", unsigned(tracer_.kernel.target->wave_size()),
                                    loc);
    else
      tracer_.arrivals.expectBlock("a tensor move", loc);
  }

  /// The tile of the tensor, and the atom that moves it.
  std::pair<Tensor, CopyAtom> make() const {
    std::vector<IntTuple> starts, extents, strides;
    const IntTuple shape = tensor_.shape(loc_), stride = tensor_.stride(loc_),
                   tileShape = lds_.shape(loc_);
    for (int i = 0; i < rank_; ++i) {
      starts.push_back(mode(tile_, i) * mode(tileShape, i));
      extents.push_back(mode(shape, i) - starts.back());
      strides.push_back(mode(stride, i));
    }
    const IntTuple start(detail::tupleOf(starts, loc_));
    const Tensor part = make_view(
        tensor_.iter(loc_) + IntTuple::Arg(crd2idx(start, tensor_.layout(loc_), loc_), loc_),
        make_layout(IntTuple(flat(tileShape)), IntTuple(detail::tupleOf(strides, loc_)), loc_),
        loc_);
    const Gap gap = gapOf();
    Handle atom = make_copy_atom(TDM({.rank = rank_,
                                      .warps = waves_,
                                      .pad_interval = static_cast<int>(gap.interval),
                                      .pad_amount = static_cast<int>(gap.amount),
                                      .cache = options_.cache},
                                     loc_),
                                 tensor_.dtype(loc_), loc_)
                      .handle();
    for (int i = 0; i < rank_; ++i) {
      atom = set(atom, "extent_" + std::to_string(i), reach(extents[std::size_t(i)]));
      if (i + 1 < rank_)
        atom = set(atom, "stride_" + std::to_string(i),
                   detail::convert(detail::scalarOfTuple(strides[std::size_t(i)].handle(), loc_),
                                   i64, loc_));
    }
    if (options_.workgroups)
      atom = set(atom, "workgroup_mask", options_.workgroups->handle());
    return {part, CopyAtom(atom)};
  }

private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw TraceError(std::string(function_) + ": " + why, loc_);
  }

  IntTuple mode(const IntTuple &tuple, int i) const {
    return tuple.is_leaf(loc_) ? tuple : tuple.at(i, loc_);
  }
  /// A tuple of one mode for a leaf.
  Handle flat(const IntTuple &tuple) const {
    std::vector<IntTuple> modes;
    for (int i = 0; i < rank_; ++i)
      modes.push_back(mode(tuple, i));
    return detail::tupleOf(modes, loc_);
  }
  Handle set(const Handle &atom, const std::string &field, const Handle &value) const {
    return detail::atomSet(atom, field.c_str(), value, loc_);
  }

  /// Elements of the tensor from the tile on, as far as 31 bits count them.
  Handle reach(const IntTuple &extent) const {
    const Handle elements =
        detail::convert(detail::scalarOfTuple(extent.handle(), loc_), i64, loc_);
    const Handle most = number(std::numeric_limits<std::int32_t>::max(), i64, loc_),
                 none = number(0, i64, loc_);
    return detail::convert(detail::binary(BinaryOp::max,
                                          detail::binary(BinaryOp::min, elements, most, loc_), none,
                                          loc_),
                           i32, loc_);
  }

  /// The layout of an operand, whose modes are numbers.
  layout::Layout layoutOf(const Tensor &operand, const char *what, fly::AddressSpace space,
                          const char *memory) const {
    auto type =
        mlir::dyn_cast<fly::MemRefType>(builder::tracedType(&tracer_, operand.handle(), loc_));
    if (!type || !type.isIn(space))
      refuse("the " + std::string(what) + " is in " + memory + " memory, not " + operand.str());
    const auto *plain = std::get_if<layout::Layout>(&type.getLayout());
    if (!plain || !type.getSwizzle().isTrivial())
      refuse("the mover knows no swizzle, and moves no " + operand.str());
    const layout::Layout known = plain->isLeaf() ? *plain : layout::flatten(*plain);
    if (!plain->isLeaf() && known.rank() != plain->rank())
      refuse("the mover takes tensors whose modes are numbers, not " + operand.str() +
             "; fx::make_view over its .iter() with a flat layout makes one");
    return known;
  }
  static layout::Layout at(const layout::Layout &layout, int i) {
    return layout.isLeaf() ? layout : layout.at(i);
  }

  void expectOperands() {
    const layout::Layout from = layoutOf(tensor_, "tensor", fly::AddressSpace::Global, "global"),
                         to = layoutOf(lds_, "tile", fly::AddressSpace::Shared, "shared");
    rank_ = tensor_.rank(loc_);
    if (rank_ > kMaxRank)
      refuse("the mover moves tensors of 1 to 5 modes, not " + tensor_.str());
    if (lds_.rank(loc_) != rank_ || (tile_.is_leaf(loc_) ? 1 : tile_.rank(loc_)) != rank_)
      refuse(
          "the tensor, its tile in shared memory and the tile's number have as many modes, not " +
          tensor_.str() + ", " + lds_.str() + " and " + tile_.str());
    if (lds_.dtype(loc_).ir_name() != tensor_.dtype(loc_).ir_name())
      refuse("a move does not convert: the tensor has elements of " +
             std::string(tensor_.dtype(loc_).name()) + ", its tile of " +
             std::string(lds_.dtype(loc_).name()));
    const int bits = tensor_.dtype(loc_).bits();
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
      refuse("the mover moves elements of 8, 16, 32 or 64 bits, not of " +
             std::string(tensor_.dtype(loc_).name()) +
             "; .recast(fx::u8) makes a tensor of its bytes");
    if (!to.isStatic())
      refuse("the tile in shared memory has a shape that is known while tracing, not " +
             lds_.str());
    const layout::Layout row = at(from, rank_ - 1);
    if (!row.stride().isLeaf(1))
      refuse(
          "the tensor's last mode, " + row.str() +
          ", is not known to have the stride 1; mark_layout_dynamic(leading_dim) on the argument "
          "names the mode whose stride is 1");
    for (int i = 0; i < rank_; ++i) {
      detail::HostValue view = detail::hostView(mode(tile_, i).handle(), loc_);
      const auto *leaf = std::get_if<layout::IntTuple>(&view);
      if (leaf && leaf->isLeaf() && leaf->leaf().isStatic() && leaf->leaf().value() < 0)
        refuse("there is no tile " + tile_.str() + ": the first is 0");
    }
    ldsLayout_ = to;
  }

  /// The gap that the strides of the tile in LDS tell of: modes follow each other, the last one
  /// fastest, but for one gap after every so many elements.
  Gap gapOf() const {
    Gap gap;
    std::int64_t passed = 1; ///< elements of the modes so far
    for (int i = rank_ - 1; i >= 0; --i) {
      const layout::Layout one = at(ldsLayout_, i);
      const std::int64_t extent = one.shape().leaf().value(), stride = one.stride().leaf().value();
      if (extent == 1)
        continue;
      if (!gap.interval && passed > 1 && stride > passed)
        gap = {passed, stride - passed};
      const std::int64_t expected =
          gap.interval ? passed / gap.interval * (gap.interval + gap.amount) : passed;
      if (stride != expected)
        refuse("the mover fills LDS mode by mode, the last one first, with one gap at most after "
               "every "
               "so many elements; of " +
               ldsLayout_.str() + ", mode " + std::to_string(i) + " would have the stride " +
               std::to_string(expected));
      passed *= extent;
    }
    if (gap.interval == passed) // nothing comes after it
      gap = {};
    return gap;
  }

  int wavesOf() const {
    const std::optional<int> all = tracer_.kernel.waves();
    if (!options_.waves && !all)
      refuse("how many waves share the tile is not known where the block is not; say .waves");
    const int waves = options_.waves.value_or(all.value_or(1));
    if (waves < 1 || (waves & (waves - 1)))
      refuse(std::to_string(waves) + " waves can't share a tile: a power of two does");
    if (all && waves > *all)
      refuse(std::to_string(waves) + " waves are to share the tile, and the block has " +
             std::to_string(*all));
    if (all && waves != *all && builder::isForWholeBlock(tracer_))
      refuse("the tile is for " + std::to_string(waves) + " of the block's " +
             std::to_string(*all) +
             " waves, but all waves get here; leave out .waves, or call it inside fx::if_("
             "fx::rocdl::wave_id() < " +
             std::to_string(waves) + ", ...)");
    return waves;
  }

  const char *function_;
  const Tensor &tensor_;
  const IntTuple &tile_;
  const Tensor &lds_;
  const TensorMoveOptions &options_;
  Loc loc_;
  Tracer &tracer_;
  layout::Layout ldsLayout_;
  int rank_ = 0, waves_ = 1;
};

} // namespace

void tensor_load_to_lds(const Tensor &tensor, const IntTuple &tile, const Tensor &lds,
                        const TensorMoveOptions &options, Loc loc) {
  const auto [part, atom] = TileMove("tensor_load_to_lds", tensor, tile, lds, options, loc).make();
  copy(atom, part, lds, loc);
}

void tensor_store_from_lds(const Tensor &lds, const Tensor &tensor, const IntTuple &tile,
                           const TensorMoveOptions &options, Loc loc) {
  if (options.workgroups)
    throw TraceError("tensor_store_from_lds: a store is for no other workgroups; leave out "
                     ".workgroups",
                     loc);
  const auto [part, atom] =
      TileMove("tensor_store_from_lds", tensor, tile, lds, options, loc).make();
  copy(atom, lds, part, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
