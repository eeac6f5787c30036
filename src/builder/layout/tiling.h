// Threads, values and tiles that fit one another.
#pragma once

#include "layout/tile.h"

#include <flydsl/mma.h>

namespace flydsl::builder {

/// A TraceError where a tiled operation of `threads` threads is sliced by a number that is none of
/// them, or by a plain index of the block's threads where these are known to be another number.
/// What is computed from an index is the kernel's business, as is what stands inside an fx::if_.
void expectThread(const char *what, const detail::Handle &thread, std::int64_t threads, Loc loc);

/// A TraceError where `tensor` lies in shared memory or registers and its known extents are no
/// whole number of the tile's: the last tile would reach past it. (Of global memory the rest is
/// left out by predicates, of a buffer by the hardware.)
void expectTilesFit(const char *op, const detail::Handle &tensor, const layout::IntTuple &tile,
                    Loc loc);

/// The same for a tensor that is divided by a tile, whose last one reached past it.
void expectDivides(const char *op, const detail::Handle &tensor, const layout::Tile &tile, Loc loc);

/// A TraceError where a layout does not count from 0 without gaps.
void expectCounting(const char *what, const layout::Layout &layout, Loc loc);

/// A TraceError where a copy atom does not fit into (thread, value), or those go past the tile.
void expectTiling(const CopyAtom &atom, const Layout &layoutTV, const Tile &tile, Loc loc);

/// A TraceError where two atoms have the same threads, or a permuted mode is no whole number of
/// atoms.
void expectTiling(const MmaAtom &atom, const Layout &atoms, const Tile &permutation, Loc loc);

} // namespace flydsl::builder
