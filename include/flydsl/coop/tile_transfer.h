// How threads have the items of a tile, how they read and write them, and the calls by which they
// do, which are the same for the threads of a block and for the lanes of a group.
#pragma once

#include <flydsl/coop/operator.h>
#include <flydsl/coop/storage.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// Which items of a sequence a thread has, of n items per thread: thread t has
/// the items t * n + i; the items t + threads * i; or, as striped ones, a part of
/// its wave's items, which are neighbours.
enum class Order { blocked, striped, warp_striped };

/// How a tile is accessed.
struct Transfer {
  Order order;              ///< of the accesses to memory
  bool asVector = false;    ///< a thread's items as one vector, of a whole tile
  bool viaExchange = false; ///< items are blocked, and exchanged through shared memory
};

/// The calls of exchanges. `Exchange` has members `exchange` and `scatter` for items without their
/// C++ types.
template <class Exchange> class ExchangeCalls {
public:
  /// From one arrangement to the other.
  template <class C>
  ResultOf<C> blocked_to_striped(const C &items, const Storage &storage,
                                 Loc loc = Loc::current()) const {
    return move(items, Order::blocked, Order::striped, storage, loc);
  }
  template <class C>
  ResultOf<C> striped_to_blocked(const C &items, const Storage &storage,
                                 Loc loc = Loc::current()) const {
    return move(items, Order::striped, Order::blocked, storage, loc);
  }

  /// Each item goes to the place of the sequence that its rank says (Int32; each place of the
  /// sequence once), and the sequence is given out blocked or striped.
  template <class C, class R>
  ResultOf<C> scatter_to_blocked(const C &items, const R &ranks, const Storage &storage,
                                 Loc loc = Loc::current()) const {
    return moveByRank(items, ranks, Order::blocked, storage, loc);
  }
  template <class C, class R>
  ResultOf<C> scatter_to_striped(const C &items, const R &ranks, const Storage &storage,
                                 Loc loc = Loc::current()) const {
    return moveByRank(items, ranks, Order::striped, storage, loc);
  }

protected:
  template <class C>
  ResultOf<C> move(const C &items, Order from, Order to, const Storage &storage, Loc loc) const {
    const Items moved = static_cast<const Exchange *>(this)->exchange(takeItems(items, loc), from,
                                                                      to, storage, loc);
    return makeItems<ResultOf<C>>(moved, loc);
  }

private:
  template <class C, class R>
  ResultOf<C> moveByRank(const C &items, const R &ranks, Order to, const Storage &storage,
                         Loc loc) const {
    const Items taken = takeItems(items, loc), places = takeItems(ranks, loc);
    const Items moved =
        static_cast<const Exchange *>(this)->scatter(taken, places, to, storage, loc);
    return makeItems<ResultOf<C>>(moved, loc);
  }
};

/// The calls of loads of tiles. `Load` has a member `load`.
template <class Load> class LoadCalls {
public:
  /// A thread's items. The transposes need storage.
  Vector operator()(const Tensor &tile, const Storage &storage = Storage(),
                    Loc loc = Loc::current()) const {
    return static_cast<const Load *>(this)->load(tile, nullptr, nullptr, storage, loc);
  }
  /// The first `valid` elements alone, 0 to all of them: the other items are `fill`, and their
  /// places are not read. `valid` is the same number in all threads that share the tile.
  Vector partial(const Tensor &tile, const IntTuple &valid, const Numeric::Arg &fill,
                 const Storage &storage = Storage(), Loc loc = Loc::current()) const {
    return static_cast<const Load *>(this)->load(tile, &valid, &fill.handle, storage, loc);
  }
};

/// The calls of stores of tiles. `Store` has a member `store`.
template <class Store> class StoreCalls {
public:
  /// Writes a thread's items: a Vector, or a std::vector or std::array of numbers.
  template <class C>
  void operator()(const Tensor &tile, const C &items, const Storage &storage = Storage(),
                  Loc loc = Loc::current()) const {
    static_cast<const Store *>(this)->store(tile, nullptr, takeItems(items, loc), storage, loc);
  }
  /// Writes the first `valid` elements alone, 0 to all of them.
  template <class C>
  void partial(const Tensor &tile, const IntTuple &valid, const C &items,
               const Storage &storage = Storage(), Loc loc = Loc::current()) const {
    static_cast<const Store *>(this)->store(tile, &valid, takeItems(items, loc), storage, loc);
  }
};

} // namespace coop::impl
FLYDSL_NAMESPACE_END
