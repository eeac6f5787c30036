// Tiles that gfx1250's tensor data mover copies: the atom that the tensor, the tile and its place in
// LDS make.
#include <flydsl/rocdl/tensor_mover.h>

#include <flydsl/kernel/copy.h>
#include <flydsl/rocdl/atoms.h>

#include "builder/rocdl/mover_operands.h"
#include "builder/trace/facade.h"

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

using builder::Tracer;
using detail::Handle;

namespace {

constexpr int kMaxRank = 5;

class TileMove {
public:
  TileMove(const char *function, bool isLoad, const Tensor &tensor, const IntTuple &tile,
           const Tensor &lds, const TensorMoveOptions &options, Loc loc)
      : function_(function), isLoad_(isLoad), tensor_(tensor), tile_(tile), lds_(lds),
        options_(options), loc_(loc), tracer_(builder::withMover(function, loc)),
        operands_(function, tracer_, tensor, lds, loc), rank_(operands_.tensorRank()) {
    expectModes();
    operands_.expectCache(options.cache);
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
      starts.push_back(at(mode(tile_, i)) * at(mode(tileShape, i)));
      extents.push_back(at(mode(shape, i)) - at(starts.back()));
      strides.push_back(mode(stride, i));
    }
    const IntTuple start(detail::tupleOf(starts, loc_));
    const Tensor part = make_view(
        tensor_.iter(loc_) + IntTuple::Arg(crd2idx(start, tensor_.layout(loc_), loc_), loc_),
        make_layout(IntTuple(flat(tileShape)), IntTuple(detail::tupleOf(strides, loc_)), loc_),
        loc_);
    builder::expectWaves(function_, tracer_, waves_, isLoad_, isLoad_ ? lds_ : part,
                         "leave out .waves", loc_);
    const builder::MoverGap gap = operands_.gap();
    Handle atom = make_copy_atom(TDM({.rank = rank_,
                                      .warps = waves_,
                                      .pad_interval = static_cast<int>(gap.interval),
                                      .pad_amount = static_cast<int>(gap.amount),
                                      .cache = options_.cache},
                                     loc_),
                                 tensor_.dtype(loc_), loc_)
                      .handle();
    for (int i = 0; i < rank_; ++i) {
      atom = set(atom, "extent_" + std::to_string(i),
                 builder::MoverOperands::reach(extents[std::size_t(i)], loc_));
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
  [[noreturn]] void refuse(const std::string &why) const { operands_.refuse(why); }

  IntTuple mode(const IntTuple &tuple, int i) const {
    return tuple.is_leaf(loc_) ? tuple : tuple.at(i, loc_);
  }
  /// An operand of the call, whose operations stand where it does.
  IntTuple::Arg at(const IntTuple &operand) const { return {operand, loc_}; }
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

  void expectModes() {
    if (rank_ > kMaxRank)
      refuse("the mover moves tensors of 1 to 5 modes, not " + tensor_.str());
    if (operands_.tileRank() != rank_ || (tile_.is_leaf(loc_) ? 1 : tile_.rank(loc_)) != rank_)
      refuse(
          "the tensor, its tile in shared memory and the tile's number have as many modes, not " +
          tensor_.str() + ", " + lds_.str() + " and " + tile_.str());
    for (int i = 0; i < rank_; ++i) {
      detail::HostValue view = detail::hostView(mode(tile_, i).handle(), loc_);
      const auto *leaf = std::get_if<layout::IntTuple>(&view);
      if (leaf && leaf->isLeaf() && leaf->leaf().isStatic() && leaf->leaf().value() < 0)
        refuse("there is no tile " + tile_.str() + ": the first is 0");
    }
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
    return waves;
  }

  const char *function_;
  bool isLoad_;
  const Tensor &tensor_;
  const IntTuple &tile_;
  const Tensor &lds_;
  const TensorMoveOptions &options_;
  Loc loc_;
  Tracer &tracer_;
  builder::MoverOperands operands_;
  int rank_, waves_ = 1;
};

} // namespace

void tensor_load_to_lds(const Tensor &tensor, const IntTuple &tile, const Tensor &lds,
                        const TensorMoveOptions &options, Loc loc) {
  const auto [part, atom] =
      TileMove("tensor_load_to_lds", true, tensor, tile, lds, options, loc).make();
  copy(atom, part, lds, loc);
}

void tensor_store_from_lds(const Tensor &lds, const Tensor &tensor, const IntTuple &tile,
                           const TensorMoveOptions &options, Loc loc) {
  if (options.workgroups)
    throw TraceError("tensor_store_from_lds: a store is for no other workgroups; leave out "
                     ".workgroups",
                     loc);
  const auto [part, atom] =
      TileMove("tensor_store_from_lds", false, tensor, tile, lds, options, loc).make();
  copy(atom, lds, part, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
