// Items of a block that change their threads.
#pragma once

#include <flydsl/coop/block.h>
#include <flydsl/coop/tile_transfer.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// Rearranges the items of a block through shared memory; one barrier.
class FLYDSL_API BlockExchange : public BlockCollective, public impl::ExchangeCalls<BlockExchange> {
public:
  BlockExchange(ValueType type, int threads, int items_per_thread, Loc loc = Loc::current());

  /// Warp-striped: a wave has a blocked part of the sequence, and its lanes have that striped.
  template <class C>
  impl::ResultOf<C> blocked_to_warp_striped(const C &items, const Storage &storage,
                                            Loc loc = Loc::current()) const {
    return move(items, impl::Order::blocked, impl::Order::warp_striped, storage, loc);
  }
  template <class C>
  impl::ResultOf<C> warp_striped_to_blocked(const C &items, const Storage &storage,
                                            Loc loc = Loc::current()) const {
    return move(items, impl::Order::warp_striped, impl::Order::blocked, storage, loc);
  }

  /// The items whose flags (Boolean) hold go to the places that their ranks say: each from 0 to
  /// `count` - 1 once. The sequence is given out striped, with `fill` from place `count` on.
  template <class C, class R, class F>
  impl::ResultOf<C> scatter_to_striped_flagged(const C &items, const R &ranks, const F &flags,
                                               const IntTuple &count, const impl::InitOf<C> &fill,
                                               const Storage &storage,
                                               Loc loc = Loc::current()) const {
    const impl::Items stored = impl::takeItems(flags, loc);
    return impl::makeItems<impl::ResultOf<C>>(
        scatterFlagged(impl::takeItems(items, loc), impl::takeItems(ranks, loc), &stored, count,
                       impl::initFields(fill), storage, loc),
        loc);
  }
  /// The same for the items whose ranks are not negative.
  template <class C, class R>
  impl::ResultOf<C> scatter_to_striped_guarded(const C &items, const R &ranks,
                                               const IntTuple &count, const impl::InitOf<C> &fill,
                                               const Storage &storage,
                                               Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(
        scatterFlagged(impl::takeItems(items, loc), impl::takeItems(ranks, loc), nullptr, count,
                       impl::initFields(fill), storage, loc),
        loc);
  }

private:
  friend class impl::ExchangeCalls<BlockExchange>;
  impl::Items exchange(const impl::Items &items, impl::Order from, impl::Order to,
                       const Storage &storage, Loc loc) const;
  impl::Items scatter(const impl::Items &items, const impl::Items &ranks, impl::Order to,
                      const Storage &storage, Loc loc) const;
  impl::Items scatterFlagged(const impl::Items &items, const impl::Items &ranks,
                             const impl::Items *flags, const IntTuple &count,
                             const impl::Fields &fill, const Storage &storage, Loc loc) const;
};

} // namespace coop
FLYDSL_NAMESPACE_END
