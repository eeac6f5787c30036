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
class FLYDSL_API BlockLoad : public BlockTile {
public:
  BlockLoad(DType type, int threads, int items_per_thread,
            BlockTransfer transfer = BlockTransfer::direct, Loc loc = Loc::current());

  /// A thread's items. The transposes need storage.
  Vector operator()(const Tensor &tile, const Storage &storage = Storage(),
                    Loc loc = Loc::current()) const {
    return load(tile, nullptr, nullptr, storage, loc);
  }
  /// The first `valid` elements alone, 0 to all of them: the other items are `fill`, and their
  /// places are not read.
  Vector partial(const Tensor &tile, const IntTuple &valid, const Numeric::Arg &fill,
                 const Storage &storage = Storage(), Loc loc = Loc::current()) const {
    return load(tile, &valid, &fill.handle, storage, loc);
  }

private:
  Vector load(const Tensor &tile, const IntTuple *valid, const detail::Handle *fill,
              const Storage &storage, Loc loc) const;
};

/// Stores a tile.
class FLYDSL_API BlockStore : public BlockTile {
public:
  BlockStore(DType type, int threads, int items_per_thread,
             BlockTransfer transfer = BlockTransfer::direct, Loc loc = Loc::current());

  /// Writes a thread's items: a Vector, or a std::vector or std::array of numbers.
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
};

} // namespace coop
FLYDSL_NAMESPACE_END
