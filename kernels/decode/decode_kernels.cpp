// The kernels of decoding: attention of the newest tokens over a paged cache. The rows of a block are
// queries of the heads that share a head of keys, so that each key is read once for all of them.
//
//   a block                                                                the file
//   which sequence, which of its rows, and which keys                      decode_part.h
//   Q (rows, head): memory -> registers, or LDS if those have no room      paged_block.h
//   each wave, for its own steps of keys:                                  paged_block.h
//     K (keys, head), V (keys, head_v): memory -> registers, by the table  kv_source.h
//     S^T (keys, rows) = K Q^T                                             decode_wave.h
//     P = exp(S - reference), results so far rescaled: in registers        decode_scores.h, decode_wave.h
//     O^T (head_v, rows) += V^T P^T                                        decode_wave.h
//   the waves' O and their sums of P, added up through LDS                 paged_block.h
//   O / sum of P, and its logarithm: registers -> memory                   decode_part.h
//
// Latent attention (MLA) has one head of keys, whose first elements are the values: there all waves take
// the same step of keys, through LDS, and share the rows (latent_block.h).
//
//   kernel            keys of a block                what it does with the results
//   decode            all of a sequence              writes them
//                     one of `splits`, or a          writes them and their logarithms to the
//                     worker's units of a worklist   workspace
//   decode_combine                                   adds up a row's parts, weighed by their logarithms
//   decode_worklist                                  deals the keys of all sequences to workers
#include "blocks/attention/worklist_kernel.h"
#include "blocks/common/sorted_search.h"
#include "decode/latent_block.h"
#include "decode/paged_block.h"
#include "frame/compile.h"
#include "frame/forms.h"

#include <flydsl/kernel/argument.h>

#include <array>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// Calls `block` with the block's part of its sequence, or with a worker's parts one after another.
/// With varlen, a block whose rows the sequence does not have has no part, and one of a sequence
/// with more rows than the grid has several.
template <class Block>
void eachPart(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
              const Block &block) {
  const int blocks = rowBlocks(problem, config);
  const Int32 firstRow = block_idx().y % blocks * config.rows, sequence = block_idx().z;
  if (config.workers)
    return work(problem, config, p, firstRow, block);
  if (!problem.varlen)
    return block(DecodePart{.sequence = sequence, .firstRow = firstRow});
  const Span<Int32> tokens = DecodeRows::tokensOf(problem, p, sequence);
  const Int32 rows = (tokens.end - tokens.first) * groupOf(problem);
  for (Int32 first : range(firstRow, rows, blocks * config.rows)) {
    block(DecodePart{.sequence = sequence, .firstRow = first});
    gpu::barrier(AddressSpace::shared); // all threads have read what the waves found
  }
}

/// `readsAgain`: arguments are read again for each part of a block and for its results, so that they take no
/// scalar registers in the loops over keys.
void decodeOfBlock(const DecodeTraced &p, const Constexpr<Spec<DecodeProblem>> &spec,
                   bool readsAgain) {
  const DecodeProblem problem = spec->problem;
  const DecodeConfig config = spec->config;
  const MatrixForm form = *decodeForm(problem, target());
  if (problem.latent) {
    const LatentMemory memory(problem, config, form);
    return eachPart(problem, config, p, [&](const DecodePart &part) {
      LatentBlock(problem, config, p, form, memory, part).run();
    });
  }
  if (problem.scales == KvScales::token)
    for (const Strided<OnDevice, 3> &of : {p.kScale, p.vScale})
      assumeNearTokens(of, f32, problem.page);
  const PagedMemory memory(problem, config, form);
  eachPart(problem, config, p, [&](const DecodePart &part) {
    PagedBlock(problem, config, p, form, memory, part, readsAgain).run();
  });
}
using DecodeKernel = FamilyKernel<DecodeProblem, DecodeParams>;
DecodeKernel decodeBy(bool readsAgain) {
  return {kDecode, [readsAgain](const DecodeTraced &p, const Constexpr<Spec<DecodeProblem>> &spec) {
            decodeOfBlock(p, spec, readsAgain);
          }};
}
/// In order of preference.
const std::array<DecodeKernel, 2> decode{decodeBy(false), decodeBy(true)};

