// Prefix sums, and other prefixes, of a block's items.
#pragma once

#include <flydsl/coop/block.h>
#include <flydsl/kernel/var.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// How a block scans.
enum class BlockScanAlgorithm {
  warp_scans, ///< each wave by moves between lanes, then the waves' sums; one barrier
  raking,     ///< one wave scans all threads' sums in shared memory; two barriers
};

/// What comes before the next tile of a loop: a value that a scan starts from and then adds its
/// tile to.
///
///   fx::coop::Running<fx::Int32> before(0);
///   for (fx::Int32 tile : fx::range(tiles)) {
///     auto sums = scan.exclusive(load(tile), before, fx::Reduction::add, storage);
///     fx::gpu::barrier();
///   }
template <impl::CoopValue T> class Running {
public:
  explicit Running(const T &init, Loc loc = Loc::current()) {
    for (const detail::Handle &field : impl::toFields(init)) {
      types_.push_back(detail::dtypeOf(field, loc));
      memory_.push_back(detail::varNew(field, types_.back(), loc));
    }
  }
  /// The value where the expression stands.
  T get(Loc loc = Loc::current()) const {
    impl::Fields fields;
    for (const detail::Handle &memory : memory_)
      fields.push_back(detail::varLoad(memory, loc));
    return impl::fromFields<T>(fields);
  }
  /// Sets the value from here on.
  void set(const T &value, Loc loc = Loc::current()) const {
    const impl::Fields fields = impl::toFields(value);
    for (std::size_t i = 0; i < fields.size(); ++i)
      detail::varStore(memory_[i], fields[i], loc);
  }

private:
  std::vector<DType> types_;
  std::vector<detail::Handle> memory_;
};

/// Items with what is before them, and all of the block.
template <class C> struct BlockScanned {
  C items;
  impl::ItemOf<C> aggregate;
};

/// Each item of a block combined with all before it. Items are blocked, of any number; the operator
/// is associative and gets its operands in their order.
class FLYDSL_API BlockScan : public BlockCollective {
public:
  BlockScan(ValueType type, int threads,
            BlockScanAlgorithm algorithm = BlockScanAlgorithm::warp_scans,
            Loc loc = Loc::current());

  /// Each item combined with all items before it. `init` goes before the first.
  template <class C, class Op>
  impl::ResultOf<C> inclusive(const C &items, const Op &op, const Storage &storage,
                              Loc loc = Loc::current()) const {
    return inclusive_with_aggregate(items, op, storage, loc).items;
  }
  template <class C, class Op>
  impl::ResultOf<C> inclusive(const C &items, const impl::InitOf<C> &init, const Op &op,
                              const Storage &storage, Loc loc = Loc::current()) const {
    return inclusive_with_aggregate(items, init, op, storage, loc).items;
  }
  /// All items before each one combined. The first is `init`; without it, what changes no value:
  /// only an fx::Reduction has it.
  template <class C, class Op>
  impl::ResultOf<C> exclusive(const C &items, const Op &op, const Storage &storage,
                              Loc loc = Loc::current()) const {
    return exclusive_with_aggregate(items, op, storage, loc).items;
  }
  template <class C, class Op>
  impl::ResultOf<C> exclusive(const C &items, const impl::InitOf<C> &init, const Op &op,
                              const Storage &storage, Loc loc = Loc::current()) const {
    return exclusive_with_aggregate(items, init, op, storage, loc).items;
  }

