// The kernels of attention over a paged cache: the blocks that go over keys, the one that combines
// their parts, and the one that makes a worklist.
#include "blocks/attention/worklist_kernel.h"
#include "decode/latent_block.h"
#include "decode/paged_block.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// Calls `block` with the block's part of its sequence, or with a worker's parts one after another.
template <class Block>
void eachPart(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &numbers,
              const Block &block) {
  if (config.workers)
    work(problem, config, numbers, block);
  else
    block(DecodePart{.sequence = block_idx().z});
}

const Kernel decode{kDecode.name(), [](DecodeTraced numbers, Constexpr<Spec<DecodeProblem>> spec) {
                      const DecodeProblem problem = spec->problem;
                      const DecodeConfig config = spec->config;
                      const MatrixForm form = *decodeForm(problem, target());
                      if (problem.latent) {
                        const LatentMemory memory(problem, config.block / form.lanes);
                        return eachPart(problem, config, numbers, [&](const DecodePart &part) {
                          LatentBlock(problem, config, numbers, form, memory, part).run();
                        });
                      }
                      const PagedMemory memory(problem, config, form);
                      eachPart(problem, config, numbers, [&](const DecodePart &part) {
                        PagedBlock(problem, config, numbers, form, memory, part).run();
                      });
                    }};

const Kernel combineRows{
    kDecodeCombine.name(), [](DecodeTraced numbers, Constexpr<Spec<DecodeProblem>> spec) {
      const auto &[problem, config] = spec.value();
      const int across = valueOf(problem) / kCombineElements;
      const Numeric number =
          block_idx().x.to(u32) * UInt32(kCombineThreads) + thread_idx().x.to(u32);
      const Numeric row = number / UInt32(across);
      const Int32 token = (row / UInt32(problem.q_heads)).to<Int32>(),
                  head = (row % UInt32(problem.q_heads)).to<Int32>(),
                  first = (number % UInt32(across)).to<Int32>() * kCombineElements;
      exit_if(token >= numbers[kDecodeTokens].to<Int32>());
      const DecodeRows rows(problem, numbers, Int32(0), Int32(0));
      const auto write = [&](const Int32 &count,
                             const std::function<Numeric(const Int32 &)> &part) {
        rows.store(rows.place(token, head), first,
                   combineParts({.count = count,
                                 .lse =
                                     [&](const Int32 &i) {
                                       return DecodeRows::partLse(rows.partPlace(part(i))).load();
                                     },
                                 .values =
                                     [&](const Int32 &i) {
                                       return DecodeRows::partValues(rows.partPlace(part(i)), first)
                                           .load(kCombineElements);
                                     },
                                 .known = config.workers ? 0 : config.splits},
                                kCombineElements));
      };
      if (!config.workers)
        return write(Int32(config.splits), [&, splits = config.splits](const Int32 &split) {
          return rows.ofSplit(token, head, splits, split);
        });
      const DecodeWorklist list(problem, config, numbers);
      const Int32 sequence = token / problem.queries;
      const auto parts = SequenceParts<Int32>::of(list.deal, list.unitsBefore(sequence),
                                                  list.unitsBefore(sequence + 1));
      if_(parts.count > 1, [&] {
        write(parts.count, [&](const Int32 &i) {
          return rows.ofWorker(token, head,
                               select(i == 0, parts.firstPart, parts.secondPart + (i - 1) * 2));
        });
      });
    }};

const Kernel worklist{
    kDecodeWorklistKernel.name(), [](DecodeTraced numbers, Constexpr<Spec<DecodeProblem>> spec) {
      const auto &[problem, config] = spec.value();
      makeWorklist(worklist_of(problem, config), kWorklistThreads, numbers[kDecodeContexts],
                   numbers[kDecodeWorklist], (numbers[kDecodeTokens] / problem.queries).to<Int32>(),
                   numbers[kDecodeBefore].to<Int32>());
    }};

} // namespace

void Family<DecodeProblem>::compile(const Compiler<DecodeProblem> &compiler) {
  compiler(kDecode, decode, compiler.config().block);
  if (hasParts(compiler.config()))
    compiler(kDecodeCombine, combineRows, kCombineThreads);
  if (compiler.config().workers)
    compiler(kDecodeWorklistKernel, worklist, kWorklistThreads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DecodeProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
