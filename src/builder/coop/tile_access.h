// Tiles of memory, to a group of threads and back.
#pragma once

#include "builder/coop/exchange.h"

#include <flydsl/coop/tile_transfer.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// How a collective reads or writes a tile of threads * items elements.
class TileAccess {
public:
  TileAccess(const char *what, const ValueType &type, int threads, int items, Transfer transfer)
      : what_(what), type_(type), places_(threads, items), items_(items), transfer_(transfer) {}

  /// Whether items are exchanged through shared memory, and the places that this takes.
  bool exchanges() const { return transfer_.viaExchange && items_ > 1; }
  std::int64_t places() const { return exchanges() ? places_.places() : 0; }
  /// TraceErrors where the tensor is no such tile, or is known to have fewer elements than the
  /// tile, or than the `valid` ones of it.
  void expect(const Tensor &tile, const IntTuple *valid, Loc loc) const;

  /// The items of a thread. `shared` gives memory for the exchange, if there is one.
  template <class Shared>
  Items load(const Tensor &tile, const IntTuple *valid, const Handle *fill, const Thread &thread,
             Shared shared, Wait wait, Loc loc) const {
    const Items items = read(tile, valid, fill, thread, loc);
    return exchanges() ? rearrange(places_, shared(), transfer_.order, Order::blocked, thread,
                                   items, wait, loc)
                       : items;
  }
  template <class Shared>
  void store(const Tensor &tile, const IntTuple *valid, const Items &items, const Thread &thread,
             Shared shared, Wait wait, Loc loc) const {
    write(tile, valid,
          exchanges() ? rearrange(places_, shared(), Order::blocked, transfer_.order, thread, items,
                                  wait, loc)
                      : items,
          thread, loc);
  }

private:
  Items read(const Tensor &tile, const IntTuple *valid, const Handle *fill, const Thread &thread,
             Loc loc) const;
  void write(const Tensor &tile, const IntTuple *valid, const Items &items, const Thread &thread,
             Loc loc) const;

  const char *what_;
  const ValueType &type_;
  SharedTile places_;
  int items_;
  Transfer transfer_;
};

} // namespace coop::impl
FLYDSL_NAMESPACE_END
