// The state of one wave, and what handlers may do with it.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/core/products.h"
#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"
#include "emulator/isa/registers.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace flyemu {

struct Group;
struct KernelDescriptor;
class Program;
class WeakMemory;

/// What kind of mistake ends a launch.
enum class FaultKind : uint8_t {
  Kernel,  ///< anything else: traps, instructions that cannot run, a descriptor's mistakes
  Address, ///< memory that is not there or may not be written
  Limit,   ///< a wave that does not end
};

/// Handlers throw it, and the runner adds kernel, pc and instruction. If it has an address, the
/// mistake is an access to that address.
struct WaveFault {
  std::string what;
  int lane = -1;
  uint64_t address = 0;
  FaultKind kind = FaultKind::Kernel;
};

enum class Stop : uint8_t { None, Yield, Barrier, End };

/// MODE register fields that handlers look at.
struct Mode {
  uint8_t round32 = 0,
          round64 = 0; ///< 0 nearest even, 1 +inf, 2 -inf, 3 zero; the second is for f16 and f64
  uint8_t denorm32 = 3, denorm64 = 3; ///< bit 0: inputs kept, bit 1: outputs kept
  bool dx10Clamp = true, ieee = false, fp16Ovfl = false;
  uint32_t rest = 0; ///< other bits, kept for s_getreg
};

/// Watches executed memory operations: counters and checks. Absent in plain runs.
struct Probe;

struct alignas(64) Wave {
  const Inst *ip = nullptr; ///< the next instruction
  int64_t fuel = 0; ///< wave instructions until the runner looks; handlers that stop set it to 0
  uint32_t *v = nullptr; ///< [row][lane]
  uint32_t scc = 0;
  uint32_t lanes = 64;
  alignas(64) uint32_t s[136] = {}; ///< by operand code; from 128 on, what writes to NULL hit
  Mode mode;
  bool plainFloat = true; ///< round to nearest even, all denormals kept
  Stop stop = Stop::None;
  Products products = {};          ///< Options::products
  const Machine *target = nullptr; ///< set by runsOn()
  uint16_t tempRow = 0;            ///< Machine::tempRow
  const MemoryMap *memory = nullptr;
  Probe *probe = nullptr;
  Group *group = nullptr;
  const KernelDescriptor *descriptor = nullptr; ///< of the kernel
  uint8_t schedMode = 0;                        ///< SCHED_MODE of gfx12, which has no effect here
  uint8_t *lds = nullptr;
  uint32_t ldsSize = 0;
  uint8_t *scratch = nullptr; ///< lane i at i * scratchSize
  uint32_t scratchSize = 0;
  uint32_t index = 0; ///< within the workgroup
  uint64_t executed = 0;
  const uint64_t *cycles = nullptr; ///< the estimate of its cycles so far; null: nobody counts them
  uint64_t clockBase = 0;           ///< its clock when the launch began
  MemoryRange ranges[4];
  uint32_t nextRange = 0;
  uint32_t cache = 0;         ///< its number in `weak`
  WeakMemory *weak = nullptr; ///< caches between the wave and memory, if the launch has them
  const Program *program = nullptr;
  const Inst *codeBegin = nullptr, *codeEnd = nullptr;
  uint64_t codeAddress = 0;
  const Inst *current = nullptr; ///< for fault messages; the runner keeps it
  uint64_t gridTarget = 0; ///< waits until so many have come to the grid's barrier; 0: it does not
  /// The bits of scalar registers, by operand code, that the launch gave a value.
  std::array<uint32_t, 136> launched = {};

  void runsOn(const Machine &machine) {
    target = &machine;
    tempRow = machine.tempRow();
  }
  uint64_t exec() const { return s64(kExec); }
  void setExec(uint64_t m) { setS64(kExec, lanes == 32 ? m & 0xffffffffu : m); }
  uint64_t vcc() const { return mask(kVcc); }
  uint64_t fullMask() const { return lanes == 64 ? ~uint64_t(0) : 0xffffffffu; }

  uint64_t s64(unsigned i) const {
    uint64_t r;
    std::memcpy(&r, s + i, 8);
    return r;
  }
  void setS64(unsigned i, uint64_t x) { std::memcpy(s + i, &x, 8); }
  /// A lane mask in scalar registers: one or two of them by the wave's size.
  uint64_t mask(unsigned i) const { return lanes == 64 ? s64(i) : s[i]; }
  void setMask(unsigned i, uint64_t m) {
    if (lanes == 64)
      setS64(i, m);
    else
      s[i] = static_cast<uint32_t>(m);
  }
  uint32_t *row(unsigned r) const { return v + r * kLanes; }
  /// A temporary row, and as an operand.
  uint32_t *temp(unsigned k) const { return row(tempRow + k); }
  Operand tempOperand(unsigned k) const {
    return {Kind::Vgpr, 0, static_cast<uint16_t>(tempRow + k), 0};
  }
  uint32_t &m0() { return s[target->m0]; }
  uint64_t pcOf(const Inst *i) const { return codeAddress + uint64_t(i - codeBegin) * 4; }

  void halt(Stop why) {
    stop = why;
    fuel = 0;
  }

  /// The host pointer of mapped memory [address, address + bytes). Throws WaveFault if any of it is
  /// unmapped, or read-only and `write`.
  uint8_t *global(uint64_t address, uint32_t bytes, bool write, int lane) {
    for (const MemoryRange &r : ranges)
      if (r.contains(address, bytes) && (!write || r.writable))
        return reinterpret_cast<uint8_t *>(address);
    return globalSlow(address, bytes, write, lane);
  }
  /// Makes the range that holds an address one of `ranges`. Returns whether there is one; there is
  /// none where caches stand before memory, so that every access asks them.
  bool findRange(uint64_t address);
  uint8_t *globalSlow(uint64_t address, uint32_t bytes, bool write, int lane);
  /// Moves the program counter to a code address; throws WaveFault if it is outside the program.
  void jump(uint64_t address);
  /// Goes on in the copy of the code whose instructions have their vector registers in these banks
  /// (Program::banks).
  void useBanks(uint8_t setting);
};

/// The scalar value of an operand (32 bits).
uint32_t readSpecial(const Wave &w, unsigned code);

inline uint32_t read32(const Wave &w, const Operand &o) {
  switch (o.kind) {
  case Kind::Sgpr:
    return w.s[o.index];
  case Kind::Imm:
  case Kind::ImmZero:
  case Kind::ImmHigh:
    return o.value;
  case Kind::Special:
    return readSpecial(w, o.index);
  case Kind::ImmPi:
    return 0x3e22f983u;
  default:
    return 0;
  }
}

/// An operand of 64 bits that stands in the code of the current instruction.
uint64_t readWide(const Wave &w, const Operand &o);

inline uint64_t read64(const Wave &w, const Operand &o) {
  switch (o.kind) {
  case Kind::Sgpr:
    return w.s64(o.index);
  case Kind::Imm:
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(o.value)));
  case Kind::ImmZero:
    return o.value;
  case Kind::ImmHigh:
    return uint64_t(o.value) << 32;
  case Kind::ImmPi:
    return 0x3fc45f306dc9c882ull;
  case Kind::ImmWide:
    return readWide(w, o);
  case Kind::Special:
    switch (o.index) {
    case kScratchBaseLowCode:
      return kScratchBase;
    case kSharedBaseCode:
    case kSharedLimitCode:
      return kSharedAperture;
    case kPrivateBaseCode:
    case kPrivateLimitCode:
      return kPrivateAperture;
    default:
      return readSpecial(w, o.index);
    }
  default:
    return 0;
  }
}

} // namespace flyemu
