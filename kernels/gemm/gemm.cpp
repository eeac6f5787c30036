// The call of a product: its arguments are checked, and its kernels launched.
#include "gemm/gemm_family.h"

#include "blocks/product_rules.h"
#include "frame/arguments.h"
#include "weight/weight_family.h"

#include <array>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;
using std::to_string;

/// A block's rows of A, and of C, lie in a buffer of fewer bytes.
constexpr std::int64_t kMostBufferBytes = 1 << 30;

/// Checks scales of blocks, and gives the distances of scale_a's rows and blocks in elements. Those
/// of a tile lie in one buffer.
std::array<std::int64_t, 2> blockScales(const Arguments &arguments, const GemmProblem &problem,
                                        const GemmConfig &config, const GemmArgs &args,
                                        std::int64_t m) {
  const std::int64_t blocks = scaleBlocks(problem.k);
  arguments.given(args.scale_a, "scale_a", true);
  arguments.given(args.scale_b, "scale_b", true);
  arguments.tensor(*args.scale_a, {"scale_a", problem.scale, 1}, {m, blocks}, 2);
  arguments.compact(*args.scale_b, {"scale_b", problem.scale, 1}, scaleBlocks(problem.columns()),
                    blocks);
  const std::array apart{Arguments::distance(*args.scale_a, 0),
                         Arguments::distance(*args.scale_a, 1)};
  for (std::int64_t distance : apart)
    if (distance < 0) [[unlikely]]
      arguments.fail("scale_a has a distance of " + to_string(distance) +
                     "; distances are positive");
  if ((apart[0] * config.tile_m + apart[1] * blocks) * problem.scale.bytes() >= kMostBufferBytes)
      [[unlikely]]
    arguments.fail("scale_a has rows " + to_string(apart[0]) + " and blocks of k " +
                   to_string(apart[1]) + " elements apart; those of a tile span less than 1 GiB");
  return apart;
}

/// Checks an operand (rows, k) that is not prepared, and gives the distance of its rows or columns.
/// By columns, it is checked as its transpose.
std::int64_t unprepared(const Arguments &arguments, const TensorArg &matrix,
                        const Expected &expected, OperandLayout layout, std::int64_t rows,
                        std::int64_t k) {
  if (layout == OperandLayout::rows)
    return arguments.rowsApart(matrix, expected, rows, k);
  if (matrix.rank() != 2) [[unlikely]]
    arguments.fail(std::string(expected.name) + " is no matrix");
  if (rows % expected.align) [[unlikely]]
    arguments.fail(std::string(expected.name) + " has " + to_string(rows) +
                   " rows; by columns it has a multiple of " + to_string(expected.align) +
                   ", because " + expected.reason);
  const std::string name = "the transpose of " + std::string(expected.name);
  const TensorArg turned =
      tensor(matrix.data(), matrix.dtype(), {matrix.shape()[1], matrix.shape()[0]},
             {matrix.strides()[1], matrix.strides()[0]});
  return arguments.matrix(turned, {name.c_str(), expected.dtype, expected.align, expected.reason},
                          k, rows);
}

} // namespace

