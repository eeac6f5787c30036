#include "emulator/isa/machine.h"

#include <array>
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
} // namespace

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
