#include "target/processors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

constexpr std::size_t kKib = 1024;

// Registers of a lane: LLVM's GCNSubtarget (getTotalNumVGPRs, getAddressableNumVGPRs,
// getVGPRAllocGranule), and of waves of a SIMD (getMaxWavesPerEU). Counters: LLVM's AMDGPUBaseInfo, the fields of the wait instructions.
constexpr VectorRegisters kCdnaRegisters{.ofSimd = 512, .ofWave = 512, .granule = 8},
    kRdnaRegisters{.ofSimd = 1536, .ofWave = 256, .granule = 24},
    kGfx1250Registers{.ofSimd = 1024, .ofWave = 1024, .granule = 16};
constexpr WaitCounters kGcnCounters{.loads = 63, .stores = 63, .lds = 15, .scalar = 15},
    kGfx11Counters{.loads = 63, .stores = 63, .lds = 63, .scalar = 63},
    kGfx12Counters{.loads = 63, .stores = 63, .lds = 63, .scalar = 31};

// Sources: LLVM's AMDGPUUsage ("Processors", "Target Features") and the feature lists of its
// AMDGPU.td for wave sizes, LDS, switchable features and instructions; AMD's ISA manuals of CDNA2
// to CDNA4, RDNA3 and RDNA4 for the formats of 8-bit floats. A workgroup has at most 1,024
// work-items on all of them (AMDGPUUsage, "amdgpu-flat-work-group-size"). Banks of LDS: AMD's ISA
// manuals, "LDS"; of gfx1250 Triton's layouts for it. Offsets in accesses to global memory: LLVM's
// AMDGPU::getNumFlatOffsetBits.
constexpr std::array kProcessors = {
    Processor{
        .name = "gfx90a",
        .vendor = Vendor::amd,
        .family = Family::cdna2,
        .waveSize = 64,
        .ldsBytes = 64 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 32,
        .globalOffsetBits = 13,
        .registers = kCdnaRegisters,
        .wavesOfSimd = 8,
        .waitCounters = kGcnCounters,
        .switches = {.sramecc = true, .xnack = true},
        .features = {Feature::mfma, Feature::accumulation_registers, Feature::packed_f32,
                     Feature::buffer_to_lds, Feature::dpp_across_rows, Feature::s_waitcnt},
    },
    Processor{
        .name = "gfx942",
        .vendor = Vendor::amd,
        .family = Family::cdna3,
        .waveSize = 64,
        .ldsBytes = 64 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 32,
        .globalOffsetBits = 13,
        .registers = kCdnaRegisters,
        .wavesOfSimd = 8,
        .waitCounters = kGcnCounters,
        .switches = {.sramecc = true, .xnack = true},
        .features = {Feature::mfma, Feature::accumulation_registers, Feature::xf32,
                     Feature::fp8_conversions, Feature::fnuz_fp8, Feature::packed_f32,
                     Feature::buffer_to_lds, Feature::dpp_across_rows, Feature::s_waitcnt},
    },
    Processor{
        .name = "gfx950",
        .vendor = Vendor::amd,
        .family = Family::cdna4,
        .waveSize = 64,
        .ldsBytes = 160 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 64,
        .globalOffsetBits = 13,
        .registers = kCdnaRegisters,
        .wavesOfSimd = 8,
        .waitCounters = kGcnCounters,
        .switches = {.sramecc = true, .xnack = true},
        .features = {Feature::mfma, Feature::accumulation_registers, Feature::mfma_scale,
                     Feature::fp8_conversions, Feature::ocp_fp8, Feature::fp4_conversions,
                     Feature::bf16_conversions, Feature::stochastic_bf16, Feature::packed_f32,
                     Feature::buffer_to_lds, Feature::buffer_to_lds_wide,
                     Feature::lds_transpose_read, Feature::permlane_swap, Feature::dpp_across_rows,
                     Feature::s_waitcnt},
    },
    Processor{
        .name = "gfx1100",
        .vendor = Vendor::amd,
        .family = Family::rdna3,
        .waveSize = 32,
        .ldsBytes = 64 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 32,
        .globalOffsetBits = 13,
        .registers = kRdnaRegisters,
        .wavesOfSimd = 16,
        .waitCounters = kGfx11Counters,
        .unitsOfMultiprocessor = 2,
        .switches = {},
        .features = {Feature::wmma, Feature::dpp_row_xmask, Feature::permlanex16,
                     Feature::s_waitcnt},
    },
    Processor{
        .name = "gfx1200",
        .vendor = Vendor::amd,
        .family = Family::rdna4,
        .waveSize = 32,
        .ldsBytes = 64 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 32,
        .globalOffsetBits = 24,
        .registers = kRdnaRegisters,
        .wavesOfSimd = 16,
        .waitCounters = kGfx12Counters,
        .unitsOfMultiprocessor = 2,
        .switches = {},
        .features = {Feature::wmma, Feature::fp8_conversions, Feature::ocp_fp8,
                     Feature::dpp_row_xmask, Feature::permlanex16, Feature::wave_id,
                     Feature::s_waitcnt, Feature::split_barriers,
                     Feature::split_wait_counts},
    },
    Processor{
        .name = "gfx1201",
        .vendor = Vendor::amd,
        .family = Family::rdna4,
        .waveSize = 32,
        .ldsBytes = 64 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 32,
        .globalOffsetBits = 24,
        .registers = kRdnaRegisters,
        .wavesOfSimd = 16,
        .waitCounters = kGfx12Counters,
        .unitsOfMultiprocessor = 2,
        .switches = {},
        .features = {Feature::wmma, Feature::fp8_conversions, Feature::ocp_fp8,
                     Feature::dpp_row_xmask, Feature::permlanex16, Feature::wave_id,
                     Feature::s_waitcnt, Feature::split_barriers,
                     Feature::split_wait_counts},
    },
    Processor{
        .name = "gfx1250",
        .vendor = Vendor::amd,
        .family = Family::gfx1250,
        .waveSize = 32,
        .ldsBytes = 320 * kKib,
        .maxBlockSize = 1024,
        .ldsBanks = 64,
        .globalOffsetBits = 24,
        .registers = kGfx1250Registers,
        .wavesOfSimd = 16,
        .waitCounters = kGfx12Counters,
        .switches = {},
        .features = {Feature::wmma, Feature::wmma_scale, Feature::fp8_conversions, Feature::ocp_fp8,
                     Feature::bf16_conversions, Feature::packed_f32, Feature::dpp_row_xmask,
                     Feature::permlanex16, Feature::wave_id, Feature::clusters,
                     Feature::split_barriers, Feature::split_wait_counts, Feature::async_lds,
                     Feature::tensor_mover},
    },
};

