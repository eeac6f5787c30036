// The parts of products as users compose them: checks, and the parts of blocks/products below them.
#include <flydsl/kernels/parts.h>

#include "blocks/products/epilogue.h"
#include "blocks/products/mainloop.h"
#include "blocks/products/tile_scheduler.h"
#include "gemm/gemm_family.h"

#include <string>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {
namespace {

using std::to_string;

Support fits(const GemmSpec &spec, const Target &target) {
  const GemmProblem &problem = spec.problem;
  if (problem.gated)
    return Support::no("gated pairs have two sums for each element of c, which GemmPlan makes; the "
                       "parts have one");
  if (impl::hasBlockScales(problem))
    return Support::no("scales of blocks are inside of the sum, which GemmPlan makes; the parts "
                       "have none");
  if (spec.config.split_k != 1)
    return Support::no("split_k is " + to_string(spec.config.split_k) +
                       ": parts of K go through a workspace, which GemmPlan has; it is 1 here");
  if (const Support answer = kernels::supported(problem, target); !answer)
    return answer;
  return kernels::supported(problem, spec.config, target);
}
void expectFit(const GemmSpec &spec, Loc loc) {
  const Support answer = fits(spec, target());
  if (!answer)
    throw TraceError("parts of a product on " + target().name() + ": " + answer.why, loc);
}

/// Stops the kernel if a condition holds that the launch alone knows.
void trapIf(const Boolean &wrong) {
  if_(wrong, [] { gpu::trap(); });
}
std::string leafText(const IntTuple &leaf) {
  return leaf.is_static() ? to_string(leaf.value()) : "not known while tracing";
}

/// Checks an operand's tensors, each as far as it is known, and the rest where the kernel runs.
class Checks {
public:
  Checks(std::string what, Loc loc) : what_(std::move(what)), loc_(loc) {}

  [[noreturn]] void fail(const std::string &text) const { throw TraceError(what_ + text, loc_); }
  void rank(const Tensor &tensor, int rank, const char *shape) const {
    if (tensor.rank(loc_) != rank)
      fail(" has " + to_string(tensor.rank(loc_)) + " modes; it is " + shape);
    if (tensor.address_space(loc_) != AddressSpace::global)
      fail(" does not lie in global memory");
  }
  void type(const Tensor &tensor, DType expected) const {
    if (tensor.dtype(loc_) != expected)
      fail(" is of type " + std::string(tensor.dtype(loc_).name()) + ", and the spec has " +
           std::string(expected.name()));
  }
  /// A mode has this extent.
  void extent(const Tensor &tensor, int mode, std::int64_t expected, const char *name) const {
    const IntTuple found = modeOf(tensor.shape(loc_), mode);
    if (!found.is_static())
      return trapIf(Int32(found) != static_cast<std::int32_t>(expected));
    if (found.value() != expected)
      fail(" has an extent of " + to_string(found.value()) + " in mode " + to_string(mode) + "; " +
           name + " is " + to_string(expected));
  }
  /// Mode 0 has all rows of a tile.
  void rows(const Tensor &tensor, const WorkTile &tile) const {
    trapIf(Int32(modeOf(tensor.shape(loc_), 0)) - tile.row < tile.rows);
  }
  void neighbours(const Tensor &tensor, int mode, const char *what) const {
    const IntTuple stride = modeOf(tensor.stride(loc_), mode);
    if (!stride.is_static() || stride.value() != 1)
      fail(std::string(": ") + what + " are neighbours, and the stride of mode " + to_string(mode) +
           " is " + leafText(stride) + "; an argument says so by mark_layout_dynamic(" +
           to_string(mode) + ")");
  }
  /// Lines, whose distance is the stride of a mode, start at multiples of 16 bytes, and so many of
  /// them span less than a buffer.
  void lines(const Tensor &tensor, int mode, const Int64 &count) const {
    constexpr int piece = impl::kPieceBytes;
    const int bytes = tensor.dtype(loc_).memory_bits() / 8;
    const IntTuple stride = modeOf(tensor.stride(loc_), mode);
    if (stride.is_static() && stride.value() * bytes % piece)
      fail(": a stride of " + to_string(stride.value()) + " elements in mode " + to_string(mode) +
           " is no multiple of 16 bytes");
    const Int64 step = Int64(stride) * bytes;
    if (!stride.is_static())
      trapIf((step & (piece - 1)) != 0);
    if (tensor.alignment(loc_) < piece)
      trapIf((tensor.iter(loc_).address(loc_) & (piece - 1)) != 0);
    trapIf(count * step >= impl::kPastTheEnd);
  }

