// How the keys of sequences are dealt to workers (flydsl/kernels/worklist.h).
//
// A worker has a run of units: the end of a sequence, whole sequences, the start of another.
// What it finds of a whole sequence is final. Of others it leaves a part, which a second
// kernel combines with the parts of the workers next to it. A worker has at most two parts,
// of the sequence of its first unit and of another: part 2 w belongs to its first unit, part
// 2 w + 1 to a later one. So the parts of a sequence are known from the units before it, and
// the workspace depends on the workers alone.
//
// The functions compute with host integers and with a kernel's numbers.
#pragma once

#include "blocks/attention/scores.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Where the keys of a sequence begin is a multiple of so many, which steps of any target divide.
inline constexpr int kKeyAlign = 32;
/// The most queries of a sequence that a problem may have.
inline constexpr int kMostQueries = 65535;

/// The keys that any query from `first` to `last` sees, from a multiple of kKeyAlign on.
template <class Int>
Span<Int> keysOfQueries(const Visibility<Int> &visibility, const Int &first, const Int &last) {
  return {visibility.ofQuery(first).first / kKeyAlign * kKeyAlign, visibility.ofQuery(last).end};
}
/// The keys that any query of a sequence sees; none if it has no queries, as with varlen it may.
template <class Int> Span<Int> keysOfSequence(const Visibility<Int> &visibility, bool varlen) {
  const Span<Int> keys = keysOfQueries(visibility, Int(0), Int(visibility.queries - 1));
  if (!varlen)
    return keys;
  const Int some = lesser(visibility.queries, Int(1));
  return {keys.first, Int(keys.first + (keys.end - keys.first) * some)};
}
/// The units of a sequence.
template <class Int> Int unitsOf(const Span<Int> &keys, int unit) {
  return greater(Int((keys.end - keys.first + (unit - 1)) / unit), Int(1));
}

/// Units dealt to workers in runs of neighbours; the first workers get one more if the runs are not
/// equal.
template <class Int> struct UnitDeal {
  Int units, workers;

  /// The first unit of a worker; that of the worker after the last one is `units`.
  Int begin(const Int &worker) const {
    return worker * (units / workers) + lesser(worker, Int(units % workers));
  }
  /// The worker that has a unit. Where runs are longer, the first term is right and the second not
  /// above it; elsewhere the other way round.
  Int workerOf(const Int &unit) const {
    const Int each = units / workers;
    return greater(Int(unit / (each + 1)), Int((unit - units % workers) / greater(each, Int(1))));
  }
};

/// The parts of a sequence that has the units from `first` to below `end`; one: it is final.
template <class Int> struct SequenceParts {
  Int count;
  Int firstPart, secondPart; ///< the others follow the second one at a stride of two

  static SequenceParts of(const UnitDeal<Int> &deal, const Int &first, const Int &end) {
    const Int from = deal.workerOf(first), to = deal.workerOf(end - 1);
    const Int later = lesser(Int(first - deal.begin(from)), Int(1));
    return {Int(to - from + 1), Int(from * 2 + later), Int(from * 2 + 2)};
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
