// Collectives of a wave: no shared memory, no barriers.
//
// Each works in groups of `width` neighbouring lanes, a power of two up to the wave (0: the wave).
// All lanes of a group take part; a branch that some of them skip is no place for a call. A
// thread's items are combined in their order, and lanes in theirs: all items of a lane come before
// those of the next one.
#pragma once

#include <flydsl/coop/operator.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {
namespace impl {

FLYDSL_API Fields warpReduce(const Items &items, const Operator &op, int width,
                             const IntTuple *valid, Loc loc);
FLYDSL_API Items warpReduceBatched(const Items &items, const Operator &op, int width, Loc loc);
/// How results are spread over lanes: blocked or striped, `ceil(results / width)` a lane.
enum class Spread { blocked, striped };
FLYDSL_API Items warpReduceSpread(const Items &items, const Operator &op, Spread spread, int width,
                                  Loc loc);
FLYDSL_API Fields warpReduceSegments(const Items &items, const Operator &op,
                                     const detail::Handle &flag, bool heads, int width, Loc loc);
FLYDSL_API Fields warpBroadcast(const Fields &value, const IntTuple &lane, int width, Loc loc);

/// What a scan gives, as far as it is asked for.
struct Scanned {
  Items inclusive, exclusive;
  Fields aggregate;
};
/// What is asked for beside the inclusive scan. Without an initial value a Reduction starts from
/// what changes no value, and a function has no exclusive scan.
struct ScanWish {
  const Fields *init = nullptr;
  bool exclusive = false, aggregate = false;
  const IntTuple *valid = nullptr; ///< of the aggregate
};
FLYDSL_API Scanned warpScan(const Items &items, const Operator &op, int width, const ScanWish &wish,
                            Loc loc);
/// TraceError for a function, which has no value that an exclusive scan could start from.
FLYDSL_API void expectNeutral(const Operator &op, Loc loc);

FLYDSL_API Items warpExchange(const Items &items, bool toStriped, int width, Loc loc);
FLYDSL_API Items warpSort(const Items &keys, const Items *values, Items *sortedValues,
                          const Relation &less, const IntTuple *valid, int width, Loc loc);

} // namespace impl

/// All items of a group combined, in all its lanes.
template <class C, class Op>
impl::ItemOf<C> warp_reduce(const C &items, const Op &op, int width = 0, Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::fromFields<T>(impl::warpReduce(impl::takeItems(items, loc),
                                              impl::operatorOf<T>(op, loc), width, nullptr, loc));
}
/// The items of the group's first `valid` lanes combined, in all its lanes. `valid` is 1 to width,
/// the same number in all lanes of the group.
template <class C, class Op>
impl::ItemOf<C> warp_reduce_partial(const C &items, const Op &op, const IntTuple &valid,
                                    int width = 0, Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::fromFields<T>(impl::warpReduce(impl::takeItems(items, loc),
                                              impl::operatorOf<T>(op, loc), width, &valid, loc));
}
/// Each item combined with the other lanes' items of its number: as many results, in all lanes.
template <class C, class Op>
impl::ResultOf<C> warp_reduce_batched(const C &items, const Op &op, int width = 0,
                                      Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::makeItems<impl::ResultOf<C>>(impl::warpReduceBatched(impl::takeItems(items, loc),
                                                                    impl::operatorOf<T>(op, loc),
                                                                    width, loc),
                                            loc);
}

/// The same results, dealt among the lanes: each lane gets n of the `count` results, where n is
/// ceil(count / width). Blocked, lane l gets the results l * n to l * n + n - 1; striped, those of
/// the numbers l, l + width, and so on. Past the last result a lane has any value. Fewer moves
/// between lanes than the results in all lanes take.
template <class C, class Op>
std::vector<impl::ItemOf<C>> warp_reduce_batched_to_blocked(const C &items, const Op &op,
                                                            int width = 0,
                                                            Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::makeItems<std::vector<T>>(impl::warpReduceSpread(impl::takeItems(items, loc),
                                                                impl::operatorOf<T>(op, loc),
                                                                impl::Spread::blocked, width, loc),
                                         loc);
}
template <class C, class Op>
std::vector<impl::ItemOf<C>> warp_reduce_batched_to_striped(const C &items, const Op &op,
                                                            int width = 0,
                                                            Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::makeItems<std::vector<T>>(impl::warpReduceSpread(impl::takeItems(items, loc),
                                                                impl::operatorOf<T>(op, loc),
                                                                impl::Spread::striped, width, loc),
                                         loc);
}

