// The machines that the emulator runs: what decoding and execution ask of a processor beyond its
// row in target/processors.h.
#pragma once

#include "emulator/isa/registers.h"
#include "target/processors.h"
#include "target/products.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flyemu {

using Processor = flydsl::detail::Processor;

/// Machine codes: processors of one encoding have the same formats and operand fields.
enum class Encoding : uint8_t { Gfx9, Gfx11, Gfx12 };

/// The shape of one processor (LLVM's AMDGPUUsage; the ISA manuals of CDNA2-4, RDNA3, RDNA4).
struct Machine {
  const Processor *processor; ///< its row: name, wave size, LDS, largest block, features
  /// LLVM's features that its disassembler needs to know all instructions of the processor.
  std::string_view disassembler = {};
  Encoding encoding;
  uint16_t m0;              ///< the scalar operand code of M0
  uint16_t nullSgpr = 0;    ///< the scalar operand code of NULL, 0 if there is none
  uint16_t flatScratch = 0; ///< the scalar operand code of FLAT_SCRATCH_LO, 0 if it is hidden
  bool architectedScratch = false; ///< hardware sets FLAT_SCRATCH, not the kernel
  bool kernargPreload = false;     ///< the packet processor can load arguments into registers
  /// Instructions name the low eight bits of a vector register, and s_set_vgpr_msb the others.
  bool registerBanks = false;
  /// The vector offset to the scalar address of GLOBAL and FLAT has a sign.
  bool signedScalarAddressOffset = false;
  bool flatScratchBase = false;    ///< flat addresses of scratch begin at SRC_FLAT_SCRATCH_BASE
  unsigned userRegisters = 16;     ///< scalar registers that the packet processor can set
  uint16_t ldsGranule;             ///< bytes: LDS is allocated to workgroups in multiples
  uint32_t maxGridYz = UINT32_MAX; ///< the most workgroups along y and along z
  uint64_t maxWaveScratch;         ///< the most bytes of scratch that a wave can have

  std::string name() const { return std::string(processor->name); }
  /// The product that a device of the emulator stands for: the processor's default.
  const flydsl::detail::ProductRow &product() const {
    return flydsl::detail::productsOf(processor->name).front();
  }
  // The rows of a wave's vector file: the registers that its instructions can name, accumulation
  // registers from kAccRow on, and then the temporary rows.
  unsigned vectorRows() const { return static_cast<unsigned>(processor->registers.ofWave); }
  /// The first accumulation register, or the end of the registers if there are none.
  unsigned accRow() const {
    return has(flydsl::Feature::accumulation_registers) ? kAccRow : vectorRows();
  }
  uint16_t tempRow() const { return static_cast<uint16_t>(vectorRows()); }
  uint16_t dualRow() const { return static_cast<uint16_t>(vectorRows() + kDualTemp); }
  unsigned fileRows() const { return vectorRows() + kTempRows; }
  /// Whether it has gfx1250's forms of instructions and descriptors, which no other one has.
  bool isGfx1250() const { return processor->family == flydsl::Family::gfx1250; }
  bool has(flydsl::Feature feature) const { return processor->features.has(feature); }
};

/// The machine of `target`, which may carry ":feature+" suffixes; null if it cannot be run.
const Machine *findMachine(std::string_view target);

/// The machine that is emulated if no program names one.
const Machine &defaultMachine();

/// All machines.
std::span<const Machine> machines();

/// True if code for `target` ("gfx942", with or without ":xnack-" style features) can be decoded
/// and run.
bool isTargetSupported(std::string_view target);

/// The targets that can be run, for messages and tools.
std::vector<std::string> supportedTargets();

} // namespace flyemu
