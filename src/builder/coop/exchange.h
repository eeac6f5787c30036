// The items of a group of threads as a sequence in shared memory.
#pragma once

#include "builder/coop/block.h"

#include <flydsl/coop/tile_transfer.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// A tile of threads * items values in shared memory.
class SharedTile {
public:
  SharedTile(int threads, int items) : threads_(threads), items_(items) {}

  int threads() const { return threads_; }
  /// Places that the tile takes. Some of them keep threads off one another's banks.
  std::int64_t places() const;
  /// The number in the sequence of a thread's item `item`.
  Expr position(Order order, const Thread &thread, int item) const;
  /// Where the value with a number stands.
  Expr place(const Expr &position) const;

  void store(const SharedValues &shared, Order order, const Thread &thread,
             const Items &items) const;
  Items load(const SharedValues &shared, Order order, const Thread &thread) const;

private:
  /// The places of a thread's items: of item i, `first + i * step`. Nothing where they are not
  /// evenly spaced.
  struct Walk {
    Expr first;
    int step;
  };
  std::optional<Walk> walk(Order order, const Thread &thread) const;
  bool padded() const { return items_ % 2 == 0 && items_ > 4; }

  int threads_, items_;
};

/// The storage of a collective of the groups of `width` lanes: each group of the block has places
/// of its own.
class GroupPlan {
public:
  GroupPlan(const ValueType &type, int width, std::int64_t places, Loc loc);
  StorageSize size() const { return plan_.size(); }
  /// The places of the thread's group.
  SharedValues in(const Storage &storage, Loc loc) const;

private:
  Plan plan_;
  int width_;
  std::int64_t places_;
};

/// A thread's items, from one order to another: all threads write, wait and read.
Items rearrange(const SharedTile &tile, const SharedValues &shared, Order from, Order to,
                const Thread &thread, const Items &items, Wait wait, Loc loc);
/// Each item goes to the place of the sequence that its rank says, and a thread gets its items in
/// an order: all threads write, wait and read.
Items rearrangeByRank(const SharedTile &tile, const SharedValues &shared, const Items &ranks,
                      Order to, const Thread &thread, const Items &items, Wait wait, Loc loc);
/// Each item goes to the place of the sequence that its rank says; where there are `flags`, only
/// those whose flag holds. Then all wait.
void scatterItems(const SharedTile &tile, const SharedValues &shared, const Items &items,
                  const Items &ranks, const Items *flags, Wait wait, Loc loc);
/// TraceError where the numbers that go with a thread's items are not one of that type each.
void expectBeside(const char *what, const char *name, const Items &numbers, std::size_t items,
                  DType type, Loc loc);

} // namespace coop::impl
FLYDSL_NAMESPACE_END