/// The lanes of a group in segments: one begins at each lane whose flag is a head (the group's
/// first lane is one), or ends at each lane whose flag is a tail. Each lane gets its segment's
/// items combined.
template <class C, class Op>
impl::ItemOf<C> warp_head_segmented_reduce(const C &items, const Boolean &head, const Op &op,
                                           int width = 0, Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::fromFields<T>(impl::warpReduceSegments(
      impl::takeItems(items, loc), impl::operatorOf<T>(op, loc), head.handle(), true, width, loc));
}
template <class C, class Op>
impl::ItemOf<C> warp_tail_segmented_reduce(const C &items, const Boolean &tail, const Op &op,
                                           int width = 0, Loc loc = Loc::current()) {
  using T = impl::ItemOf<C>;
  return impl::fromFields<T>(impl::warpReduceSegments(
      impl::takeItems(items, loc), impl::operatorOf<T>(op, loc), tail.handle(), false, width, loc));
}

/// The value of lane `lane` of the group, 0 to width - 1, in all its lanes. A host number costs no
/// LDS instruction.
template <impl::CoopValue T>
impl::PlainOf<T> warp_broadcast(const T &value, const IntTuple &lane, int width = 0,
                                Loc loc = Loc::current()) {
  return impl::fromFields<impl::PlainOf<T>>(
      impl::warpBroadcast(impl::toFields(value), lane, width, loc));
}

/// What a scan gives: each item with all before it, the items before
/// it alone, and all of the group.
template <class C> struct WarpScan {
  C inclusive;
  C exclusive;
  impl::ItemOf<C> aggregate;
};

namespace impl {
template <class C, class Op>
Scanned scanWarp(const C &items, const Op &op, int width, const ScanWish &wish, Loc loc) {
  return warpScan(takeItems(items, loc), operatorOf<ItemOf<C>>(op, loc), width, wish, loc);
}
} // namespace impl

/// Each item combined with all items before it in its group. `init` goes before the first.
template <class C, class Op>
impl::ResultOf<C> warp_inclusive_scan(const C &items, const Op &op, int width = 0,
                                      Loc loc = Loc::current()) {
  return impl::makeItems<impl::ResultOf<C>>(impl::scanWarp(items, op, width, {}, loc).inclusive,
                                            loc);
}
template <class C, class Op>
impl::ResultOf<C> warp_inclusive_scan(const C &items, const impl::InitOf<C> &init, const Op &op,
                                      int width = 0, Loc loc = Loc::current()) {
  const impl::Fields first = impl::initFields(init);
  return impl::makeItems<impl::ResultOf<C>>(
      impl::scanWarp(items, op, width, {.init = &first}, loc).inclusive, loc);
}
/// All items before each one combined. The first is `init`; without it, what changes no value: only
/// an fx::Reduction has it.
template <class C, class Op>
impl::ResultOf<C> warp_exclusive_scan(const C &items, const Op &op, int width = 0,
                                      Loc loc = Loc::current()) {
  return impl::makeItems<impl::ResultOf<C>>(
      impl::scanWarp(items, op, width, {.exclusive = true}, loc).exclusive, loc);
}
template <class C, class Op>
impl::ResultOf<C> warp_exclusive_scan(const C &items, const impl::InitOf<C> &init, const Op &op,
                                      int width = 0, Loc loc = Loc::current()) {
  const impl::Fields first = impl::initFields(init);
  return impl::makeItems<impl::ResultOf<C>>(
      impl::scanWarp(items, op, width, {.init = &first, .exclusive = true}, loc).exclusive, loc);
}
/// Both, and all items of the group combined, without `init`.
template <class C, class Op>
WarpScan<impl::ResultOf<C>> warp_scan(const C &items, const impl::InitOf<C> &init, const Op &op,
                                      int width = 0, Loc loc = Loc::current()) {
  using R = impl::ResultOf<C>;
  const impl::Fields first = impl::initFields(init);
  impl::Scanned scanned =
      impl::scanWarp(items, op, width, {.init = &first, .exclusive = true, .aggregate = true}, loc);
  return {impl::makeItems<R>(scanned.inclusive, loc), impl::makeItems<R>(scanned.exclusive, loc),
          impl::fromFields<impl::ItemOf<C>>(scanned.aggregate)};
}

