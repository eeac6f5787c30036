// What a block's items have beside them in the sequence: where runs begin and end, differences, and
// moves by some places.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// What the collectives of this page share: any number of blocked items; a thread's
/// neighbours see its first and its last item. One barrier.
class FLYDSL_API BlockNeighbours : public BlockCollective {
protected:
  BlockNeighbours(const char *what, ValueType type, int threads, Loc loc);
  /// The item before each one. Of the first it is `predecessor`, or, without one, itself.
  impl::Items before(const impl::Items &items, const impl::Fields *predecessor,
                     const Storage &storage, Loc loc) const;
  /// The item after each one. Of the last it is `successor`, or, without one, itself.
  impl::Items after(const impl::Items &items, const impl::Fields *successor, const Storage &storage,
                    Loc loc) const;
  /// Both, without a predecessor and a successor.
  std::pair<impl::Items, impl::Items> around(const impl::Items &items, const Storage &storage,
                                             Loc loc) const;
};

/// Where runs of like items begin and end. `differs(a, b)` is whether b, the item after a, belongs
/// to another run. Flags are Boolean.
class FLYDSL_API BlockDiscontinuity : public BlockNeighbours {
public:
  BlockDiscontinuity(ValueType type, int threads, Loc loc = Loc::current());

  /// Whether each item is the first of a run. The block's first one is, unless `predecessor`, the
  /// item before it, is given and decides.
  template <class C, class F>
  impl::ResultWith<C, Boolean> heads(const C &items, const F &differs, const Storage &storage,
                                     Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultWith<C, Boolean>>(
        flags(impl::takeItems(items, loc), impl::relationOf<impl::ItemOf<C>>(differs), true,
              nullptr, storage, loc),
        loc);
  }
  template <class C, class F>
  impl::ResultWith<C, Boolean> heads(const C &items, const impl::InitOf<C> &predecessor,
                                     const F &differs, const Storage &storage,
                                     Loc loc = Loc::current()) const {
    const impl::Fields edge = impl::initFields(predecessor);
    return impl::makeItems<impl::ResultWith<C, Boolean>>(
        flags(impl::takeItems(items, loc), impl::relationOf<impl::ItemOf<C>>(differs), true, &edge,
              storage, loc),
        loc);
  }
  /// Whether each item is the last of a run. The block's last one is, unless `successor`, the item
  /// after it, is given and decides.
  template <class C, class F>
  impl::ResultWith<C, Boolean> tails(const C &items, const F &differs, const Storage &storage,
                                     Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultWith<C, Boolean>>(
        flags(impl::takeItems(items, loc), impl::relationOf<impl::ItemOf<C>>(differs), false,
              nullptr, storage, loc),
        loc);
  }
  template <class C, class F>
  impl::ResultWith<C, Boolean> tails(const C &items, const impl::InitOf<C> &successor,
                                     const F &differs, const Storage &storage,
                                     Loc loc = Loc::current()) const {
    const impl::Fields edge = impl::initFields(successor);
    return impl::makeItems<impl::ResultWith<C, Boolean>>(
        flags(impl::takeItems(items, loc), impl::relationOf<impl::ItemOf<C>>(differs), false, &edge,
              storage, loc),
        loc);
  }

  /// The last one of the first `valid` items, 1 to all, is the last of its run; after it flags
  /// have any values. Heads need no such call: items after a head do not change it.
  template <class C, class F>
  impl::ResultWith<C, Boolean> tails_partial(const C &items, const F &differs,
                                             const IntTuple &valid, const Storage &storage,
                                             Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultWith<C, Boolean>>(
        flags(impl::takeItems(items, loc), impl::relationOf<impl::ItemOf<C>>(differs), false,
              nullptr, storage, loc, &valid),
        loc);
  }
  /// Both flags of each item, with one barrier.
  template <class C, class F>
  std::pair<impl::ResultWith<C, Boolean>, impl::ResultWith<C, Boolean>>
  heads_and_tails(const C &items, const F &differs, const Storage &storage,
                  Loc loc = Loc::current()) const {
    using R = impl::ResultWith<C, Boolean>;
    const auto [heads, tails] = bothFlags(impl::takeItems(items, loc),
                                          impl::relationOf<impl::ItemOf<C>>(differs), storage, loc);
    return {impl::makeItems<R>(heads, loc), impl::makeItems<R>(tails, loc)};
  }

private:
  impl::Items flags(const impl::Items &items, const impl::Relation &differs, bool heads,
                    const impl::Fields *edge, const Storage &storage, Loc loc,
                    const IntTuple *valid = nullptr) const;
  std::pair<impl::Items, impl::Items> bothFlags(const impl::Items &items,
                                                const impl::Relation &differs,
                                                const Storage &storage, Loc loc) const;
};

/// Each item combined with its neighbour.
class FLYDSL_API BlockAdjacentDifference : public BlockNeighbours {
public:
  BlockAdjacentDifference(ValueType type, int threads, Loc loc = Loc::current());

