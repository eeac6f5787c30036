// The kernel that makes a worklist. One block adds up the units of the sequences, as many at a time
// as it has threads; then each thread looks for the first sequences of some workers.
#pragma once

#include "blocks/attention/worklist.h"
#include "blocks/common/sorted_search.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/worklist.h>

#include <functional>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sequences of a call, as a worklist sees them: how many tokens and queries each has.
class SequencesOfList {
public:
  /// `length`: tokens of a sequence. `starts`: varlen, (n + 1).
  SequencesOfList(const WorklistProblem &problem, std::function<Int32(const Int32 &)> length,
                  const Strided<OnDevice, 0> &starts, const Int32 &n)
      : problem_(problem), length_(std::move(length)), starts_(starts), n_(n) {}
  /// `lengths`: (n).
  SequencesOfList(const WorklistProblem &problem, const Strided<OnDevice, 0> &lengths,
                  const Strided<OnDevice, 0> &starts, const Int32 &n)
      : SequencesOfList(
            problem,
            [lengths, n](const Int32 &sequence) { return Int32(lengths.view(i32, n)(sequence)); },
            starts, n) {} // (n)

  const Int32 &count() const { return n_; }
  /// The units of a sequence.
  Int32 units(const Int32 &sequence, const Int32 &before) const {
    const Tensor starts = starts_.view(i32, n_ + 1); // (n + 1)
    const Int32 queries =
        problem_.varlen ? Int32(starts(sequence + 1) - starts(sequence)) : Int32(problem_.queries);
    const Visibility<Int32> visibility{true,   problem_.window, queries, length_(sequence),
                                       before, Int32(0)};
    return unitsOf(keysOfSequence(visibility, problem_.varlen), problem_.unit);
  }

private:
  const WorklistProblem &problem_;
  std::function<Int32(const Int32 &)> length_;
  Strided<OnDevice, 0> starts_;
  Int32 n_;
};

/// Traces the body of the kernel, for one block of `block` threads. The list has the first unit of each
/// sequence and the number of all units, and then the first sequence of each worker.
inline void makeWorklist(const WorklistProblem &problem, int block,
                         const SequencesOfList &sequences, const Strided<OnDevice, 0> &worklist,
                         const Int32 &before) {
  const Int32 &n = sequences.count();
  const Tensor list = worklist.view(i32, n + 1);                                        // (n + 1)
  const Tensor firsts = make_view(list.iter() + (n + 1), make_layout(problem.workers)); // (workers)
  const Int32 thread = thread_idx().x;
  SharedAllocator shared;
  const Var<Int32> total(Int32(0));
  if_(thread == 0, [&] { list(0) = 0; });
  for (Int32 first : range(Int32(0), counted(n), block)) {
    const Int32 sequence = first + thread;
    const Var<Int32> units(Int32(0));
    if_(sequence < n, [&] { units = sequences.units(sequence, before); });
    const Int32 sum = gpu::block_inclusive_scan(units.get(), Reduction::add, shared);
    if_(sequence < n, [&] { list(sequence + 1) = total + sum; });
    total += gpu::block_reduce(units.get(), Reduction::add, shared);
  }
  gpu::barrier(); // all units are written
  const UnitDeal<Int32> deal{total.get(), Int32(problem.workers)};
  for (Int32 worker : range(thread, Int32(problem.workers), block)) {
    // The last sequence that does not begin after the worker's first unit.
    const Int32 begin = deal.begin(worker);
    firsts(worker) = select(begin < total, lastNotAbove(list, n, begin), n);
  }
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
