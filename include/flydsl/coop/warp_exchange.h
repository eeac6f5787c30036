// Items that change their lanes within a group, through shared memory; tiles of memory, to the lanes of
// a group and back.
#pragma once

#include <flydsl/coop/tile_transfer.h>
#include <flydsl/coop/warp_collective.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// Rearranges the items of a group through shared memory. warp_blocked_to_striped and its opposite do
/// the same in registers, which is better for few items.
class FLYDSL_API WarpExchange : public WarpCollective {
public:
  WarpExchange(ValueType type, int items_per_lane, int width = 0, Loc loc = Loc::current());

  /// From one arrangement to the other.
  template <class C>
  impl::ResultOf<C> blocked_to_striped(const C &items, const Storage &storage,
                                       Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(exchange(impl::takeItems(items, loc),
                                                       impl::Order::blocked, impl::Order::striped,
                                                       storage, loc),
                                              loc);
  }
  template <class C>
  impl::ResultOf<C> striped_to_blocked(const C &items, const Storage &storage,
                                       Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(exchange(impl::takeItems(items, loc),
                                                       impl::Order::striped, impl::Order::blocked,
                                                       storage, loc),
                                              loc);
  }
  /// Each item goes to the place of the group's sequence that its rank says (Int32, each from 0 to
  /// width * items - 1 once), and the sequence is given out blocked or striped.
  template <class C, class R>
  impl::ResultOf<C> scatter_to_blocked(const C &items, const R &ranks, const Storage &storage,
                                       Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(scatter(impl::takeItems(items, loc),
                                                      impl::takeItems(ranks, loc),
                                                      impl::Order::blocked, storage, loc),
                                              loc);
  }
  template <class C, class R>
  impl::ResultOf<C> scatter_to_striped(const C &items, const R &ranks, const Storage &storage,
                                       Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<C>>(scatter(impl::takeItems(items, loc),
                                                      impl::takeItems(ranks, loc),
                                                      impl::Order::striped, storage, loc),
                                              loc);
  }

private:
  impl::Items exchange(const impl::Items &items, impl::Order from, impl::Order to,
                       const Storage &storage, Loc loc) const;
  impl::Items scatter(const impl::Items &items, const impl::Items &ranks, impl::Order to,
                      const Storage &storage, Loc loc) const;
};

/// How the lanes of a group read or write a tile.
enum class WarpTransfer {
  direct,    ///< blocked items, each lane its own one by one
  vectorize, ///< blocked items, each lane its own as one vector; the tile's stride is 1
  striped,   ///< striped items: neighbouring lanes at neighbouring elements
  transpose, ///< striped accesses of blocked items, exchanged through shared memory
};

/// Loads a tile for each group: width * items elements from the start of a tensor of one mode, which is
/// the group's own.
class FLYDSL_API WarpLoad : public WarpCollective {
public:
  WarpLoad(DType type, int items_per_lane, WarpTransfer transfer = WarpTransfer::direct,
           int width = 0, Loc loc = Loc::current());

  /// A lane's items. The transpose needs storage.
  Vector operator()(const Tensor &tile, const Storage &storage = Storage(),
                    Loc loc = Loc::current()) const {
    return load(tile, nullptr, nullptr, storage, loc);
  }
  /// The first `valid` elements alone, 0 to all of them: the other items are `fill`, and their
  /// places are not read. `valid` is the same number in all lanes of a group.
  Vector partial(const Tensor &tile, const IntTuple &valid, const Numeric::Arg &fill,
                 const Storage &storage = Storage(), Loc loc = Loc::current()) const {
    return load(tile, &valid, &fill.handle, storage, loc);
  }

private:
  Vector load(const Tensor &tile, const IntTuple *valid, const detail::Handle *fill,
              const Storage &storage, Loc loc) const;

  impl::Transfer transfer_;
};

/// Stores a tile of each group.
class FLYDSL_API WarpStore : public WarpCollective {
public:
  WarpStore(DType type, int items_per_lane, WarpTransfer transfer = WarpTransfer::direct,
            int width = 0, Loc loc = Loc::current());

  /// Writes a lane's items: a Vector, or a std::vector or std::array of numbers.
  template <class C>
  void operator()(const Tensor &tile, const C &items, const Storage &storage = Storage(),
                  Loc loc = Loc::current()) const {
    store(tile, nullptr, impl::takeItems(items, loc), storage, loc);
  }
  /// Writes the first `valid` elements alone, 0 to all of them.
  template <class C>
  void partial(const Tensor &tile, const IntTuple &valid, const C &items,
               const Storage &storage = Storage(), Loc loc = Loc::current()) const {
    store(tile, &valid, impl::takeItems(items, loc), storage, loc);
  }

private:
  void store(const Tensor &tile, const IntTuple *valid, const impl::Items &items,
             const Storage &storage, Loc loc) const;

  impl::Transfer transfer_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
