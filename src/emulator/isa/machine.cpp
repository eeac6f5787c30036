#include "emulator/isa/machine.h"

#include "emulator/isa/lds_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace flyemu {

namespace {
// RDNA3 and RDNA4 address the halves of a vector register in 16-bit operands. LLVM 22 decodes these
// forms on gfx12 only where it is told to; the forms without halves have the same bits.
constexpr std::string_view kHalves = "+real-true16";

// LLVM's GCNSubtarget::getMaxWaveScratchSize: the field of COMPUTE_TMPRING_SIZE times its unit.
constexpr uint64_t kWaveScratch9 = uint64_t(256 * 4) * ((1 << 13) - 1);
constexpr uint64_t kWaveScratch11 = uint64_t(64 * 4) * ((1 << 15) - 1);
constexpr uint64_t kWaveScratch12 = uint64_t(256 * 4) * ((1 << 18) - 1);

// A workgroup's numbers along y and z share one register there (LLVM's AMDGPUUsage, TTMP7).
constexpr uint32_t kGridYz12 = 0x10000;

const Processor *row(std::string_view name) {
  const Processor *found = flydsl::detail::findProcessor(name);
  if (!found)
    throw std::logic_error("the emulator has a machine '" + std::string(name) +
                           "', which the table of processors does not have");
  return found;
}

const auto &table() {
  static const std::array kMachines = {
      Machine{
          .processor = row("gfx90a"),
          .encoding = Encoding::Gfx9,
          .m0 = 124,
          .flatScratch = 102,
          .kernargPreload = true,
          .ldsGranule = 512,
          .maxWaveScratch = kWaveScratch9,
      },
      Machine{
          .processor = row("gfx942"),
          .encoding = Encoding::Gfx9,
          .m0 = 124,
          .flatScratch = 102,
          .architectedScratch = true,
          .kernargPreload = true,
          .ldsGranule = 512,
          .maxWaveScratch = kWaveScratch9,
      },
      Machine{
          .processor = row("gfx950"),
          .encoding = Encoding::Gfx9,
          .m0 = 124,
          .flatScratch = 102,
          .architectedScratch = true,
          .kernargPreload = true,
          .ldsGranule = 1280,
          .maxWaveScratch = kWaveScratch9,
      },
      Machine{
          .processor = row("gfx1100"),
          .disassembler = kHalves,
          .encoding = Encoding::Gfx11,
          .m0 = 125,
          .nullSgpr = 124,
          .architectedScratch = true,
          .ldsGranule = 512,
          .maxWaveScratch = kWaveScratch11,
      },
      Machine{
          .processor = row("gfx1200"),
          .disassembler = kHalves,
          .encoding = Encoding::Gfx12,
          .m0 = 125,
          .nullSgpr = 124,
          .architectedScratch = true,
          .ldsGranule = 512,
          .maxGridYz = kGridYz12,
          .maxWaveScratch = kWaveScratch12,
      },
      Machine{
          .processor = row("gfx1201"),
          .disassembler = kHalves,
          .encoding = Encoding::Gfx12,
          .m0 = 125,
          .nullSgpr = 124,
          .architectedScratch = true,
          .ldsGranule = 512,
          .maxGridYz = kGridYz12,
          .maxWaveScratch = kWaveScratch12,
      },
      // No ISA manual is published. LLVM's GCNSubtarget: hasSignedGVSOffset, getMaxNumUserSGPRs,
      // has1024AddressableVGPRs, hasKernargPreload, getLdsDwGranularity.
      Machine{
          .processor = row("gfx1250"),
          .disassembler = kHalves,
          .encoding = Encoding::Gfx12,
          .m0 = 125,
          .nullSgpr = 124,
          .architectedScratch = true,
          .kernargPreload = true,
          .registerBanks = true,
          .signedScalarAddressOffset = true,
          .flatScratchBase = true,
          .userRegisters = 32,
          .ldsGranule = 2048,
          .maxGridYz = kGridYz12,
          .maxWaveScratch = kWaveScratch12,
      },
  };
  return kMachines;
}

//===-- How LDS serves lanes ------------------------------------------------===//

/// Eight lanes at a time that are two runs of four.
constexpr std::array kRunsOf4 = {
    ldsLanes(0, 3) | ldsLanes(20, 23),   ldsLanes(4, 7) | ldsLanes(16, 19),
    ldsLanes(8, 11) | ldsLanes(28, 31),  ldsLanes(12, 15) | ldsLanes(24, 27),
    ldsLanes(32, 35) | ldsLanes(52, 55), ldsLanes(36, 39) | ldsLanes(48, 51),
    ldsLanes(40, 43) | ldsLanes(60, 63), ldsLanes(44, 47) | ldsLanes(56, 59),
};
/// Sixteen lanes at a time, of each half of a wave its outer and its inner ones.
constexpr std::array kOuterAndInner = {
    ldsLanes(0, 3) | ldsLanes(12, 15) | ldsLanes(20, 27),
    ldsLanes(4, 11) | ldsLanes(16, 19) | ldsLanes(28, 31),
    ldsLanes(32, 35) | ldsLanes(44, 47) | ldsLanes(52, 59),
    ldsLanes(36, 43) | ldsLanes(48, 51) | ldsLanes(60, 63),
};

constexpr std::string_view kCk =
    "Composable Kernel's documentation, \"Understanding AMD GPU LDS and Bank Conflicts\"";
constexpr std::string_view kMi300 = "times of pairs of lanes on MI300, published with pyhip, agree "
                                    "with Composable Kernel's documentation";
constexpr std::string_view kHipKittens =
    "HipKittens, analysis/paper_experiments/phases: SQ_LDS_BANK_CONFLICT of pairs of lanes, MI355X";
constexpr std::string_view kAsGfx942 = "as gfx942: Composable Kernel's documentation treats "
                                       "processors of 32 banks alike";
constexpr std::string_view kAsRead96Of950 = "as gfx950's ds_read_b96, which 32 banks serve too";
constexpr std::string_view kAsWrite64 = "32 banks, as gfx950's ds_write_b64";

using enum LdsAccess;
using enum Evidence;
constexpr std::array kLdsRows = {
    LdsRow{"gfx90a", Read, 3, {32, kRunsOf4}, Assumed, kAsGfx942},
    LdsRow{"gfx90a", Read, 4, {32, kRunsOf4}, Assumed, kAsGfx942},

    LdsRow{"gfx942", Read, 2, {32, kLdsInOrder<16>}, Measured, kMi300},
    LdsRow{"gfx942", Read, 3, {32, kRunsOf4}, Assumed, kAsRead96Of950},
    LdsRow{"gfx942", Read, 4, {32, kRunsOf4}, Measured, kMi300},
    LdsRow{"gfx942", Write, 4, {32, kLdsInOrder<8>}, Documented, kCk},

    LdsRow{"gfx950", Read, 2, {64, kLdsInOrder<32>}, Measured, kHipKittens},
    LdsRow{"gfx950", Read, 3, {32, kRunsOf4}, Measured, kHipKittens},
    LdsRow{"gfx950", Read, 4, {64, kOuterAndInner}, Measured, kHipKittens},
    LdsRow{"gfx950", Write, 1, {32, kLdsInOrder<32>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Write, 2, {32, kLdsInOrder<16>}, Measured, kHipKittens},
    LdsRow{"gfx950", Write, 3, {32, kLdsInOrder<8>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Write, 4, {32, kLdsInOrder<8>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Atomic, 1, {32, kLdsInOrder<32>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Atomic, 2, {32, kLdsInOrder<16>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Atomic, 4, {32, kLdsInOrder<8>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", WritePair, 2, {32, kLdsInOrder<16>}, Assumed, kAsWrite64},
    LdsRow{"gfx950", WritePair, 4, {32, kLdsInOrder<8>}, Assumed, kAsWrite64},
};

/// Each lane is in one phase, and the lanes of a phase fit into the banks.
constexpr bool isSound(const LdsRow &row) {
  uint64_t all = 0;
  for (uint64_t phase : row.service.phases) {
    if ((all & phase) || std::popcount(phase) * row.dwords > row.service.banks)
      return false;
    all |= phase;
  }
  return all == ~uint64_t(0);
}
static_assert(std::all_of(kLdsRows.begin(), kLdsRows.end(), isSound));
} // namespace

std::span<const LdsRow> ldsRows() { return kLdsRows; }

const Machine *findMachine(std::string_view target) {
  target = target.substr(0, target.find(':'));
  for (const Machine &machine : table())
    if (machine.processor->name == target)
      return &machine;
  return nullptr;
}

const Machine &defaultMachine() {
  static const Machine &machine = *findMachine("gfx942");
  return machine;
}

std::span<const Machine> machines() { return table(); }

bool isTargetSupported(std::string_view target) { return findMachine(target) != nullptr; }

std::vector<std::string> supportedTargets() {
  std::vector<std::string> names;
  for (const Machine &machine : machines())
    names.push_back(machine.name());
  return names;
}

} // namespace flyemu
