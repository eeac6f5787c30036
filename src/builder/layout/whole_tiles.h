// Tensors that are whole numbers of tiles.
#pragma once

#include "layout/tile.h"

#include <flydsl/detail/handle.h>

#include <string>

namespace flydsl::builder {

class Tracer;

/// A TraceError where `tensor` lies in shared memory or registers and its known extents are no
/// whole number of the tile's: the last tile would reach past it. `op` is the operation
/// as users call it. (Of global memory the rest is
/// left out by predicates, of a buffer by the hardware.)
void expectTilesFit(const Tracer *running, const std::string &op, const detail::Handle &tensor,
                    const layout::IntTuple &tile, Loc loc);

/// The same for a tensor that is divided by a tile, whose last one reached past it.
void expectDivides(const Tracer *running, const std::string &op, const detail::Handle &tensor,
                   const layout::Tile &tile, Loc loc);

} // namespace flydsl::builder
