#include "permute/permute_family.h"

#include "frame/arguments.h"

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Permute = Family<PermuteProblem>;

constexpr std::int64_t kMostExtent = 0x7fffffff;
constexpr int kBlocks[] = {256, 128, 64, 512};

/// A mode of both tensors.
struct Mode {
  std::int64_t extent, x, y; ///< and its strides in each
};

/// Whether two modes are one: `inner` follows `outer` in both tensors.
bool follows(const Mode &inner, const Mode &outer) {
  return outer.x == inner.extent * inner.x && outer.y == inner.extent * inner.y &&
         inner.extent * outer.extent <= kMostExtent;
}

/// The modes as a kernel takes them: B0, B1, B2, J, I.
std::array<Mode, PermuteProblem::kMostModes> modesOf(const PermuteProblem &problem,
                                                     const PermuteArgs &args) {
  const auto rank = static_cast<std::size_t>(problem.rank);
  std::vector<Mode> modes(rank); // in the order of x
  for (std::size_t of = 0; of < rank; ++of) {
    const auto mode = static_cast<std::size_t>(problem.order[of]);
    modes[mode] = {args.x.shape()[mode], strideOf(args.x, static_cast<int>(mode)),
                   strideOf(args.y, static_cast<int>(of))};
  }
  // The last mode of x, and that of y: kernels know that their elements are neighbours.
  Mode i = modes.back(), j{1, 0, 0};
  modes.pop_back();
  i.x = 1;
  if (isTurned(problem)) {
    const auto last = static_cast<std::size_t>(problem.order[rank - 1]);
    j = modes[last];
    j.y = 1;
    modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(last));
  } else {
    i.y = 1;
  }
  std::erase_if(modes, [](const Mode &mode) { return mode.extent == 1; });
  const auto mergeInto = [&](Mode &inner) {
    for (auto outer = modes.begin(); outer != modes.end();)
      if (follows(inner, *outer)) {
        inner.extent *= outer->extent;
        modes.erase(outer);
        outer = modes.begin();
      } else {
        ++outer;
      }
  };
  mergeInto(i);
  if (isTurned(problem))
    mergeInto(j);
  for (std::size_t inner = 0; inner < modes.size(); ++inner)
    for (std::size_t outer = 0; outer < modes.size(); ++outer)
      if (inner != outer && follows(modes[inner], modes[outer])) {
        modes[inner].extent *= modes[outer].extent;
        modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(outer));
        inner = outer = 0;
      }
  if (!isTurned(problem) && !modes.empty()) {
    const auto most =
        std::max_element(modes.begin(), modes.end(),
                         [](const Mode &a, const Mode &b) { return a.extent < b.extent; });
    j = *most;
    modes.erase(most);
  }
  while (modes.size() < 3)
    modes.insert(modes.begin(), {1, 0, 0});
  return {modes[0], modes[1], modes[2], j, i};
}

/// The extents of x, or those of y, which are the same in the problem's order.
Shape shapeOf(const TensorArg &x, const PermuteProblem &problem, bool ofY) {
  constexpr const char *kModes[] = {"d0, d1", "d0, d1, d2", "d0, d1, d2, d3", "d0, d1, d2, d3, d4"};
  Shape shape{kModes[problem.rank - 2], 0};
  shape.rank = problem.rank;
  for (int mode = 0; mode < problem.rank; ++mode) {
    const auto at = static_cast<std::size_t>(mode);
    shape.extents[mode] = x.shape()[ofY ? static_cast<std::size_t>(problem.order[at]) : at];
  }
  return shape;
}