  /// So many neighbours are read or written together.
  void together(const Tensor &tensor, int count) const {
    const int bytes = count * tensor.dtype(loc_).bytes();
    const std::string unit = to_string(count) + " elements, as many as are moved together";
    if (tensor.rank(loc_) == 2 && count > 1) {
      const IntTuple stride = modeOf(tensor.stride(loc_), 0);
      if (!stride.is_static())
        trapIf((Int64(stride) & (count - 1)) != 0);
      else if (stride.value() % count)
        fail(": a stride of " + to_string(stride.value()) +
             " elements in mode 0 is no multiple of " + unit);
    }
    if (tensor.alignment(loc_) < bytes)
      trapIf((tensor.iter(loc_).address(loc_) & (bytes - 1)) != 0);
  }

private:
  static IntTuple modeOf(const IntTuple &tuple, int mode) {
    return tuple.is_leaf() ? tuple : tuple[mode];
  }
  std::string what_;
  Loc loc_;
};

const char *nameOf(OperandLayout layout) {
  switch (layout) {
  case OperandLayout::prepared:
    return "prepared";
  case OperandLayout::rows:
    return "rows";
  case OperandLayout::columns:
    return "columns";
  }
  throw Error("a layout of no kind");
}

impl::TileOfC tileOfC(const GemmSpec &spec, const WorkTile &tile) {
  const GemmConfig &config = spec.config;
  return {target().wave_size(),
          config.tile_m,
          config.tile_n,
          config.threads / config.waves_k,
          spec.problem.n,
          tile.row,
          tile.column,
          tile.rows,
          config.waves_m};
}

} // namespace

Support supported(const GemmSpec &spec, const Target &target) { return fits(spec, target); }
std::int64_t tiles(const GemmSpec &spec, std::int64_t m) {
  return impl::tilesOf(spec.problem, spec.config, m);
}

//===-- TileScheduler -------------------------------------------------------===//

TileScheduler::TileScheduler(const GemmSpec &spec, const Int32 &m, Loc loc) : spec_(spec), m_(m) {
  expectFit(spec, loc);
}
WorkTile TileScheduler::at(const Int32 &block) const {
  const auto work =
      impl::TileScheduler<Int32>(impl::tileGrid(spec_.problem, spec_.config), m_).at(block);
  return {work.m, work.n, work.row, work.column, work.rows};
}
WorkTile TileScheduler::tile(const Int32 &m, const Int32 &n) const {
  const auto work = impl::TileScheduler<Int32>(impl::tileGrid(spec_.problem, spec_.config), m_)
                        .tile(Int32(0), m, n, Int32(0));
  return {work.m, work.n, work.row, work.column, work.rows};
}
Int32 TileScheduler::down() const { return ceildiv(m_, spec_.config.tile_m); }
Int32 TileScheduler::across() const {
  return static_cast<std::int32_t>(impl::tilesAcross(spec_.problem, spec_.config));
}

//===-- Operands ------------------------------------------------------------===//

Operand Operand::rows(const Tensor &matrix, Loc loc) {
  const Checks checks("an operand by rows", loc);
  checks.rank(matrix, 2, "(rows, K)");
  checks.neighbours(matrix, 1, "the elements of a row");
  return {matrix, OperandLayout::rows, std::nullopt, loc};
}
Operand Operand::columns(const Tensor &matrix, Loc loc) {
  const Checks checks("an operand by columns", loc);
  checks.rank(matrix, 2, "(rows, K)");
  checks.neighbours(matrix, 0, "the elements of a column");
  return {matrix, OperandLayout::columns, std::nullopt, loc};
}
Operand Operand::prepared(const Tensor &weights, Loc loc) {
  const Checks checks("prepared weights", loc);
  checks.rank(weights, 1, "a vector of prepared_size(problem.weight()) elements");
  checks.neighbours(weights, 0, "their elements");
  return {weights, OperandLayout::prepared, std::nullopt, loc};
}
Operand Operand::gathered(const Tensor &matrix, const Tensor &indices, Loc loc) {
  const Operand operand = rows(matrix, loc);
  const Checks checks("the indices of gathered rows", loc);
  checks.rank(indices, 1, "a vector, one for each row of c");
  checks.neighbours(indices, 0, "its elements");
  if (indices.dtype(loc) != i32)
    checks.fail(" are of type " + std::string(indices.dtype(loc).name()) + "; they are i32");
  return {matrix, OperandLayout::rows, indices, loc};
}

