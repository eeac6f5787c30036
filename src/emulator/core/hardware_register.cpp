#include "emulator/core/hardware_register.h"

#include "emulator/core/group.h"
#include "emulator/isa/kernel_descriptor.h"
#include "emulator/isa/op.h"

#include <bit>
#include <chrono>
#include <span>
#include <string>

namespace flyemu {

namespace {
// Numbers: LLVM, AMDGPUAsmUtils.cpp. Fields: AMD's register headers for gfx90a and gfx942
// (gc_9_4_2_sh_mask.h), the RDNA3 and RDNA4 ISA manuals ("Hardware Register Values"), and the
// context save of the kernel driver (cwsr_trap_handler_gfx12.asm).

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

const KernelDescriptor &descriptorOf(const Wave &w) {
  if (!w.descriptor)
    throw WaveFault{"a wave without a kernel descriptor has no allocation"};
  return *w.descriptor;
}

// STATUS: SCC in bit 0 (on gfx12 in STATE_PRIV), EXECZ, VCCZ, whether the workgroup has more waves,
// VALID.
uint32_t statusWithoutScc(const Wave &w) {
  return uint32_t(w.exec() == 0) << 9 | uint32_t(w.vcc() == 0) << 10 |
         uint32_t(w.group->waves.size() > 1) << 11 | 1u << 16;
}
uint32_t status(const Wave &w) { return w.scc | statusWithoutScc(w); }
uint32_t status12(const Wave &w) { return statusWithoutScc(w) | uint32_t(w.lanes == 64) << 29; }
uint32_t statePriv(const Wave &w) { return w.scc << 9; }

// The place of a wave. It is the one that an idle device would choose: workgroups go to the
// accelerator dies in turn, then to the shader engines of a die, then to their compute units.
constexpr unsigned kEngines = 4, kUnits = 8, kSimds = 4;
struct Place {
  uint32_t die, engine, unit, group, simd, slot;
};
Place placeOf(const Wave &w) {
  const unsigned dies = w.group->dies ? w.group->dies : unsigned(w.target->product().dies);
  const uint64_t n = w.group->number, inDie = n / dies;
  const unsigned simds = w.target->encoding == Encoding::Gfx9 ? kSimds : 2;
  return {static_cast<uint32_t>(n % dies),
          static_cast<uint32_t>(inDie % kEngines),
          static_cast<uint32_t>(inDie / kEngines % kUnits),
          static_cast<uint32_t>(inDie / kEngines / kUnits),
          w.index % simds,
          w.index / simds};
}
uint32_t hwId(const Wave &w) { // WAVE_ID, SIMD_ID, CU_ID, SE_ID, TG_ID
  const Place p = placeOf(w);
  return (p.slot & 15) | p.simd << 4 | p.unit << 8 | p.engine << 13 | (p.group & 15) << 16;
}
uint32_t hwId1(const Wave &w) { // WAVE_ID, SIMD_ID, WGP_ID, SE_ID
  const Place p = placeOf(w);
  return (p.slot & 31) | p.simd << 8 | p.unit << 10 | p.engine << 18;
}
uint32_t hwId2(const Wave &w) { return (placeOf(w).group & 31) << 16; } // WG_ID
uint32_t xccId(const Wave &w) { return placeOf(w).die; }

uint32_t gprAlloc9(const Wave &w) { // VGPR_SIZE, ACCV_OFFSET, SGPR_SIZE; the bases are 0
  const KernelDescriptor &k = descriptorOf(w);
  return k.vgprGranules() << 6 | (k.rsrc3 & 63) << 12 | k.sgprGranules() << 24;
}
uint32_t gprAlloc11(const Wave &w) { return descriptorOf(w).vgprGranules() << 12; }
uint32_t ldsAlloc(const Wave &w) { // LDS_SIZE in units that LDS is allocated in
  const uint32_t unit = w.target->ldsGranule;
  return (w.ldsSize + unit - 1) / unit << 12;
}
uint32_t memoryBases(const Wave &) {
  return static_cast<uint32_t>(kPrivateAperture >> 48 | kSharedAperture >> 48 << 16);
}
/// Nothing is under way between two instructions, no exception is pending.
uint32_t nothing(const Wave &) { return 0; }
uint32_t scratchLow(const Wave &w) { return low(reinterpret_cast<uint64_t>(w.scratch)); }
uint32_t scratchHigh(const Wave &w) { return high(reinterpret_cast<uint64_t>(w.scratch)); }
uint32_t cycles20(const Wave &w) { return low(clockTicks(w)) & 0xfffff; }
uint32_t cyclesLow(const Wave &w) { return low(clockTicks(w)); }
uint32_t cyclesHigh(const Wave &w) { return high(clockTicks(w)); }
uint32_t schedMode(const Wave &w) { return w.schedMode; }

enum class Writes : uint8_t { No, Mode, Schedule, Exceptions };
constexpr uint32_t kAll = ~0u;

struct Register {
  unsigned id;
  const char *name;
  uint32_t (*read)(const Wave &); ///< null: it has no meaning here, and `why` says why
  const char *why = nullptr;
  Writes writes = Writes::No;
  uint32_t known = kAll; ///< the bits that have a value
};

constexpr const char *kTrap = "no trap handler runs here",
                     *kSampling = "it belongs to the profiler's sampling, which is not emulated",
                     *kRaised = "which arithmetic exceptions were raised is not followed",
                     *kDynamic = "registers are not allocated dynamically here";
/// TRAPSTS: all but the exceptions that were raised.
constexpr uint32_t kNoExceptions = ~0x71ffu;

constexpr Register kGfx9[] = {
    {1, "MODE", modeBits, nullptr, Writes::Mode},
    {2, "STATUS", status},
    {3, "TRAPSTS", nothing, kRaised, Writes::Exceptions, kNoExceptions},
    {4, "HW_ID", hwId},
    {5, "GPR_ALLOC", gprAlloc9},
    {6, "LDS_ALLOC", ldsAlloc},
    {7, "IB_STS", nothing},
    {15, "SH_MEM_BASES", memoryBases},
    {16, "TBA_LO", nullptr, kTrap},
    {17, "TBA_HI", nullptr, kTrap},
    {18, "TMA_LO", nullptr, kTrap},
    {19, "TMA_HI", nullptr, kTrap},
};
constexpr Register kGfx940[] = {
    {20, "XCC_ID", xccId},
    {21, "SQ_PERF_SNAPSHOT_DATA", nullptr, kSampling},
    {22, "SQ_PERF_SNAPSHOT_DATA1", nullptr, kSampling},
    {23, "SQ_PERF_SNAPSHOT_PC_LO", nullptr, kSampling},
    {24, "SQ_PERF_SNAPSHOT_PC_HI", nullptr, kSampling},
};
constexpr Register kGfx11[] = {
    {1, "MODE", modeBits, nullptr, Writes::Mode},
    {2, "STATUS", status},
    {3, "TRAPSTS", nothing, kRaised, Writes::Exceptions, kNoExceptions},
    {5, "GPR_ALLOC", gprAlloc11},
    {6, "LDS_ALLOC", ldsAlloc},
    {7, "IB_STS", nothing},
    {15, "SH_MEM_BASES", memoryBases},
    {18, "PERF_SNAPSHOT_PC_LO", nullptr, kSampling},
    {19, "PERF_SNAPSHOT_PC_HI", nullptr, kSampling},
    {20, "FLAT_SCR_LO", scratchLow},
    {21, "FLAT_SCR_HI", scratchHigh},
    {23, "HW_ID1", hwId1},
    {24, "HW_ID2", hwId2},
    {27, "PERF_SNAPSHOT_DATA", nullptr, kSampling},
    {29, "SHADER_CYCLES", cycles20},
};
constexpr Register kGfx12[] = {
    {1, "WAVE_MODE", modeBits, nullptr, Writes::Mode},
    {2, "WAVE_STATUS", status12},
    {4, "WAVE_STATE_PRIV", statePriv},
    {5, "WAVE_GPR_ALLOC", gprAlloc11},
    {6, "WAVE_LDS_ALLOC", ldsAlloc},
    {7, "IB_STS", nothing},
    {10, "PERF_SNAPSHOT_DATA", nullptr, kSampling},
    {11, "PERF_SNAPSHOT_PC_LO", nullptr, kSampling},
    {12, "PERF_SNAPSHOT_PC_HI", nullptr, kSampling},
    {15, "PERF_SNAPSHOT_DATA1", nullptr, kSampling},
    {16, "PERF_SNAPSHOT_DATA2", nullptr, kSampling},
    {17, "WAVE_EXCP_FLAG_PRIV", nothing},
    {18, "WAVE_EXCP_FLAG_USER", nullptr, kRaised, Writes::Exceptions},
    {19, "WAVE_TRAP_CTRL", nothing, nullptr, Writes::Exceptions},
    {20, "WAVE_SCRATCH_BASE_LO", scratchLow},
    {21, "WAVE_SCRATCH_BASE_HI", scratchHigh},
    {23, "WAVE_HW_ID1", hwId1},
    {24, "WAVE_HW_ID2", hwId2},
    {26, "WAVE_SCHED_MODE", schedMode, nullptr, Writes::Schedule},
    {29, "SHADER_CYCLES_LO", cyclesLow},
    {30, "SHADER_CYCLES_HI", cyclesHigh},
    {31, "WAVE_DVGPR_ALLOC_LO", nullptr, kDynamic},
    {32, "WAVE_DVGPR_ALLOC_HI", nullptr, kDynamic},
};

/// gfx1250: the place in a cluster of workgroups. LLVM's lowering of workgroup ids looks whether the
/// first field is 0, which says that there is no cluster, and that of
/// llvm.amdgcn.cluster.workgroup.flat.id reads the second one.
constexpr uint32_t kClusterFields = 15u << 6 | 15u << 21;
uint32_t clusterPlace(const Wave &w) {
  const Cluster *cluster = w.group->cluster.get();
  return cluster ? (cluster->groups() - 1) << 6 | w.group->rank << 21 : 0;
}
constexpr Register kGfx1250[] = {
    {28, "WAVE_IB_STS2", clusterPlace, "only its fields of clusters are known", Writes::No,
     kClusterFields},
};

const Register &find(const Wave &w, unsigned id) {
  const Machine &t = *w.target;
  auto among = [&](std::span<const Register> table) -> const Register * {
    for (const Register &r : table)
      if (r.id == id)
        return &r;
    return nullptr;
  };
  const Register *found = t.encoding == Encoding::Gfx9    ? among(kGfx9)
                          : t.encoding == Encoding::Gfx11 ? among(kGfx11)
                                                          : among(kGfx12);
  if (!found && t.has(flydsl::Feature::clusters))
    found = among(kGfx1250);
  else if (!found && t.product().dies > 1)
    found = among(kGfx940);
  if (!found)
    throw WaveFault{"hardware register " + std::to_string(id) + ", which " + t.name() +
                    " does not have"};
  return *found;
}

std::string named(const Register &r) {
  return std::string("hardware register ") + r.name + " (" + std::to_string(r.id) + ")";
}

/// The bits of MODE that cannot be changed by writing the register here: traps on exceptions, which
/// are not emulated, and on gfx9 register indexing, skipped vector instructions and the stack of
/// divergent branches, which have instructions of their own.
uint32_t fixedMode(const Wave &w) {
  constexpr uint32_t kExceptions = 0x1ff000, kIndexing = 0xf8000000;
  return w.target->encoding == Encoding::Gfx9    ? kExceptions | kIndexing
         : w.target->encoding == Encoding::Gfx11 ? kExceptions
                                                 : 0;
}
} // namespace

uint32_t modeBits(const Wave &w) {
  const Mode &m = w.mode;
  const uint32_t bits = m.rest | m.round32 | m.round64 << 2 | m.denorm32 << 4 | m.denorm64 << 6 |
                        uint32_t(m.fp16Ovfl) << 23;
  // gfx12 does not have these two bits: NaNs are always clamped to zero, and IEEE mode is always
  // off.
  return w.target->encoding == Encoding::Gfx12
             ? bits
             : bits | uint32_t(m.dx10Clamp) << 8 | uint32_t(m.ieee) << 9;
}

void setModeBits(Wave &w, uint32_t x) {
  Mode &m = w.mode;
  m.round32 = x & 3;
  m.round64 = x >> 2 & 3;
  m.denorm32 = x >> 4 & 3;
  m.denorm64 = x >> 6 & 3;
  if (w.target->encoding != Encoding::Gfx12) {
    m.dx10Clamp = x >> 8 & 1;
    m.ieee = x >> 9 & 1;
  }
  m.fp16Ovfl = x >> 23 & 1;
  m.rest = x & ~uint32_t(0x8003ff);
  w.plainFloat = (x & 255) == 0xf0;
}

uint64_t clockTicks(const Wave &w) {
  if (w.cycles)
    return w.clockBase + *w.cycles;
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// MODE's bits of the banks of vector registers, where there are banks.
constexpr unsigned kBankShift = 12;
constexpr uint32_t kBankBits = 0xffu << kBankShift;
constexpr unsigned kModeId = 1;

static bool namesBanks(const Wave &w, const Register &r, uint32_t field) {
  return r.writes == Writes::Mode && w.target->registerBanks && field & kBankBits;
}

std::optional<uint8_t> banksSetBy(const Inst &inst) {
  if (!inst.op->has(Trait::SetsBanks))
    return std::nullopt;
  if (inst.src[1].kind == Kind::None) // s_set_vgpr_msb: src0, src1, src2, the result
    return static_cast<uint8_t>(inst.offset);
  if ((inst.offset & 63) != kModeId)
    return std::nullopt;
  return std::rotr(static_cast<uint8_t>(inst.src[1].value >> kBankShift), 2);
}

uint32_t readHardwareRegister(const Wave &w, unsigned id, uint32_t field) {
  const Register &r = find(w, id);
  if (namesBanks(w, r, field))
    throw WaveFault{named(r) + ": its banks of vector registers are not read here"};
  if (!r.read || field & ~r.known)
    throw WaveFault{named(r) + ": " + r.why};
  return r.read(w);
}

void writeHardwareRegister(Wave &w, unsigned id, uint32_t field, uint32_t value) {
  const Register &r = find(w, id);
  value &= field;
  switch (r.writes) {
  case Writes::No:
    throw WaveFault{named(r) + ": a kernel does not write it"};
  case Writes::Exceptions: // that none was raised and none traps is so already
    if (value)
      throw WaveFault{named(r) + ": " + (r.why ? r.why : "arithmetic exceptions do not trap here")};
    return;
  case Writes::Schedule:
    w.schedMode = static_cast<uint8_t>(((w.schedMode & ~field) | value) & 3);
    return;
  case Writes::Mode: {
    if (namesBanks(w, r, field))
      throw WaveFault{named(r) + ": banks of vector registers are set by s_set_vgpr_msb, and by "
                                 "constants of fields of 12 bits at most"};
    const uint32_t old = modeBits(w), bits = (old & ~field) | value;
    if ((old ^ bits) & fixedMode(w))
      throw WaveFault{named(r) + ": traps on exceptions, register indexing and skipped vector "
                                 "instructions are not set by writing it here"};
    setModeBits(w, bits);
    return;
  }
  }
}

} // namespace flyemu
