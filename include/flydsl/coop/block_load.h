// Tiles of a sequence in memory, to the threads of a block and back.
#pragma once

#include <flydsl/coop/block.h>
#include <flydsl/coop/tile_transfer.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// How the threads of a block read or write a tile.
enum class BlockTransfer {
  direct,         ///< blocked items, each thread its own one by one
  vectorize,      ///< blocked items, each thread its own as one vector; the tile's stride is 1
  striped,        ///< striped items: neighbouring threads at neighbouring elements
  transpose,      ///< striped accesses of blocked items, exchanged through shared memory
  warp_transpose, ///< warp-striped accesses of blocked items, exchanged likewise
};

/// What loads and stores of tiles share.
class FLYDSL_API BlockTile : public BlockCollective {
protected:
  BlockTile(const char *what, DType type, int threads, int items, BlockTransfer transfer, Loc loc);
  void expectTile(const Tensor &tile, const IntTuple *valid, Loc loc) const;

  impl::Transfer transfer_;
};

/// Loads a tile, threads * items elements from the start of a tensor of one mode.
class FLYDSL_API BlockLoad : public BlockTile, public impl::LoadCalls<BlockLoad> {
public:
  BlockLoad(DType type, int threads, int items_per_thread,
            BlockTransfer transfer = BlockTransfer::direct, Loc loc = Loc::current());

private:
  friend class impl::LoadCalls<BlockLoad>;
  Vector load(const Tensor &tile, const IntTuple *valid, const detail::Handle *fill,
              const Storage &storage, Loc loc) const;
};

/// Stores a tile.
class FLYDSL_API BlockStore : public BlockTile, public impl::StoreCalls<BlockStore> {
public:
  BlockStore(DType type, int threads, int items_per_thread,
             BlockTransfer transfer = BlockTransfer::direct, Loc loc = Loc::current());

private:
  friend class impl::StoreCalls<BlockStore>;
  void store(const Tensor &tile, const IntTuple *valid, const impl::Items &items,
             const Storage &storage, Loc loc) const;
};

} // namespace coop
FLYDSL_NAMESPACE_END
