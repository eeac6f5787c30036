// The epilogue of users' products: stages before and after gated pairs become one, and the stores.
#include <flydsl/kernels/parts.h>

#include "blocks/products/epilogue.h"
#include "parts/checks.h"
#include "parts/sums_inside.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

struct Epilogue::Inside {
  Inside(const GemmSpec &spec, const WorkTile &tile)
      : spec(spec), tile(tile),
        place(impl::tileOfC(spec.problem, spec.config, spec.problem.n, blockTile(tile))),
        ofHalf{impl::Epilogue(place), impl::Epilogue(place)}, ofResult(place) {}

  /// Whether stages are now those of gates and ups.
  bool isOfPairs() const { return spec.problem.gated && !gate; }
  int halves() const { return isOfPairs() ? 2 : 1; }
  /// The stages to which the next one is added, of a half.
  impl::Epilogue &stages(int half) {
    return spec.problem.gated && !isOfPairs() ? ofResult : ofHalf[static_cast<std::size_t>(half)];
  }
  static Group published(const impl::Group &group, int half = 0) {
    return {group.row(), group.column(), group.tile.group(), half};
  }
  /// A vector of the columns that the next stage is of: `name`, a vector of n elements, or of all
  /// rows of b while pairs are two.
  void add(const Checks &checks, const Tensor &vector, DType type,
           impl::EpilogueStage (*stage)(const impl::TileOfC &, const Tensor &)) {
    const std::int64_t n = spec.problem.n;
    checks.rank(vector, 1,
                isOfPairs() ? "a vector of 2 n elements, of gates and of ups"
                            : "a vector of n elements");
    checks.neighbours(vector, 0, "they");
    checks.extent(vector, 0, halves() * n, isOfPairs() ? "2 n" : "n");
    checks.together(vector, place.width(type));
    for (int half = 0; half < halves(); ++half)
      stages(half).then(stage(place, make_view(vector.iter() + half * n, make_layout(n)))); // (n)
  }
  /// The groups that are stored.
  impl::SumsAt groups(const Sums::Inside &sums, Loc loc) const {
    if (isOfPairs())
      throw TraceError(
          "the spec's problem is gated: there are a gate and an up for each element of "
          "c; gate() makes one of them",
          loc);
    const impl::SumsAt first = sums.ofHalf(0);
    const impl::Epilogue ofFirst = ofHalf[0];
    if (!gate)
      return [ofFirst, first](int i, int j) { return ofFirst.group(first, i, j); };
    return [gate = gate, place = place, ofFirst, first, ofSecond = ofHalf[1],
            second = sums.ofHalf(1), after = ofResult](int i, int j) {
      const auto pair = [&](int, int) {
        return gate(ofFirst.group(first, i, j).to(f32), ofSecond.group(second, i, j).to(f32),
                    published({place, i, j}));
      };
      return after.group(pair, i, j);
    };
  }

  GemmSpec spec;
  WorkTile tile;
  impl::TileOfC place;
  impl::Epilogue ofHalf[2]; ///< the stages of the sums, or of gates and of ups
  Gate gate;
  impl::Epilogue ofResult; ///< the stages of what gate() makes
};

namespace {

/// A function's result is as the group that it was given.
void expectGroup(const char *what, const Vector &result, int size, Loc loc) {
  if (result.size() != size || result.dtype() != f32)
    throw TraceError(std::string(what) + " of an epilogue gives " + to_string(result.size()) +
                         " elements of type " + std::string(result.dtype().name()) +
                         "; it is given " + to_string(size) + " of f32, and gives as many",
                     loc);
}

} // namespace

Epilogue::Epilogue(const GemmSpec &spec, const WorkTile &tile)
    : inside_(std::make_shared<Inside>(spec, tile)) {}

