// All items of a block combined.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// How a block reduces.
enum class BlockReduceAlgorithm {
  warp_reductions, ///< each wave by moves between lanes, then the waves' results; one barrier
  raking,          ///< one wave takes all threads' values from shared memory; two barriers
};

/// All items of a block combined, in all threads. Items are combined in their order, of threads and
/// within a thread; how they are bracketed is open.
class FLYDSL_API BlockReduce : public BlockCollective {
public:
  BlockReduce(ValueType type, int threads,
              BlockReduceAlgorithm algorithm = BlockReduceAlgorithm::warp_reductions,
              Loc loc = Loc::current());

  /// All items of the block combined, in all threads.
  template <class C, class Op>
  impl::ItemOf<C> operator()(const C &items, const Op &op, const Storage &storage,
                             Loc loc = Loc::current()) const {
    using T = impl::ItemOf<C>;
    return impl::fromFields<T>(
        reduce(impl::takeItems(items, loc), impl::operatorOf<T>(op, loc), storage, loc));
  }
  /// The first `valid` items, in the order of blocked items, 1 to all: a last tile that is not
  /// full. `valid` is the same number in all threads.
  template <class C, class Op>
  impl::ItemOf<C> partial(const C &items, const Op &op, const IntTuple &valid,
                          const Storage &storage, Loc loc = Loc::current()) const {
    using T = impl::ItemOf<C>;
    return impl::fromFields<T>(reducePartial(impl::takeItems(items, loc),
                                             impl::operatorOf<T>(op, loc), valid, storage, loc));
  }

private:
  impl::Fields reduce(const impl::Items &items, const impl::Operator &op, const Storage &storage,
                      Loc loc) const;
  impl::Fields reducePartial(const impl::Items &items, const impl::Operator &op,
                             const IntTuple &valid, const Storage &storage, Loc loc) const;
  impl::Fields acrossThreads(const impl::Fields &own, const impl::Operator &op,
                             const Storage &storage, Loc loc) const;

  BlockReduceAlgorithm algorithm_;
};

/// The same for several values at once. Each has its own result; one barrier serves all.
class FLYDSL_API BlockReduceBatched : public BlockCollective {
public:
  BlockReduceBatched(ValueType type, int threads, int values, Loc loc = Loc::current());

  /// Value i of all threads combined is result i.
  template <class C, class Op>
  impl::ResultOf<C> operator()(const C &values, const Op &op, const Storage &storage,
                               Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(reduce(impl::takeItems(values, loc),
                                                     impl::operatorOf<impl::ItemOf<C>>(op, loc),
                                                     storage, loc),
                                              loc);
  }

private:
  impl::Items reduce(const impl::Items &values, const impl::Operator &op, const Storage &storage,
                     Loc loc) const;
};

} // namespace coop
FLYDSL_NAMESPACE_END