/// The same for a group that has only its first `valid` items, 1 to all: all items
/// combined are these, and after them a lane has any values. `valid` is
/// the same number in all lanes of a group.
template <class C, class Op>
WarpScan<impl::ResultOf<C>> warp_scan_partial(const C &items, const impl::InitOf<C> &init,
                                              const Op &op, const IntTuple &valid, int width = 0,
                                              Loc loc = Loc::current()) {
  using R = impl::ResultOf<C>;
  const impl::Fields first = impl::initFields(init);
  impl::Scanned scanned =
      impl::scanWarp(items, op, width,
                     {.init = &first, .exclusive = true, .aggregate = true, .valid = &valid}, loc);
  return {impl::makeItems<R>(scanned.inclusive, loc), impl::makeItems<R>(scanned.exclusive, loc),
          impl::fromFields<impl::ItemOf<C>>(scanned.aggregate)};
}

/// Items change their lanes: from blocked (lane k has the items k * n to k * n + n - 1 of its
/// group) to striped (lane k has the items k, k + width, k + 2 * width, ...), and back.
template <class C>
impl::ResultOf<C> warp_blocked_to_striped(const C &items, int width = 0, Loc loc = Loc::current()) {
  return impl::makeItems<impl::ResultOf<C>>(
      impl::warpExchange(impl::takeItems(items, loc), true, width, loc), loc);
}
template <class C>
impl::ResultOf<C> warp_striped_to_blocked(const C &items, int width = 0, Loc loc = Loc::current()) {
  return impl::makeItems<impl::ResultOf<C>>(
      impl::warpExchange(impl::takeItems(items, loc), false, width, loc), loc);
}

/// The items of a group in order, lane after lane: `less(a, b)` is whether a goes before b. The
/// number of items of a lane is a power of two. Equal items may change places.
template <class C, class Less>
impl::ResultOf<C> warp_bitonic_sort(const C &items, const Less &less, int width = 0,
                                    Loc loc = Loc::current()) {
  return impl::makeItems<impl::ResultOf<C>>(
      impl::warpSort(impl::takeItems(items, loc), nullptr, nullptr,
                     impl::relationOf<impl::ItemOf<C>>(less), nullptr, width, loc),
      loc);
}
/// The group's first `valid` items alone, 0 to all, the same number in all its lanes; after them
/// the result has any values.
template <class C, class Less>
impl::ResultOf<C> warp_bitonic_sort_partial(const C &items, const Less &less, const IntTuple &valid,
                                            int width = 0, Loc loc = Loc::current()) {
  return impl::makeItems<impl::ResultOf<C>>(
      impl::warpSort(impl::takeItems(items, loc), nullptr, nullptr,
                     impl::relationOf<impl::ItemOf<C>>(less), &valid, width, loc),
      loc);
}
/// Keys in order, each with its value.
template <class K, class V, class Less>
std::pair<impl::ResultOf<K>, impl::ResultOf<V>>
warp_bitonic_sort_pairs(const K &keys, const V &values, const Less &less, int width = 0,
                        Loc loc = Loc::current()) {
  const impl::Items payload = impl::takeItems(values, loc);
  impl::Items sorted;
  impl::Items ordered =
      impl::warpSort(impl::takeItems(keys, loc), &payload, &sorted,
                     impl::relationOf<impl::ItemOf<K>>(less), nullptr, width, loc);
  return {impl::makeItems<impl::ResultOf<K>>(ordered, loc),
          impl::makeItems<impl::ResultOf<V>>(sorted, loc)};
}

} // namespace coop
FLYDSL_NAMESPACE_END
