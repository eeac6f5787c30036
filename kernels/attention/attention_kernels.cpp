// The kernels of attention. A block takes a tile of queries of one head, and goes over the tiles of
// keys that they see; each wave has its own queries, and all of them share the keys and the values.
//
//   a block                                                              the file
//   which queries, and which keys they see                               attention_rows.h
//   Q (tile_q, head): memory -> registers                                wave_queries.h
//   for each tile of keys:                                               tile_loop.h, group_loop.h
//     K (tile_k, head), V (tile_k, head_v): memory -> LDS, by all waves  kv_tile.h, dma_tile.h
//     S^T (tile_k, tile_q) = K Q^T
//     P = exp(S - reference), results so far rescaled: in registers      wave_queries.h
//     O^T (head_v, tile_q) += V^T P^T
//   O / sum of P, and its logarithm: registers -> memory                 wave_queries.h
//
//   kernel             keys of a block   what it does with the results
//   attention          all               writes them
//   attention_parts    one of `splits`   writes them and their logarithms to the workspace
//   attention_combine                    adds up a query's parts, weighed by their logarithms
//
// The first kernel is used if splits is 1, the others if it is more. attend.h is the body of the
// first two. attention_shape.h has the sizes of a configuration's tiles. kernels/README.md has the words.
#include "attention/attend.h"
#include "attention/attention_family.h"
#include "blocks/attention/combine.h"
#include "frame/compile.h"
#include "frame/forms.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using SpecOf = Constexpr<Spec<AttentionProblem>>;
using AttentionKernel = FamilyKernel<AttentionProblem, AttentionParams>;

/// Registers for two waves of a SIMD, see AttentionShape::registers.
const KernelHints kHints{.waves_per_eu = 2};

/// The kernel, once for each row of kKeeps.
std::vector<AttentionKernel> byRows(const KernelOf<AttentionParams> &name, bool isSplit) {
  std::vector<AttentionKernel> all;
  for (const Keep &keep : kKeeps)
    all.emplace_back(
        name,
        [isSplit, keep](const AttentionTraced &p, const SpecOf &spec) {
          attend(p, spec->problem, spec->config, isSplit, keep);
        },
        kHints);
  return all;
}
const std::vector<AttentionKernel> attention = byRows(kAttention, false),
                                   attentionParts = byRows(kAttentionParts, true);

/// Combines the parts of a tile of queries, or some of them: a thread takes four neighbours of a row. `block`: the
/// number of the block among those that share the tile.
void combineTile(const AttentionTraced &p, const Spec<AttentionProblem> &spec,
                 const BlockPlace &place, const Int32 &block) {
  constexpr int kEach = kCombinedTogether;
  const auto &[problem, config] = spec;
  const AttentionRows rows(problem, config, p, place);
  const int across = headV(problem) / kEach;
  const Int32 count = min(place.queries - place.first, config.tile_q) * across,
              i = block * config.threads + thread_idx().x;
  const std::optional<Numeric> sink = rows.sink();
  if_(i < count, [&] {
    const Int32 query = place.first + i / across, piece = i % across;
    const auto partOf = [&](const Int32 &part) { return rows.resultOfPart(query, part); };
    rows.result(query).store(
        kEach, piece,
        combineParts(
            {.count = Int32(config.splits),
             .lse = [&](const Int32 &part) { return Numeric((*partOf(part).lse)(0)); },
             .values = [&](const Int32 &part) { return partOf(part).run(kEach, piece).load(); },
             .known = config.splits},
            kEach, sink));
  });
}
const AttentionKernel attentionCombine{
    kAttentionCombine, [](const AttentionTraced &p, const SpecOf &spec) {
      const auto &[problem, config] = spec.value();
      const int blocks = combineBlocks(problem, config);
      const Int32 number = block_idx().x;
      BlockPlace::of(problem, config, p, /*isSplit=*/false, /*valueParts=*/1, number / blocks)
          .eachTile(problem, config, [&](const BlockPlace &place) {
            combineTile(p, spec.value(), place, Int32(number % blocks));
          });
    }};

} // namespace

void Family<AttentionProblem>::compile(const Compiler<AttentionProblem> &compiler) {
  const AttentionConfig &config = compiler.config();
  const auto keeps = AttentionShape::of(compiler.problem(), config, compiler.target())->keeps();
  const auto tried = [&](const std::vector<AttentionKernel> &rows) {
    return std::span(rows).last(keeps.size());
  };
  if (config.splits > 1) {
    compileFirstThatFits(compiler, tried(attentionParts), config.threads);
    compiler(attentionCombine, config.threads);
  } else {
    compileFirstThatFits(compiler, tried(attention), config.threads);
  }
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(AttentionProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