void Gemm::launch(const Call<GemmProblem> &call) {
  const GemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const GemmArgs &args = call.args;
  const Arguments arguments(FamilyOf<GemmProblem>::name, call.where);
  const int piece = kPieceBytes * 8 / problem.a.memory_bits();
  const std::int64_t m = arguments.rows(args.a, "a"), n = problem.n;
  constexpr const char *kPieces = "16 bytes are loaded at a time";
  const std::int64_t apartA = unprepared(arguments, args.a, {"a", problem.a, piece, kPieces},
                                         problem.a_layout, m, problem.k);
  std::int64_t apartB = 0;
  if (problem.b_layout == OperandLayout::prepared)
    arguments.vector(args.b, {"b", problem.b, piece, kPieces}, weightsOf(problem).size());
  else
    apartB = unprepared(arguments, args.b, {"b", problem.b, piece, kPieces}, problem.b_layout, n,
                        problem.k);
  const std::int64_t apartC = productRows(arguments, args.c, problem.c, m, n);
  arguments.apart(args.c, "c", args.a, "a");
  arguments.apart(args.c, "c", args.b, "b");
  if (args.workspace)
    arguments.apart(args.c, "c", *args.workspace, "workspace");
  const auto vector = [&](const std::optional<TensorArg> &tensor, const Expected &expected,
                          std::int64_t size, bool needed) {
    if (arguments.given(tensor, expected.name, needed))
      arguments.vector(*tensor, expected, size);
  };
  std::array<std::int64_t, 2> apartScales{};
  if (hasBlockScales(problem)) {
    apartScales = blockScales(arguments, problem, config, args, m);
  } else {
    vector(args.scale_a, {"scale_a", f32, 1}, m, problem.scale_a == Scales::per_row);
    vector(args.scale_b, {"scale_b", f32, storedTogether(n), kStoredGroups}, problem.columns(),
           problem.scale_b == Scales::per_row);
  }
  vector(args.bias, {"bias", problem.c, storedTogether(n), kStoredGroups}, problem.columns(),
         problem.bias);
  if (arguments.given(args.workspace, "workspace", config.split_k > 1))
    arguments.workspace(*args.workspace, workspaceBytes(problem, config, m));
  // Inside of a tile's buffer offsets have 32 bits.
  const auto near = [&](const char *name, std::int64_t apart, int tile, OperandLayout layout,
                        DType dtype) {
    const bool columns = layout == OperandLayout::columns;
    const std::int64_t lines = columns ? problem.k / config.split_k + config.tile_k : tile;
    if (apart * lines * dtype.bytes() >= kMostBufferBytes) [[unlikely]]
      arguments.fail(std::string(name) + " has " + (columns ? "columns " : "rows ") +
                     to_string(apart) + " elements apart; the " + to_string(lines) +
                     (columns ? " columns" : " rows") + " of a tile span less than 1 GiB");
  };
  near("a", apartA, config.tile_m, problem.a_layout, problem.a);
  near("b", apartB, config.tile_n, problem.b_layout, problem.b);
  near("c", apartC, config.tile_m, OperandLayout::rows, problem.c);
  if (m == 0)
    return;
  const auto grid = [&](std::int64_t tiles) {
    if (tiles > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
      arguments.fail("c has " + to_string(tiles) + " tiles; a grid has at most 2147483647");
    return tiles;
  };
  const std::int64_t blocks = grid(tilesOf(problem, config, m) * config.split_k);
  const auto rows = static_cast<std::int32_t>(m);
  const int threads = config.threads;
  if (addsInLaunch(config)) {
    const std::int64_t workspace = address(args.workspace),
                       flags = PartFlags::place(args.workspace->shape()[0],
                                                tilesOf(problem, config, m));
    call.launches.at(0, kGemmSplit)(
        call.on(blocks, threads), call.where, address(args.a), address(args.b), address(args.c),
        address(args.scale_a), address(args.scale_b), address(args.bias), workspace,
        workspace + flags, apartA, apartB, apartC, apartScales, args.seed, rows);
  } else if (config.split_k > 1) {
    call.launches.at(0, kGemmParts)(call.on(blocks, threads), call.where, address(args.a),
                                    address(args.b), address(args.scale_a), address(args.scale_b),
                                    address(args.workspace), apartA, apartB, apartScales, rows);
    call.launches.at(1, kGemmSum)(
        call.on(grid((m + kSumTileM - 1) / kSumTileM * sumTilesAcross(problem)), kSumThreads),
        call.where, address(args.workspace), address(args.c), address(args.scale_a),
        address(args.scale_b), address(args.bias), apartC, args.seed, rows);
  } else {
    call.launches.at(0, kGemm)(call.on(blocks, threads), call.where, address(args.a),
                               address(args.b), address(args.c), address(args.scale_a),
                               address(args.scale_b), address(args.bias), apartA, apartB, apartC,
                               apartScales, args.seed, rows);
  }
}

GemmArgs Gemm::args(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                    const Sampler &sampler) {
  const bool blocks = hasBlockScales(problem);
  const std::int64_t across = scaleBlocks(problem.k);
  const Extents rows{m}, columns{problem.columns()},
      scalesA = blocks ? Extents{m, across} : rows,
      scalesB = blocks ? Extents{scaleBlocks(problem.columns()), across} : columns;
  const auto maybe = [&](bool needed, const char *name, DType dtype, const Extents &shape,
                         Role role = Role::input) -> std::optional<TensorArg> {
    if (!needed)
      return std::nullopt;
    return sampler(name, dtype, shape, role);
  };
  const auto matrix = [&](const char *name, DType dtype, OperandLayout layout, std::int64_t size) {
    if (layout == OperandLayout::rows)
      return sampler(name, dtype, Extents{size, problem.k}, Role::input);
    const TensorArg turned = sampler(name, dtype, Extents{problem.k, size}, Role::input);
    return tensor(turned.data(), dtype, {size, problem.k}, {1, size});
  };
  return {.a = matrix("a", problem.a, problem.a_layout, m),
          .b = problem.b_layout == OperandLayout::prepared
                   ? sampler("b", problem.b, Extents{weightsOf(problem).size()}, Role::input)
                   : matrix("b", problem.b, problem.b_layout, problem.n),
          .c = sampler("c", problem.c, Extents{m, problem.n}, Role::output),
          .scale_a = maybe(problem.scale_a != Scales::none, "scale_a", problem.scale, scalesA),
          .scale_b = maybe(problem.scale_b != Scales::none, "scale_b", problem.scale, scalesB),
          .bias = maybe(problem.bias, "bias", problem.c, columns),
          .workspace = maybe(config.split_k > 1, "workspace", u8,
                             Extents{workspaceBytes(problem, config, m)},
                             addsInLaunch(config) ? Role::flagged : Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