//===-- Mainloop ------------------------------------------------------------===//

struct Sums::Inside {
  const impl::Sums &sums;
};
struct Mainloop::Inside {
  std::unique_ptr<impl::Mainloop> loop;
};

namespace {

/// What operands are refused for, before any is looked at in full.
void expectLayout(const Checks &checks, OperandLayout found, OperandLayout expected,
                  const char *field) {
  if (found != expected)
    checks.fail(std::string(" is given as ") + nameOf(found) + ", and " + field +
                " of the spec's problem is " + nameOf(expected));
}
impl::OperandTile tileOf(const Checks &checks, const GemmSpec &spec, const Tensor &matrix,
                         OperandLayout layout, int size, const Int32 &row, const Int32 &exist) {
  const std::int64_t k = spec.problem.k;
  const bool byRows = layout == OperandLayout::rows;
  checks.extent(matrix, 1, k, "k");
  checks.lines(matrix, byRows ? 0 : 1, Int64(byRows ? size : k + spec.config.tile_k));
  return {impl::tileFrom(matrix, {row, 0}, {size, k}), exist, layout}; // (size, K)
}

} // namespace

Mainloop::Mainloop(const GemmSpec &spec, const WorkTile &tile, const Operand &a, const Operand &b,
                   Loc loc)
    : inside_(std::make_shared<Inside>()) {
  expectFit(spec, loc);
  const GemmProblem &problem = spec.problem;
  const GemmConfig &config = spec.config;
  const Checks ofA("a of a product's main loop", a.loc_), ofB("b of a product's main loop", b.loc_);
  expectLayout(ofA, a.layout_, problem.a_layout, "a_layout");
  expectLayout(ofB, b.layout_, problem.b_layout, "b_layout");
  if (b.indices_)
    ofB.fail(" is gathered; rows of a are");
  ofA.type(a.view_, problem.a);
  ofB.type(b.view_, problem.b);
  const impl::LoopShape shape =
      impl::loopShape(problem, config, *impl::gemmForm(problem, config, target()));
  const TiledMma mma = impl::weightsFirst(shape.form, shape.waves, shape.wavesM, shape.slices());
  auto sums = std::make_unique<impl::Sums>(shape, mma);
  const auto weights = [&] {
    const impl::Preshuffled prepared = impl::weightsOf(problem);
    ofB.extent(b.view_, 0, prepared.size(), "prepared_size(problem.weight())");
    if (b.view_.alignment() < impl::kPieceBytes)
      trapIf((b.view_.iter().address() & (impl::kPieceBytes - 1)) != 0);
    return impl::preparedTile(b.view_, prepared, shape, tile.n, Int32(0));
  };
  const auto tileOfB = [&] {
    ofB.extent(b.view_, 0, problem.n, "n");
    return tileOf(ofB, spec, b.view_, b.layout_, config.tile_n, tile.column,
                  Int32(min(Int32(problem.n) - tile.column, config.tile_n)));
  };
  const auto ring = [&](const auto &tileA) -> std::unique_ptr<impl::Mainloop> {
    using A = std::remove_cvref_t<decltype(tileA)>;
    if (problem.b_layout == OperandLayout::prepared)
      return std::make_unique<impl::RingLoop<A, impl::PreparedTile>>(shape, mma, std::move(sums),
                                                                     tileA, weights());
    return std::make_unique<impl::RingLoop<A, impl::OperandTile>>(shape, mma, std::move(sums),
                                                                  tileA, tileOfB());
  };
  // Rows are those of the tile, or those that indices name.
  const auto rowsOfA = [&]() -> impl::RowsOfA {
    if (!a.indices_) {
      ofA.rows(a.view_, tile);
      return tileOf(ofA, spec, a.view_, a.layout_, config.tile_m, tile.row, tile.rows);
    }
    ofA.extent(a.view_, 1, problem.k, "k");
    const Int32 rows(a.view_.shape()[0]);
    ofA.lines(a.view_, 0, impl::wide(rows));
    Checks("the indices of gathered rows", a.loc_).rows(*a.indices_, tile);
    return impl::GatheredTile{a.view_, rows, impl::tileFrom(*a.indices_, tile.row, config.tile_m),
                              tile.rows};
  };
  const impl::RowsOfA tileA = rowsOfA();
  switch (config.loop) {
  case GemmLoop::registers:
    inside_->loop =
        std::make_unique<impl::FewRowsLoop>(shape, mma, std::move(sums), tileA, weights());
    return;
  case GemmLoop::groups:
    inside_->loop =
        std::make_unique<impl::HalfTileLoop>(shape, mma, std::move(sums), tileA, tileOfB());
    return;
  case GemmLoop::ring:
    inside_->loop = std::visit(ring, tileA);
    return;
  }
  throw Error("a loop of no kind");
}

