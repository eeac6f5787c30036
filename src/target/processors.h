// The table of processors, free of LLVM: one row per processor. All rooms ask here for a
// processor's properties and features; tests/target compares the rows with LLVM's own tables.
#pragma once

#include "support/enum_set.h"

#include <flydsl/target.h>

#include <array>
#include <optional>
#include <span>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using FeatureSet = support::EnumSet<Feature>;
using FamilySet = support::EnumSet<Family, std::uint32_t>;

/// The switchable features that a processor's target ids may carry.
struct Switches {
  bool sramecc = false;
  bool xnack = false;
};

/// The vector registers of a lane, accumulation registers included.
struct VectorRegisters {
  int ofSimd;  ///< shared by the waves of a SIMD
  int ofWave;  ///< the most that a wave's instructions can name
  int granule; ///< a wave gets a multiple of so many
};
/// The SIMDs that the waves of a block are dealt to: of a compute unit of CDNA, of the two of a
/// work-group processor of RDNA.
inline constexpr int kSimds = 4;

/// The most that each counter of operations under way holds.
struct WaitCounters {
  int loads, stores, lds, scalar;
};

/// The properties of one processor.
struct Processor {
  std::string_view name;
  Vendor vendor;
  Family family;
  int waveSize;                   ///< lanes of a wave unless the code asks for the other size
  std::size_t ldsBytes;           ///< the largest amount of a workgroup
  int maxBlockSize;               ///< the largest number of work-items of a workgroup
  int ldsBanks;                   ///< of 4 bytes, for reads
  unsigned globalOffsetBits = 13; ///< of the signed offset in an access to global memory, in bytes
  VectorRegisters registers;
  int wavesOfSimd; ///< the most that a SIMD holds at a time
  WaitCounters waitCounters;
  /// Compute units of a multiprocessor as drivers count them: 2 on RDNA, which count work-group
  /// processors.
  int unitsOfMultiprocessor = 1;
  Switches switches;
  FeatureSet features;
  /// The most workgroups in one dimension of a grid. HIP counts them in 31 bits.
  std::int64_t maxGridSize = INT32_MAX;
};

/// The largest numbers that any processor allows: what is true of a launch before the target of its
/// kernel is known.
struct LaunchLimits {
  std::int64_t gridSize;  ///< workgroups in one dimension of the grid
  std::int64_t blockSize; ///< work-items of a workgroup
  std::int64_t waveSize;  ///< lanes of a wave
};

/// The processors that kernels can be compiled for without further ado.
std::span<const Processor> processors();

/// Adds a processor to the table, for a backend that is registered beside the library's own. The
/// row lives as long as the process; its name is in lower case. False where the table has one of
/// that name.
[[nodiscard]] bool addProcessor(const Processor &processor);

/// The row of the processor with this bare name ("gfx942"), or null.
const Processor *findProcessor(std::string_view name);

/// The limits that hold on every processor.
const LaunchLimits &launchLimits();

/// The names of all processors, the added ones last: "gfx90a, gfx942, ...".
std::string processorNames();

/// The names of the processors that have a feature.
std::string processorsWith(Feature feature);

/// True for the CDNA families, which encode wait counts and buffer descriptors as GCN does.
constexpr bool isCdna(Family family) {
  return family == Family::cdna2 || family == Family::cdna3 || family == Family::cdna4;
}

/// All features, in the order of the enumeration.
std::span<const Feature> allFeatures();

} // namespace detail
FLYDSL_NAMESPACE_END
