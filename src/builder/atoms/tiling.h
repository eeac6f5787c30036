// Threads, values and tiles that fit one another.
#pragma once

#include "layout/tile.h"

#include <flydsl/kernel/mma.h>

namespace flydsl::builder {

class Tracer;

// `running` is the trace in progress, null outside of any.

/// A TraceError where a tiled operation of `threads` threads is sliced by a number that is none of
/// them, or by a plain index of the block's threads where these are known to be another number.
/// What is computed from an index is the kernel's business, as is what stands inside an fx::if_ that
/// not all threads of the block may take.
void expectThread(Tracer *running, const char *what, const detail::Handle &thread,
                  std::int64_t threads, Loc loc);

/// A TraceError where a layout does not count from 0 without gaps.
void expectCounting(const char *what, const layout::Layout &layout, Loc loc);

/// A TraceError where a copy atom does not fit into (thread, value), or those go past the tile.
void expectTiling(const Tracer *running, const CopyAtom &atom, const Layout &layoutTV,
                  const Tile &tile, Loc loc);

/// A TraceError where two atoms have the same threads, or a permuted mode is no whole number of
/// atoms.
void expectTiling(const Tracer *running, const MmaAtom &atom, const Layout &atoms,
                  const Tile &permutation, Loc loc);

} // namespace flydsl::builder