/// Whether the bytes from the first to the last of two tensors meet.
bool meet(const TensorArg &a, const TensorArg &b) {
  const auto rangeOf = [](const TensorArg &tensor) {
    std::int64_t last = 0;
    for (int mode = 0; mode < tensor.rank(); ++mode)
      last += (tensor.shape()[static_cast<std::size_t>(mode)] - 1) * strideOf(tensor, mode);
    const std::int64_t first = address(tensor);
    return std::pair(first, first + (last + 1) * tensor.dtype().bytes());
  };
  const auto [firstA, endA] = rangeOf(a);
  const auto [firstB, endB] = rangeOf(b);
  return firstA < endB && firstB < endA;
}

} // namespace

std::int64_t Permute::rows(const PermuteArgs &args) {
  std::int64_t rows = 1;
  for (int mode = 0; mode + 1 < args.x.rank(); ++mode)
    rows *= args.x.shape()[static_cast<std::size_t>(mode)];
  return rows;
}

Support Permute::supported(const PermuteProblem &problem, const Target &) {
  const int bits = problem.type.memory_bits();
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return Support::no("type is " + std::string(problem.type.name()) +
                       "; elements of 8, 16, 32 and 64 bits are supported");
  if (const Support ranked = rangeSupported("rank", problem.rank, 2, PermuteProblem::kMostModes);
      !ranked)
    return ranked;
  unsigned seen = 0;
  for (int mode = 0; mode < problem.rank; ++mode) {
    const int of = problem.order[static_cast<std::size_t>(mode)];
    if (of < 0 || of >= problem.rank || (seen >> of & 1))
      return Support::no("order[" + std::to_string(mode) + "] is " + std::to_string(of) +
                         "; order has each of 0 to " + std::to_string(problem.rank - 1) + " once");
    seen |= 1u << of;
  }
  const int most = 128 / bits;
  if (problem.row_align < 1 || problem.row_align > most ||
      !std::has_single_bit(static_cast<unsigned>(problem.row_align)))
    return Support::no(is("row_align", problem.row_align) +
                       "; it is a power of two up to 16 bytes, which are " + std::to_string(most) +
                       " elements");
  return {};
}

Support Permute::supported(const PermuteProblem &problem, const PermuteConfig &config,
                           const Target &target) {
  if (std::find(std::begin(kBlocks), std::end(kBlocks), config.block) == std::end(kBlocks))
    return Support::no(is("block", config.block) + "; it is 64, 128, 256 or 512");
  const PermuteTiles tiles(problem, config);
  if (isTurned(problem) && tiles.shared() > static_cast<int>(target.lds_bytes()))
    return Support::no(is("block", config.block) + ", whose tiles take " +
                       std::to_string(tiles.shared()) + " bytes of shared memory; there are " +
                       std::to_string(static_cast<int>(target.lds_bytes())));
  return {};
}

PermuteConfig Permute::choose(const PermuteProblem &problem, std::int64_t, const Target &) {
  // Tiles of bytes have 16 KiB each: two of them leave room for another block.
  return {.block = problem.type.memory_bits() == 8 && problem.row_align == 16 ? 128 : 256};
}

std::vector<PermuteConfig> Permute::candidates(const PermuteProblem &, std::int64_t,
                                               const Target &) {
  std::vector<PermuteConfig> all;
  for (int block : kBlocks)
    all.push_back({block});
  return all;
}