void Mainloop::run(const std::function<void(const Sums &)> &finish) const {
  if (!inside_->loop)
    throw Error("a product's main loop runs once; make another one for another tile");
  const std::unique_ptr<impl::Mainloop> loop = std::move(inside_->loop);
  loop->run([&](const impl::Sums &sums) {
    const Sums::Inside inside{sums};
    finish(Sums(inside));
  });
}

//===-- Epilogue ------------------------------------------------------------===//

struct Epilogue::Inside {
  GemmSpec spec;
  WorkTile tile;
  impl::TileOfC place;
  impl::Epilogue stages;
};

Epilogue::Epilogue(const GemmSpec &spec, const WorkTile &tile)
    : inside_(std::make_shared<Inside>(
          Inside{spec, tile, tileOfC(spec, tile), impl::Epilogue(tileOfC(spec, tile))})) {}

Epilogue &Epilogue::then(Stage stage, Loc loc) {
  inside_->stages.then([stage = std::move(stage), loc](const Vector &values,
                                                       const impl::Group &group) {
    const Vector result = stage(values, {group.row(), group.column(), group.tile.group()});
    if (result.size() != values.size() || result.dtype() != f32)
      throw TraceError("a stage of an epilogue gives " + to_string(result.size()) +
                           " elements of type " + std::string(result.dtype().name()) +
                           "; it is given " + to_string(values.size()) +
                           " of f32, and gives as many",
                       loc);
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
  inside_->stages.then(impl::scaleRows(inside_->place, factors));
  return *this;
}
Epilogue &Epilogue::scale_columns(const Tensor &factors, Loc loc) {
  const Checks checks("the factors of columns", loc);
  checks.rank(factors, 1, "a vector of n elements");
  checks.neighbours(factors, 0, "they");
  checks.type(factors, f32);
  checks.extent(factors, 0, inside_->spec.problem.n, "n");
  checks.together(factors, inside_->place.width(f32));
  inside_->stages.then(impl::scaleColumns(inside_->place, factors));
  return *this;
}
Epilogue &Epilogue::add_columns(const Tensor &numbers, Loc loc) {
  const Checks checks("the numbers that are added to columns", loc);
  checks.rank(numbers, 1, "a vector of n elements");
  checks.neighbours(numbers, 0, "they");
  const DType type = numbers.dtype(loc);
  if (type != f32 && type != f16 && type != bf16)
    checks.fail(" are of type " + std::string(type.name()) + "; they are f32, f16 or bf16");
  checks.extent(numbers, 0, inside_->spec.problem.n, "n");
  checks.together(numbers, inside_->place.width(type));
  inside_->stages.then(impl::addToColumns(inside_->place, numbers));
  return *this;
}
Epilogue &Epilogue::activate(Activation activation) {
  inside_->stages.then(impl::applyActivation(activation));
  return *this;
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
  inside_->stages.run(
      sums.inside_->sums.groups(0),
      impl::tileFrom(c, {tile.firstRow(), tile.firstColumn()}, tile.shape())); // (tileM, tileN)
}
void Epilogue::each(const Sums &sums,
                    const std::function<void(const Vector &, const Group &)> &take) const {
  const impl::TileOfC &tile = inside_->place;
  const impl::GroupSums groups = sums.inside_->sums.groups(0);
  for (int i = 0; i < tile.tilesM(); ++i)
    for (int j = 0; j < tile.tilesN(); ++j) {
      const impl::Group place{tile, i, j};
      take(impl::asType(inside_->stages.group(groups, i, j), f32),
           {place.row(), place.column(), tile.group()});
    }
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
