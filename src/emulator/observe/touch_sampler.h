// Samples the cache lines that workgroups touch, one workgroup at a time.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/core/sampled_touches.h"
#include "emulator/isa/machine.h"

#include <optional>
#include <span>
#include <vector>

namespace flyemu {

/// The bytes of the vector cache of a compute unit: 16 KB on CDNA2 and 32 KB on MI300X, by RRZE's
/// pointer chases; RDNA's and CDNA4's are taken to have 32 KB (ISA manuals).
uint64_t vectorCacheBytes(const Machine &machine);

class TouchSampler {
public:
  /// Touches that are kept: 16 bytes each, and three times that while caches are filled with them.
  static constexpr size_t kMostKept = size_t(1) << 22;

  /// The sample is thinned to at most so many touches when a workgroup ends.
  explicit TouchSampler(const MemoryMap &memory, size_t mostKept = kMostKept)
      : memory_(memory), mostKept_(mostKept) {}

  void beginGroup(const Machine &machine, uint64_t group);
  /// An access touches these lines. `streams`: it is a load that keeps none.
  void touched(std::span<const uint64_t> lines, uint64_t time, bool write, bool streams);
  void endGroup(uint64_t cycles);

  TouchSample take() { return std::move(sample_); }

private:
  /// The number by which a line is sampled, of its place in its allocation; nothing if it has none.
  std::optional<uint64_t> lotOf(uint64_t line);
  /// Whether the compute unit's cache has a line; it has it afterwards if it `keeps` it.
  bool hits(uint64_t line, bool keeps);

  const MemoryMap &memory_;
  const size_t mostKept_;
  MemoryRange range_ = {}; ///< the allocation that was touched last
  size_t nearLines_ = 0;   ///< of the compute unit's cache, as far as they are sampled
  std::vector<uint64_t> near_;
  GroupTouches now_;
  TouchSample sample_;
  size_t kept_ = 0; ///< touches of workgroups that have ended
};

} // namespace flyemu