  /// The same with all items of the block combined, without `init`, in all threads.
  template <class C, class Op>
  BlockScanned<impl::ResultOf<C>> inclusive_with_aggregate(const C &items, const Op &op,
                                                           const Storage &storage,
                                                           Loc loc = Loc::current()) const {
    return of<C>(scan(impl::takeItems(items, loc), impl::operatorOf<impl::ItemOf<C>>(op, loc),
                      nullptr, true, storage, loc),
                 loc);
  }
  template <class C, class Op>
  BlockScanned<impl::ResultOf<C>>
  inclusive_with_aggregate(const C &items, const impl::InitOf<C> &init, const Op &op,
                           const Storage &storage, Loc loc = Loc::current()) const {
    const impl::Fields first = impl::initFields(init);
    return of<C>(scan(impl::takeItems(items, loc), impl::operatorOf<impl::ItemOf<C>>(op, loc),
                      &first, true, storage, loc),
                 loc);
  }
  template <class C, class Op>
  BlockScanned<impl::ResultOf<C>> exclusive_with_aggregate(const C &items, const Op &op,
                                                           const Storage &storage,
                                                           Loc loc = Loc::current()) const {
    return of<C>(scan(impl::takeItems(items, loc), impl::operatorOf<impl::ItemOf<C>>(op, loc),
                      nullptr, false, storage, loc),
                 loc);
  }
  template <class C, class Op>
  BlockScanned<impl::ResultOf<C>>
  exclusive_with_aggregate(const C &items, const impl::InitOf<C> &init, const Op &op,
                           const Storage &storage, Loc loc = Loc::current()) const {
    const impl::Fields first = impl::initFields(init);
    return of<C>(scan(impl::takeItems(items, loc), impl::operatorOf<impl::ItemOf<C>>(op, loc),
                      &first, false, storage, loc),
                 loc);
  }

  /// The same for a tile that has only its first `valid` items, 1 to all: the aggregate
  /// is of these, and after them the items have any values. `valid` is
  /// the same number in all threads. An fx::Reduction needs no more barriers, a
  /// function one more. `init` goes before the first.
  template <class C, class Op>
  BlockScanned<impl::ResultOf<C>> inclusive_partial(const C &items, const Op &op,
                                                    const IntTuple &valid, const Storage &storage,
                                                    Loc loc = Loc::current()) const {
    return of<C>(scan(impl::takeItems(items, loc), impl::operatorOf<impl::ItemOf<C>>(op, loc),
                      nullptr, true, storage, loc, &valid),
                 loc);
  }
  template <class C, class Op>
  BlockScanned<impl::ResultOf<C>>
  exclusive_partial(const C &items, const impl::InitOf<C> &init, const Op &op,
                    const IntTuple &valid, const Storage &storage, Loc loc = Loc::current()) const {
    const impl::Fields first = impl::initFields(init);
    return of<C>(scan(impl::takeItems(items, loc), impl::operatorOf<impl::ItemOf<C>>(op, loc),
                      &first, false, storage, loc, &valid),
                 loc);
  }

  /// The same, from what is before the tile, to which the tile is then added.
  template <class C, class Op>
  impl::ResultOf<C> inclusive(const C &items, const Running<impl::ItemOf<C>> &before, const Op &op,
                              const Storage &storage, Loc loc = Loc::current()) const {
    return advance(items, before, op, true, storage, loc);
  }
  template <class C, class Op>
  impl::ResultOf<C> exclusive(const C &items, const Running<impl::ItemOf<C>> &before, const Op &op,
                              const Storage &storage, Loc loc = Loc::current()) const {
    return advance(items, before, op, false, storage, loc);
  }

private:
  struct Scanned {
    impl::Items items;
    impl::Fields aggregate;
  };
  Scanned scan(const impl::Items &items, const impl::Operator &op, const impl::Fields *init,
               bool inclusive, const Storage &storage, Loc loc,
               const IntTuple *valid = nullptr) const;

  template <class C> static BlockScanned<impl::ResultOf<C>> of(const Scanned &scanned, Loc loc) {
    return {impl::makeItems<impl::ResultOf<C>>(scanned.items, loc),
            impl::fromFields<impl::ItemOf<C>>(scanned.aggregate)};
  }
  template <class C, class Op>
  impl::ResultOf<C> advance(const C &items, const Running<impl::ItemOf<C>> &before, const Op &op,
                            bool inclusive, const Storage &storage, Loc loc) const {
    using T = impl::ItemOf<C>;
    const impl::Operator combine = impl::operatorOf<T>(op, loc);
    const impl::Fields start = impl::toFields(before.get(loc));
    const Scanned scanned =
        scan(impl::takeItems(items, loc), combine, &start, inclusive, storage, loc);
    before.set(impl::fromFields<T>(impl::combine(combine, start, scanned.aggregate, loc)), loc);
    return impl::makeItems<impl::ResultOf<C>>(scanned.items, loc);
  }

  BlockScanAlgorithm algorithm_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