Epilogue &Epilogue::then(Stage stage, Loc loc) {
  for (int half = 0; half < inside_->halves(); ++half)
    inside_->stages(half).then([stage, half, loc](const Vector &values, const impl::Group &group) {
      const Vector result = stage(values, Inside::published(group, half));
      expectGroup("a stage", result, values.size(), loc);
      return result;
    });
  return *this;
}
Epilogue &Epilogue::scale_rows(const Tensor &factors, Loc loc) {
  const Checks checks("the factors of rows", loc);
  checks.rank(factors, 1, "a vector, one for each row of c");
  checks.neighbours(factors, 0, "they");
  checks.type(factors, f32);
  checks.rows(factors, inside_->tile);
  const impl::EpilogueStage stage = impl::scaleRows(inside_->place, factors);
  for (int half = 0; half < inside_->halves(); ++half)
    inside_->stages(half).then(stage);
  return *this;
}
Epilogue &Epilogue::scale_columns(const Tensor &factors, Loc loc) {
  const Checks checks("the factors of columns", loc);
  checks.type(factors, f32);
  inside_->add(checks, factors, f32, impl::scaleColumns);
  return *this;
}
Epilogue &Epilogue::add_columns(const Tensor &numbers, Loc loc) {
  const Checks checks("the numbers that are added to columns", loc);
  const DType type = numbers.dtype(loc);
  if (type != f32 && type != f16 && type != bf16)
    checks.fail(" are of type " + std::string(type.name()) + "; they are f32, f16 or bf16");
  inside_->add(checks, numbers, type, impl::addToColumns);
  return *this;
}
Epilogue &Epilogue::activate(Activation activation) {
  for (int half = 0; half < inside_->halves(); ++half)
    inside_->stages(half).then(impl::applyActivation(activation));
  return *this;
}
Epilogue &Epilogue::gate(Gate gate, Loc loc) {
  if (!inside_->isOfPairs())
    throw TraceError(inside_->spec.problem.gated
                         ? "gate() makes one element of a gate and its up, once"
                         : "gate() is of gated pairs, and the spec's problem is not gated",
                     loc);
  inside_->gate = [gate = std::move(gate), loc](const Vector &ofGate, const Vector &up,
                                                const Group &group) {
    const Vector result = gate(ofGate, up, group);
    expectGroup("the gate", result, group.size, loc);
    return result;
  };
  return *this;
}
Epilogue &Epilogue::gate(Activation activation, Loc loc) {
  return gate([activation](const Vector &ofGate, const Vector &up,
                           const Group &) { return impl::activate(activation, ofGate) * up; },
              loc);
}

void Epilogue::store(const Sums &sums, const Tensor &c, Loc loc) const {
  const Checks checks("c of an epilogue", loc);
  checks.rank(c, 2, "(m, n)");
  checks.neighbours(c, 1, "the elements of a row");
  const DType type = c.dtype(loc);
  if (type != f32 && type != f16 && type != bf16)
    checks.fail(" is of type " + std::string(type.name()) + "; it is f32, f16 or bf16");
  checks.extent(c, 1, inside_->spec.problem.n, "n");
  checks.rows(c, inside_->tile);
  checks.together(c, inside_->place.width(type));
  const IntTuple stride = c.stride()[0];
  trapIf(Int64(stride) * (inside_->spec.config.tile_m * type.bytes()) >= impl::kPastTheEnd);
  const impl::TileOfC &tile = inside_->place;
  impl::Epilogue(tile).run(
      inside_->groups(*sums.inside_, loc),
      impl::tileFrom(c, {tile.firstRow(), tile.firstColumn()}, tile.shape())); // (tileM, tileN)
}
void Epilogue::each(const Sums &sums,
                    const std::function<void(const Vector &, const Group &)> &take, Loc loc) const {
  const impl::TileOfC &tile = inside_->place;
  const impl::SumsAt groups = inside_->groups(*sums.inside_, loc);
  for (int i = 0; i < tile.tilesM(); ++i)
    for (int j = 0; j < tile.tilesN(); ++j)
      take(groups(i, j).to(f32), Inside::published({tile, i, j}));
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
