// How long loads take beyond the vector cache, and what L2 caches give, by family of processors: as
// others measured it.
#pragma once

#include "emulator/core/dispatch.h"
#include "target/products.h"

namespace flyemu {

struct MemoryTimes {
  /// Nanoseconds from a load to its data in memory. Memory and the cache in front of it have clocks of
  /// their own, so it is no number of the engine's cycles.
  int memoryNanoseconds;
  int lastLevelNanoseconds; ///< the same, in the cache in front of memory; 0: there is none
  int l2Percent;            ///< that kernels reach of what all channels of the L2 caches move
};

/// Of a product's peak bandwidth, what kernels reach that only read, with loads that keep no lines (nt).
/// As much as with ordinary ones where nothing else is known.
int streamPercent(const flydsl::detail::ProductRow &product);

/// Those of a product.
const MemoryTimes &memoryTimes(const flydsl::detail::ProductRow &product);

/// The cycles from a load to its data in a product's memory; warm: in the cache in front of it, if it has
/// one.
unsigned memoryLatency(const flydsl::detail::ProductRow &product, bool warm);
/// Gives a launch's options what the estimate needs of a product's memory and of the cache in front of it. `warm` as above.
void setMemory(Options &options, const flydsl::detail::ProductRow &product, bool warm);

} // namespace flyemu
