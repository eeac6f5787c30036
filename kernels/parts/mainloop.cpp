// The main loop of users' products: their operands are checked, and become views of a block's tile.
#include <flydsl/kernels/parts.h>

#include "blocks/products/mainloop.h"
#include "blocks/products/split_k.h"
#include "gemm/gemm_block.h"
#include "gemm/gemm_family.h"
#include "parts/checks.h"
#include "parts/sums_inside.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

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

namespace {

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

void expectLayout(const Checks &checks, OperandLayout found, OperandLayout expected,
                  const char *field) {
  if (found != expected)
    checks.fail(std::string(" is given as ") + nameOf(found) + ", and " + field +
                " of the spec's problem is " + nameOf(expected));
}

/// The operands of a tile, as the loops take them.
class TileOperands {
public:
  TileOperands(const GemmSpec &spec, const WorkTile &tile)
      : problem_(spec.problem), config_(spec.config), tile_(tile),
        shape_(impl::loopShape(problem_, config_, *impl::gemmForm(problem_, config_, target()))) {}

  const impl::LoopShape &shape() const { return shape_; }

  impl::RowsOfA rowsOfA(const Checks &checks, const Tensor &view, OperandLayout layout,
                        const std::optional<Tensor> &indices) const {
    if (indices)
      return gathered(checks, view, *indices, problem_.k);
    checks.rows(view, tile_);
    const Int32 rows = impl::rowsOfLoads(problem_, layout, tile_.rows);
    if (layout == OperandLayout::columns)
      trapIf(Int32(view.shape()[0]) - tile_.row < rows);
    return tileOf(checks, view, layout, config_.tile_m, tile_.row, rows);
  }
  impl::OperandTile tileB(const Checks &checks, const Tensor &view, OperandLayout layout) const {
    checks.extent(view, 0, problem_.n, "n");
    return tileOf(checks, view, layout, config_.tile_n, tile_.column,
                  Int32(min(Int32(problem_.n) - tile_.column, config_.tile_n)));
  }
  impl::PreparedTile preparedB(const Checks &checks, const Tensor &view) const {
    const impl::Preshuffled prepared = impl::weightsOf(problem_);
    checks.extent(view, 0, prepared.size(), "prepared_size(problem.weight())");
    if (view.alignment() < impl::kPieceBytes)
      trapIf((view.iter().address() & (impl::kPieceBytes - 1)) != 0);
    return impl::preparedTile(view, prepared, shape_, tile_.n, tile_.part, prepared.blockK());
  }
  impl::BlockScales scales(const BlockScales &given, const std::optional<Tensor> &indices,
                           Loc loc) const {
    const Checks ofA("the scales of blocks of a", loc), ofB("the scales of blocks of b", loc);
    const std::int64_t blocksK = impl::scaleBlocks(problem_.k),
                       blocksN = impl::scaleBlocks(problem_.columns());
    ofA.rank(given.a, 2, "(rows, ceil(k / 128))");
    ofB.rank(given.b, 2, "(ceil(rows of b / 128), ceil(k / 128))");
    for (const auto &[checks, tensor] : {std::pair(ofA, given.a), std::pair(ofB, given.b)}) {
      checks.type(tensor, problem_.scale, "problem.scale is");
      checks.extent(tensor, 1, blocksK, "ceil(k / 128)");
    }
    ofB.extent(given.b, 0, blocksN, "ceil(problem.columns() / 128)");
    spansLess(given.a, given.b);
    const Tensor a = numbers(given.a), b = numbers(given.b); // (rows, K / 128), (n / 128, K / 128)
    impl::BlockScales scales = impl::blockScalesFrom(problem_, shape_, blockTile(tile_), a, b);
    if (indices)
      scales.gathered.emplace(gatheredFrom(
          a, *indices, tile_.part * static_cast<std::int32_t>(shape_.k / impl::kScaleBlock)));
    else
      ofA.rows(given.a, tile_);
    return scales;
  }

private:
  /// The first element of the tile's part of K.
  Int32 firstOfK() const { return tile_.part * static_cast<std::int32_t>(shape_.k); }
  impl::OperandTile tileOf(const Checks &checks, const Tensor &matrix, OperandLayout layout,
                           int size, const Int32 &row, const Int32 &validRows) const {
    const bool byRows = layout == OperandLayout::rows;
    checks.extent(matrix, 1, problem_.k, "k");
    checks.lines(matrix, byRows ? 0 : 1, Int64(byRows ? size : shape_.k + config_.tile_k));
    return impl::operandTile(matrix, shape_, layout, size, row, tile_.part, validRows); // (size, K)
  }
  impl::GatheredTile gathered(const Checks &checks, const Tensor &matrix, const Tensor &indices,
                              std::int64_t columns) const {
    checks.extent(matrix, 1, columns, "k");
    checks.lines(matrix, 0, Int32(matrix.shape()[0]));
    return gatheredFrom(matrix, indices, firstOfK());
  }
  /// Rows of a matrix from a column on.
  impl::GatheredTile gatheredFrom(const Tensor &matrix, const Tensor &indices,
                                  const Int32 &column) const {
    const IntTuple shape = matrix.shape();
    return {impl::tileFrom(matrix, {0, column}, shape),                          // (rows, columns)
            Int32(shape[0]), impl::tileFrom(indices, tile_.row, config_.tile_m), // (tileM)
            tile_.rows};
  }
  /// Scales are found by offsets of 32 bits.
  static void spansLess(const Tensor &a, const Tensor &b) {
    for (const Tensor &scales : {a, b})
      for (int mode = 0; mode < 2; ++mode) {
        const Int64 bytes =
            Int32(scales.shape()[mode]) * Int64(scales.stride()[mode]) * scales.dtype().bytes();
        trapIf((bytes < 0) | (bytes >= impl::kPastTheEnd));
      }
  }
  /// Scales as the loop reads them: exponents are bytes.
  static Tensor numbers(const Tensor &scales) {
    return scales.dtype() == f32
               ? scales
               : make_view(scales.iter().recast(u8), scales.layout()); // (as scales)
  }