void Permute::launch(const Call<PermuteProblem> &call) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const Arguments arguments(FamilyOf<PermuteProblem>::name, where);
  const int rank = problem.rank;
  if (args.x.rank() != rank) [[unlikely]]
    arguments.fail("x has " + std::to_string(args.x.rank()) + " modes, and the problem " +
                   std::to_string(rank));
  bool isEmpty = false;
  for (std::int64_t extent : args.x.shape()) {
    isEmpty |= extent == 0;
    if (extent > kMostExtent) [[unlikely]]
      arguments.fail("a mode of x has " + std::to_string(extent) +
                     " elements; fewer than 2^31 are supported");
  }
  const std::int64_t align = problem.row_align;
  arguments.check(args.x, {.name = "x",
                           .dtype = problem.type,
                           .shape = shapeOf(args.x, problem, false),
                           .free = rank - 1,
                           .align = align});
  arguments.check(args.y, {.name = "y",
                           .dtype = problem.type,
                           .shape = shapeOf(args.x, problem, true),
                           .free = rank - 1,
                           .use = Use::written,
                           .align = align});
  if (isEmpty)
    return;
  for (const auto &[name, tensor] : {std::pair("x", &args.x), {"y", &args.y}})
    if (const std::int64_t extent = tensor->shape().back(); extent % align) [[unlikely]]
      arguments.fail("the last mode of " + std::string(name) + " has " + std::to_string(extent) +
                     " elements, no multiple of " + std::to_string(align) +
                     "; the problem's row_align promises it, and a smaller one does not");
  if (meet(args.x, args.y)) [[unlikely]]
    arguments.fail(
        "y lies in the memory of x, which is read while it is written; give it memory of "
        "its own");

  const auto [b0, b1, b2, j, i] = modesOf(problem, args);
  const PermuteTiles tiles(problem, config);
  const std::int64_t batches = b0.extent * b1.extent, columns = i.extent / align,
                     rows = isTurned(problem) ? j.extent / align : j.extent;
  const auto over = [](std::int64_t count, std::int64_t each) { return (count + each - 1) / each; };
  // Whole numbers of this size, so that no product of them wraps.
  const std::int64_t ofTile =
      isTurned(problem)
          ? over(columns, std::int64_t(tiles.pieces) * tiles.tiles) * over(rows, tiles.pieces)
          : over(columns, std::int64_t(config.block) * kPiecesOfRows) * rows;
  if (batches > kMostExtent || b2.extent > kMostExtent / batches ||
      ofTile > kMostExtent / (batches * b2.extent)) [[unlikely]]
    arguments.fail("the tensors have more than 2^31 tiles; permute parts of them");
  PermuteParams<OnHost> params{.x = {.address = address(args.x), .stride = {b0.x, b1.x, b2.x, j.x}},
                               .y = {.address = address(args.y),
                                     .stride = {b0.y, b1.y, b2.y, isTurned(problem) ? i.y : j.y}},
                               .b0 = static_cast<std::int32_t>(b0.extent),
                               .b1 = static_cast<std::int32_t>(b1.extent),
                               .b2 = static_cast<std::int32_t>(b2.extent),
                               .j = static_cast<std::int32_t>(rows),
                               .i = static_cast<std::int32_t>(columns)};
  launches.at(0, kPermute)(call.on(ofTile * batches * b2.extent, config.block), where, params);
}

PermuteArgs Permute::args(const PermuteProblem &problem, const PermuteConfig &, std::int64_t m,
                          const Sampler &sampler) {
  // About m rows as modes of small extents, and what is left as the one along which y is contiguous, which
  // has a multiple of row_align.
  const auto rank = static_cast<std::size_t>(problem.rank);
  std::vector<std::int64_t> x(rank, 1);
  const std::int64_t align = problem.row_align;
  const auto lastOfY = static_cast<std::size_t>(problem.order[rank - 1]),
             longest = lastOfY == rank - 1 ? rank - 2 : lastOfY;
  std::int64_t left = lastOfY == rank - 1 ? m : (m + align - 1) / align * align;
  for (std::size_t mode = 0; mode + 1 < rank; ++mode)
    for (std::int64_t factor : {2, 3})
      if (mode != longest && left > factor && left % factor == 0 && left / factor % align == 0) {
        x[mode] = factor;
        left /= factor;
        break;
      }
  x[longest] = left;
  x.back() = 72 * align;
  std::vector<std::int64_t> y;
  for (int mode = 0; mode < problem.rank; ++mode)
    y.push_back(x[static_cast<std::size_t>(problem.order[static_cast<std::size_t>(mode)])]);
  return {.x = sampler("x", problem.type, x, Role::input),
          .y = sampler("y", problem.type, y, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(PermuteProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
