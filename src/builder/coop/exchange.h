// The items of a block as a sequence in shared memory.
#pragma once

#include "builder/coop/block.h"

#include <flydsl/coop/block_exchange.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// A tile of threads * items values in shared memory.
class SharedTile {
public:
  SharedTile(int threads, int items) : threads_(threads), items_(items) {}

  /// Places that the tile takes, some of which keep threads off one another's banks.
  std::int64_t places() const;
  /// The number in the sequence of a thread's item `item`.
  Expr position(Order order, const Thread &thread, int item) const;
  /// Where the value with a number stands.
  Expr place(const Expr &position) const;

  void store(const SharedValues &shared, Order order, const Thread &thread,
             const Items &items) const;
  Items load(const SharedValues &shared, Order order, const Thread &thread) const;

private:
  bool padded() const { return items_ % 2 == 0 && items_ > 4; }

  int threads_, items_;
};

/// A thread's items, from one order to another: all threads write, wait and read.
Items rearrange(const SharedTile &tile, const SharedValues &shared, Order from, Order to,
                const Thread &thread, const Items &items, Loc loc);

} // namespace coop::impl
FLYDSL_NAMESPACE_END