  /// f(item, the item before it). The block's first item is left as it is, unless `predecessor` is
  /// given.
  template <class C, class F>
  impl::ResultOf<C> left(const C &items, const F &f, const Storage &storage,
                         Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(difference(impl::takeItems(items, loc),
                                                         impl::operatorOf<impl::ItemOf<C>>(f, loc),
                                                         true, nullptr, storage, loc),
                                              loc);
  }
  template <class C, class F>
  impl::ResultOf<C> left(const C &items, const impl::InitOf<C> &predecessor, const F &f,
                         const Storage &storage, Loc loc = Loc::current()) const {
    const impl::Fields edge = impl::initFields(predecessor);
    return impl::makeItems<impl::ResultOf<C>>(difference(impl::takeItems(items, loc),
                                                         impl::operatorOf<impl::ItemOf<C>>(f, loc),
                                                         true, &edge, storage, loc),
                                              loc);
  }
  /// f(item, the item after it). The block's last item is left as it is, unless `successor` is
  /// given.
  template <class C, class F>
  impl::ResultOf<C> right(const C &items, const F &f, const Storage &storage,
                          Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(difference(impl::takeItems(items, loc),
                                                         impl::operatorOf<impl::ItemOf<C>>(f, loc),
                                                         false, nullptr, storage, loc),
                                              loc);
  }
  template <class C, class F>
  impl::ResultOf<C> right(const C &items, const impl::InitOf<C> &successor, const F &f,
                          const Storage &storage, Loc loc = Loc::current()) const {
    const impl::Fields edge = impl::initFields(successor);
    return impl::makeItems<impl::ResultOf<C>>(difference(impl::takeItems(items, loc),
                                                         impl::operatorOf<impl::ItemOf<C>>(f, loc),
                                                         false, &edge, storage, loc),
                                              loc);
  }

  /// The same of the first `valid` items, 0 to all: those after them, and of `right` the last of
  /// them too, are left as they are.
  template <class C, class F>
  impl::ResultOf<C> left_partial(const C &items, const F &f, const IntTuple &valid,
                                 const Storage &storage, Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(difference(impl::takeItems(items, loc),
                                                         impl::operatorOf<impl::ItemOf<C>>(f, loc),
                                                         true, nullptr, storage, loc, &valid),
                                              loc);
  }
  template <class C, class F>
  impl::ResultOf<C> right_partial(const C &items, const F &f, const IntTuple &valid,
                                  const Storage &storage, Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(difference(impl::takeItems(items, loc),
                                                         impl::operatorOf<impl::ItemOf<C>>(f, loc),
                                                         false, nullptr, storage, loc, &valid),
                                              loc);
  }

private:
  impl::Items difference(const impl::Items &items, const impl::Operator &f, bool left,
                         const impl::Fields *edge, const Storage &storage, Loc loc,
                         const IntTuple *valid = nullptr) const;
};

/// Items that move along the sequence, or from thread to thread.
class FLYDSL_API BlockShuffle : public BlockNeighbours {
public:
  BlockShuffle(ValueType type, int threads, Loc loc = Loc::current());

  /// Thread t's value from thread t + distance, which may be negative; `fill` where the block has
  /// no such thread.
  template <impl::CoopValue T>
  impl::PlainOf<T> offset(const T &value, const IntTuple &distance, const impl::InitOf<T> &fill,
                          const Storage &storage, Loc loc = Loc::current()) const {
    const impl::Fields other = impl::initFields(fill);
    return impl::fromFields<impl::PlainOf<T>>(
        fromThread(impl::toFields(value), distance, &other, storage, loc));
  }
  /// The same from thread (t + distance) modulo the number of threads.
  template <impl::CoopValue T>
  impl::PlainOf<T> rotate(const T &value, const IntTuple &distance, const Storage &storage,
                          Loc loc = Loc::current()) const {
    return impl::fromFields<impl::PlainOf<T>>(
        fromThread(impl::toFields(value), distance, nullptr, storage, loc));
  }
  /// Each place of the sequence gets the item before it, the first `predecessor`.
  template <class C>
  impl::ResultOf<C> up(const C &items, const impl::InitOf<C> &predecessor, const Storage &storage,
                       Loc loc = Loc::current()) const {
    const impl::Fields edge = impl::initFields(predecessor);
    return impl::makeItems<impl::ResultOf<C>>(
        before(impl::takeItems(items, loc), &edge, storage, loc), loc);
  }
  /// Each place gets the item after it, the last `successor`.
  template <class C>
  impl::ResultOf<C> down(const C &items, const impl::InitOf<C> &successor, const Storage &storage,
                         Loc loc = Loc::current()) const {
    const impl::Fields edge = impl::initFields(successor);
    return impl::makeItems<impl::ResultOf<C>>(
        after(impl::takeItems(items, loc), &edge, storage, loc), loc);
  }

private:
  impl::Fields fromThread(const impl::Fields &value, const IntTuple &distance,
                          const impl::Fields *fill, const Storage &storage, Loc loc) const;
};

} // namespace coop
FLYDSL_NAMESPACE_END
