// Items that change their lanes within a group, through shared memory; tiles of memory, to the
// lanes of a group and back.
#pragma once

#include <flydsl/coop/tile_transfer.h>
#include <flydsl/coop/warp_collective.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// Rearranges the items of a group through shared memory. warp_blocked_to_striped and its opposite
/// do the same in registers, which is better for few items.
class FLYDSL_API WarpExchange : public WarpCollective, public impl::ExchangeCalls<WarpExchange> {
public:
  WarpExchange(ValueType type, int items_per_lane, int width = 0, Loc loc = Loc::current());

private:
  friend class impl::ExchangeCalls<WarpExchange>;
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

/// What loads and stores of tiles share.
class FLYDSL_API WarpTile : public WarpCollective {
protected:
  WarpTile(const char *what, DType type, int items, WarpTransfer transfer, int width, Loc loc);
  void expectTile(const Tensor &tile, const IntTuple *valid, Loc loc) const;

  impl::Transfer transfer_;
};

/// Loads a tile for each group: width * items elements from the start of a tensor of one mode,
/// which is the group's own.
class FLYDSL_API WarpLoad : public WarpTile, public impl::LoadCalls<WarpLoad> {
public:
  WarpLoad(DType type, int items_per_lane, WarpTransfer transfer = WarpTransfer::direct,
           int width = 0, Loc loc = Loc::current());

private:
  friend class impl::LoadCalls<WarpLoad>;
  Vector load(const Tensor &tile, const IntTuple *valid, const detail::Handle *fill,
              const Storage &storage, Loc loc) const;
};

/// Stores a tile of each group.
class FLYDSL_API WarpStore : public WarpTile, public impl::StoreCalls<WarpStore> {
public:
  WarpStore(DType type, int items_per_lane, WarpTransfer transfer = WarpTransfer::direct,
            int width = 0, Loc loc = Loc::current());

private:
  friend class impl::StoreCalls<WarpStore>;
  void store(const Tensor &tile, const IntTuple *valid, const impl::Items &items,
             const Storage &storage, Loc loc) const;
};

} // namespace coop
FLYDSL_NAMESPACE_END