struct NamedFeature {
  Feature feature;
  std::string_view name;
};
constexpr std::array kFeatures = {
    NamedFeature{Feature::mfma, "mfma"},
    NamedFeature{Feature::wmma, "wmma"},
    NamedFeature{Feature::accumulation_registers, "accumulation_registers"},
    NamedFeature{Feature::xf32, "xf32"},
    NamedFeature{Feature::mfma_scale, "mfma_scale"},
    NamedFeature{Feature::wmma_scale, "wmma_scale"},
    NamedFeature{Feature::fp8_conversions, "fp8_conversions"},
    NamedFeature{Feature::fnuz_fp8, "fnuz_fp8"},
    NamedFeature{Feature::ocp_fp8, "ocp_fp8"},
    NamedFeature{Feature::fp4_conversions, "fp4_conversions"},
    NamedFeature{Feature::bf16_conversions, "bf16_conversions"},
    NamedFeature{Feature::stochastic_bf16, "stochastic_bf16"},
    NamedFeature{Feature::packed_f32, "packed_f32"},
    NamedFeature{Feature::buffer_to_lds, "buffer_to_lds"},
    NamedFeature{Feature::buffer_to_lds_wide, "buffer_to_lds_wide"},
    NamedFeature{Feature::lds_transpose_read, "lds_transpose_read"},
    NamedFeature{Feature::permlane_swap, "permlane_swap"},
    NamedFeature{Feature::dpp_across_rows, "dpp_across_rows"},
    NamedFeature{Feature::dpp_row_xmask, "dpp_row_xmask"},
    NamedFeature{Feature::permlanex16, "permlanex16"},
    NamedFeature{Feature::wave_id, "wave_id"},
    NamedFeature{Feature::clusters, "clusters"},
    NamedFeature{Feature::s_waitcnt, "s_waitcnt"},
    NamedFeature{Feature::split_barriers, "split_barriers"},
    NamedFeature{Feature::split_wait_counts, "split_wait_counts"},
    NamedFeature{Feature::async_lds, "async_lds"},
    NamedFeature{Feature::tensor_mover, "tensor_mover"},
};
constexpr bool inOrder() {
  for (std::size_t i = 0; i < kFeatures.size(); ++i)
    if (static_cast<std::size_t>(kFeatures[i].feature) != i)
      return false;
  return kFeatures.size() == static_cast<std::size_t>(Feature::tensor_mover) + 1;
}
static_assert(inOrder(), "every feature has one row, in the order of the enumeration");

void append(std::string &list, std::string_view name) {
  if (!list.empty())
    list += ", ";
  list += name;
}

} // namespace

std::span<const Processor> processors() { return kProcessors; }

/// Added processors, the newest first. Readers take no lock: a launch may look a processor up.
namespace {
struct Added {
  const Processor &processor;
  const Added *older;
};
std::atomic<const Added *> newest{nullptr};
} // namespace

const Processor *findProcessor(std::string_view name) {
  for (const Processor &processor : kProcessors)
    if (processor.name == name)
      return &processor;
  for (const Added *added = newest.load(std::memory_order_acquire); added; added = added->older)
    if (added->processor.name == name)
      return &added->processor;
  return nullptr;
}

const LaunchLimits &launchLimits() {
  static constexpr LaunchLimits limits = [] {
    LaunchLimits most{};
    for (const Processor &processor : kProcessors) {
      most.gridSize = std::max<std::int64_t>(most.gridSize, processor.maxGridSize);
      most.blockSize = std::max<std::int64_t>(most.blockSize, processor.maxBlockSize);
      most.waveSize = std::max<std::int64_t>(most.waveSize, processor.waveSize);
    }
    return most;
  }();
  return limits;
}

bool addProcessor(const Processor &processor) {
  static std::mutex adding;
  std::lock_guard lock(adding);
  if (findProcessor(processor.name))
    return false;
  newest.store(new Added{processor, newest.load(std::memory_order_relaxed)},
               std::memory_order_release);
  return true;
}

std::string processorNames() {
  std::string names;
  for (const Processor &processor : kProcessors)
    append(names, processor.name);
  std::string added;
  for (const Added *at = newest.load(std::memory_order_acquire); at; at = at->older)
    added = ", " + std::string(at->processor.name) + added;
  return names + added;
}

std::string processorsWith(Feature feature) {
  std::string names;
  for (const Processor &processor : kProcessors)
    if (processor.features.has(feature))
      append(names, processor.name);
  return names;
}

std::span<const Feature> allFeatures() {
  static constexpr auto features = [] {
    std::array<Feature, kFeatures.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = kFeatures[i].feature;
    return all;
  }();
  return features;
}

} // namespace detail

std::string_view name(Feature feature) {
  return detail::kFeatures.at(static_cast<std::size_t>(feature)).name;
}

FLYDSL_NAMESPACE_END
