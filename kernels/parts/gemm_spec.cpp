// What the parts of products are made for, and the tiles of their blocks.
#include <flydsl/kernels/parts.h>

#include "blocks/products/tile_scheduler.h"
#include "gemm/gemm_family.h"
#include "parts/checks.h"

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

Support supported(const GemmSpec &spec, const Target &target) {
  if (spec.problem.narrow())
    return Support::no("a is of type " + std::string(spec.problem.a.name()) + " and b of type " +
                       std::string(spec.problem.b.name()) +
                       ": narrow weights are GemmPlan's and GroupedGemmPlan's; the parts multiply "
                       "both operands as they are");
  if (spec.problem.scale_a == Scales::mx || spec.problem.scale_b == Scales::mx)
    return Support::no(
        "scales of 32 elements of k, Scales::mx, are GemmPlan's; the parts take scales of "
        "blocks, Scales::per_block");
  if (spec.problem.batch || spec.problem.residual)
    return Support::no(std::string(spec.problem.batch ? "a batch" : "a residual") +
                       " is GemmPlan's; a kernel of parts chooses its matrices, and adds to their "
                       "sums by a stage of its own");
  if (spec.problem.rows || spec.problem.seed_in_memory)
    return Support::no(
        std::string(spec.problem.rows ? "a number of rows" : "a seed of stochastic rounding") +
        " in device memory is GemmPlan's; a kernel of parts reads what it needs, and "
        "gives it to the parts");
  if (spec.config.loop == GemmLoop::vector)
    return Support::no(
        "GemmLoop::vector is GemmPlan's; the parts multiply by matrix instructions, as "
        "loop=ring does");
  if (spec.config.split_k > 1 && spec.config.parts_sum != PartsSum::last_block)
    return Support::no("split_k is " + to_string(spec.config.split_k) +
                       ": of the parts, the last block of a tile adds those of K; parts_sum is "
                       "PartsSum::last_block then. A second kernel that adds them is GemmPlan's");
  if (const Support answer = kernels::supported(spec.problem, target); !answer)
    return answer;
  return kernels::supported(spec.problem, spec.config, target);
}
void expectFit(const GemmSpec &spec, Loc loc) {
  const Support answer = supported(spec, target());
  if (!answer)
    throw TraceError("parts of a product on " + target().name() + ": " + answer.why, loc);
}
void expectThreads(int threads, Loc loc) {
  const std::array<int, 3> found = gpu::known_block_size(loc);
  if (found != std::array{threads, 1, 1})
    throw TraceError("a block has " + to_string(found[0]) + " x " + to_string(found[1]) + " x " +
                         to_string(found[2]) + " threads, and the spec's configuration has " +
                         to_string(threads) + " x 1 x 1: .block = spec.config.threads",
                     loc);
}

std::int64_t tiles(const GemmSpec &spec, std::int64_t m) {
  return impl::tilesOf(spec.problem, spec.config, m) * spec.config.split_k;
}
std::int64_t part_columns(const GemmSpec &spec) {
  return impl::partsShape(spec.problem, spec.config).columns();
}
std::int64_t part_flags(const GemmSpec &spec, std::int64_t m) {
  return impl::PartFlags::count(impl::tilesOf(spec.problem, spec.config, m));
}

namespace {

WorkTile published(const impl::WorkTile<Int32> &work) {
  return {.m = work.m,
          .n = work.n,
          .row = work.row,
          .column = work.column,
          .rows = work.rows,
          .part = work.part};
}
impl::TileScheduler<Int32> schedulerOf(const GemmSpec &spec, const Int32 &m) {
  return {impl::tileGrid(spec.problem, spec.config), m};
}

} // namespace

TileScheduler::TileScheduler(const GemmSpec &spec, const Int32 &m, Loc loc) : spec_(spec), m_(m) {
  expectFit(spec, loc);
}
WorkTile TileScheduler::at(const Int32 &block) const {
  return published(schedulerOf(spec_, m_).at(block));
}
WorkTile TileScheduler::tile(const Int32 &m, const Int32 &n, const Int32 &part) const {
  return published(schedulerOf(spec_, m_).tile(Int32(0), m, n, part));
}
Int32 TileScheduler::down() const { return ceildiv(m_, spec_.config.tile_m); }
Int32 TileScheduler::across() const {
  return static_cast<std::int32_t>(impl::tilesAcross(spec_.problem, spec_.config));
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