/// The sequence of a token that has one.
Int32 sequenceOf(const DecodeProblem &problem, const DecodeTraced &p, const Int32 &token) {
  if (!problem.varlen)
    return token / problem.queries;
  const Int32 n = p.sequences.to<Int32>();
  const Tensor starts = p.starts.view(i32, n + 1); // (n + 1)
  return lastNotAbove(starts, n, token); // the last sequence that does not begin after the token
}

const FamilyKernel combineRows{
    kDecodeCombine, [](const DecodeTraced &p, const Constexpr<Spec<DecodeProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const int across = valueOf(problem) / kCombineElements;
      const Numeric number =
          block_idx().x.to(u32) * UInt32(kCombineThreads) + thread_idx().x.to(u32);
      const Numeric row = number / UInt32(across);
      const Int32 token = (row / UInt32(problem.q_heads)).to<Int32>(),
                  head = (row % UInt32(problem.q_heads)).to<Int32>(),
                  piece = (number % UInt32(across)).to<Int32>();
      exit_if(token >= p.tokens.to<Int32>());
      if (problem.varlen) { // blocks leave nothing of tokens that no sequence has
        const Tensor starts = p.starts.view(i32, p.sequences + 1); // (n + 1)
        exit_if(Boolean((token < Int32(gpu::uniform_load(starts, 0))) |
                        (token >= Int32(gpu::uniform_load(starts, p.sequences.to<Int32>())))));
      }
      const DecodeRows rows(problem, config, p, Int32(0), Int32(0));
      const std::optional<Numeric> sink = rows.sink(head);
      const auto write = [&](const Int32 &count, int known,
                             const std::function<RowResult(const Int32 &)> &part) {
        constexpr int kEach = kCombineElements;
        rows.final(token, head)
            .store(kEach, piece,
                   combineParts({.count = count,
                                 .lse = [&](const Int32 &i) { return Numeric((*part(i).lse)(0)); },
                                 .values =
                                     [&](const Int32 &i) {
                                       return part(i).run(kEach, piece).load().to(f32);
                                     },
                                 .known = known},
                                kEach, sink));
      };
      if (!config.workers)
        return write(Int32(config.splits), config.splits,
                     [&](const Int32 &split) { return rows.ofSplit(row.to<Int32>(), split); });
      const DecodeWorklist list(config, p);
      const Int32 sequence = sequenceOf(problem, p, token);
      const DecodeRows own(problem, config, p, sequence, Int32(0));
      exit_if(own.queryOf(token) >= problem.queries); // a worker had all of their keys
      const auto parts = SequenceParts<Int32>::of(list.deal, list.unitsBefore(sequence),
                                                  list.unitsBefore(sequence + 1));
      if_(parts.count > 1, [&] {
        write(parts.count, 0, [&](const Int32 &i) {
          return own.ofWorker(token, head,
                              select(i == 0, parts.firstPart, parts.secondPart + (i - 1) * 2));
        });
      });
    }};

const FamilyKernel worklist{
    kDecodeWorklistKernel, [](const DecodeTraced &p, const Constexpr<Spec<DecodeProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const WorklistProblem list = worklist_of(problem, config);
      makeWorklist(list, kWorklistThreads,
                   SequencesOfList(
                       list, [&](const Int32 &sequence) { return contextOf(problem, p, sequence); },
                       p.starts, p.sequences.to<Int32>()),
                   p.worklist, p.windowLeft.to<Int32>());
    }};

} // namespace

void Family<DecodeProblem>::compile(const Compiler<DecodeProblem> &compiler) {
  // A latent cache has one head of keys and few arguments.
  compileFirstThatFits(compiler,
                       std::span(decode).first(compiler.problem().latent ? 1 : decode.size()),
                       compiler.config().block);
  if (hasParts(compiler.config()))
    compiler(combineRows, kCombineThreads);
  if (compiler.config().workers)
    compiler(worklist, kWorklistThreads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DecodeProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
