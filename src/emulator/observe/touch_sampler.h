// Samples the cache lines that workgroups touch, one workgroup at a time.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/core/sampled_touches.h"
#include "emulator/isa/machine.h"

#include <span>
#include <vector>

namespace flyemu {

/// The bytes of the vector cache of a compute unit: 16 KB on CDNA2 and 32 KB on MI300X, by RRZE's
/// pointer chases; RDNA's and CDNA4's are taken to have 32 KB (ISA manuals).
uint64_t vectorCacheBytes(const Machine &machine);

class TouchSampler {
public:
  explicit TouchSampler(const MemoryMap &memory) : memory_(memory) {}

  void beginGroup(const Machine &machine, uint64_t group);
  /// An access touches these lines. `streams`: it is a load that keeps none.
  void touched(std::span<const uint64_t> lines, uint64_t time, bool write, bool streams);
  void endGroup(uint64_t cycles);

  std::vector<GroupTouches> take() { return std::move(groups_); }

private:
  bool isSampled(uint64_t line);
  /// Whether the compute unit's cache has a line; it has it afterwards if it `keeps` it.
  bool hits(uint64_t line, bool keeps);

  const MemoryMap &memory_;
  MemoryRange range_ = {}; ///< the allocation that was touched last
  size_t nearLines_ = 0;   ///< of the compute unit's cache, as far as they are sampled
  std::vector<uint64_t> near_;
  GroupTouches now_;
  std::vector<GroupTouches> groups_;
};

} // namespace flyemu