  const GemmProblem &problem_;
  const GemmConfig &config_;
  const WorkTile &tile_;
  impl::LoopShape shape_;
};

/// A product whose parts of K go through memory.
class SplitSums {
public:
  SplitSums(const GemmSpec &spec, const WorkTile &tile, const PartsOfK &memory, Loc loc)
      : problem_(spec.problem), config_(spec.config), tile_(tile),
        shape_(impl::partsShape(problem_, config_)),
        parts_(shape_, checked(spec, tile, memory, loc)),
        place_(impl::tileOfC(problem_, config_, impl::columnsOfParts(problem_, config_),
                             blockTile(tile))),
        flag_(flagAmong(memory, loc)) {}

  /// Writes the sums of the tile's part.
  void write(const impl::Sums &sums) const {
    for (int half = 0; half < halves(); ++half)
      impl::Epilogue(place_).run(sums.groups(half),
                                 parts_.tile(tile_.part, place_, tile_.column + columnOf(half)));
  }
  /// Runs `finish` with the sums of all parts in the last block of the tile.
  void finish(const std::function<void(const Sums::Inside &)> &finish) const {
    const auto total = [&] {
      finish({[this](int half) { return parts_.total(place_, columnOf(half)); }});
    };
    // If waves share K, the first ones hold the tile.
    const int holders = config_.threads / config_.waves_k;
    impl::ifLast(shape_, flag_, tile_.part, [&] {
      if (config_.waves_k == 1)
        return total();
      if_(thread_idx().x < holders, total);
    });
  }

private:
  int halves() const { return problem_.gated ? 2 : 1; }
  int columnOf(int half) const { return half * static_cast<int>(problem_.n); }
  static Tensor checked(const GemmSpec &spec, const WorkTile &tile, const PartsOfK &memory,
                        Loc loc) {
    const impl::PartsShape shape = impl::partsShape(spec.problem, spec.config);
    const Checks checks("the sums of parts of K", loc);
    checks.rank(memory.sums, 3, "(split_k, m, part_columns(spec))");
    checks.type(memory.sums, shape.acc, "sums are");
    checks.neighbours(memory.sums, 2, "the elements of a row");
    checks.extent(memory.sums, 0, shape.parts, "split_k");
    checks.extent(memory.sums, 2, shape.columns(), "part_columns(spec)");
    checks.rows(memory.sums, tile, 1);
    const Tensor ofPart = memory.sums(0, _, _); // (m, columns)
    checks.lines(ofPart, 0, Int64(spec.config.tile_m));
    return memory.sums;
  }
  Pointer flagAmong(const PartsOfK &memory, Loc loc) const {
    const Checks checks("the flags of parts of K", loc);
    checks.rank(memory.flags, 1, "a vector of part_flags(spec, m) elements");
    checks.type(memory.flags, i64, "flags are");
    checks.neighbours(memory.flags, 0, "they");
    const Int32 number =
        tile_.m * static_cast<std::int32_t>(impl::tilesAcross(problem_, config_)) + tile_.n;
    const IntTuple shape = memory.flags.shape();
    constexpr auto kFewest = static_cast<std::int32_t>(impl::PartFlags::kRoom);
    trapIf(Int32(shape.is_leaf() ? shape : shape[0]) < max(number + 1, kFewest));
    return memory.flags.iter() + impl::flagOf(number);
  }

  const GemmProblem &problem_;
  const GemmConfig &config_;
  const WorkTile &tile_;
  impl::PartsShape shape_;
  impl::PartSums parts_;
  impl::TileOfC place_;
  Pointer flag_;
};

} // namespace

struct Mainloop::Inside {
  GemmSpec spec;
  WorkTile tile;
  std::unique_ptr<impl::Mainloop> loop;
  /// The loop, which runs once.
  std::unique_ptr<impl::Mainloop> taken(Loc loc) {
    if (!loop)
      throw TraceError("a product's main loop runs once; make another one for another tile", loc);
    return std::move(loop);
  }
};

namespace {
/// A tensor data mover's ring gathers no rows: they come by registers, through a ring of two tiles.
GemmSpec specFor(const GemmSpec &spec, bool isGathered) {
  GemmSpec own = spec;
  if (isGathered && impl::hasMover(spec.config, target())) {
    own.config.dma = false;
    own.config.stages = 2;
  }
  return own;
}
} // namespace

Mainloop::Mainloop(const GemmSpec &spec, const WorkTile &tile, const Operand &a, const Operand &b,
                   Loc loc)
    : Mainloop(spec, tile, a, b, std::nullopt, loc) {}
Mainloop::Mainloop(const GemmSpec &spec, const WorkTile &tile, const Operand &a, const Operand &b,
                   const std::optional<BlockScales> &scales, Loc loc)
    : inside_(
          std::make_shared<Inside>(Inside{specFor(spec, a.indices_.has_value()), tile, nullptr})) {
  expectFit(inside_->spec, loc);
  expectThreads(spec.config.threads, loc);
  const GemmProblem &problem = inside_->spec.problem;
  const GemmConfig &config = inside_->spec.config;
  const Checks ofA("a of a product's main loop", a.loc_), ofB("b of a product's main loop", b.loc_);
  expectLayout(ofA, a.layout_, problem.a_layout, "a_layout");
  expectLayout(ofB, b.layout_, problem.b_layout, "b_layout");
  if (b.indices_)
    ofB.fail(" is gathered; rows of a are");
  ofA.type(a.view_, problem.a);
  ofB.type(b.view_, problem.b);
  if (scales.has_value() != impl::hasBlockScales(problem))
    throw TraceError(scales
                         ? "scales of blocks are given, and the spec's problem has none: scale_a "
                           "and scale_b are Scales::per_block"
                         : "the spec's problem has scales of blocks, and none are given: "
                           "Mainloop(spec, tile, a, b, BlockScales{...})",
                     loc);
  const TileOperands operands(inside_->spec, inside_->tile);
  if (a.indices_)
    Checks("the indices of gathered rows", a.loc_).rows(*a.indices_, tile);
  const impl::LoopShape &shape = operands.shape();
  const TiledMma mma = impl::weightsFirst(shape.form, shape.waves, shape.wavesM, shape.slices());
  std::unique_ptr<impl::Sums> sums =
      scales ? std::make_unique<impl::BlockScaledSums>(shape, mma,
                                                       operands.scales(*scales, a.indices_, loc))
             : std::make_unique<impl::Sums>(shape, mma);
  const impl::RowsOfA rows = operands.rowsOfA(ofA, a.view_, a.layout_, a.indices_);
  const auto preparedB = [&] { return operands.preparedB(ofB, b.view_); };
  const auto tileB = [&] { return operands.tileB(ofB, b.view_, b.layout_); };
  inside_->loop =
      impl::makeMainloop(config.loop, shape, mma, std::move(sums), rows, preparedB, tileB);
}

void Mainloop::run(const std::function<void(const Sums &)> &finish, Loc loc) const {
  if (inside_->spec.config.split_k > 1)
    throw TraceError("split_k is " + to_string(inside_->spec.config.split_k) +
                         ": the sums of parts of K go through memory; run(PartsOfK{...}, finish)",
                     loc);
  inside_->taken(loc)->run([&](const impl::Sums &sums) {
    const Sums::Inside inside{[&](int half) { return sums.groups(half); }};
    finish(Sums(inside));
  });
}
void Mainloop::run(const PartsOfK &memory, const std::function<void(const Sums &)> &finish,
                   Loc loc) const {
  if (inside_->spec.config.split_k == 1)
    return run(finish, loc);
  const SplitSums split(inside_->spec, inside_->tile, memory, loc);
  inside_->taken(loc)->run([&](const impl::Sums &sums) { split.write(sums); });
  split.finish([&](const Sums::Inside &inside) { finish(Sums(inside)); });
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
