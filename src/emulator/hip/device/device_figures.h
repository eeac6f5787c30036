// What the emulated parts look like from outside: the figures that HIP's device properties report.
#pragma once

#include "emulator/isa/machine.h"
#include "target/processors.h"

#include <span>
#include <string>
#include <string_view>

namespace flyemu::hip {

/// The figures of the product that a machine's devices stand for; most follow from the tables in
/// src/target.
struct DeviceFigures {
  const Machine *machine;
  const flydsl::detail::ProductRow *product; ///< whose figures these are
  int major, minor;                          ///< HIP's compute capability
  int computeUnits;      ///< multiprocessors as HIP counts them (work-group processors on RDNA)
  int registersPerBlock; ///< 32-bit vector registers
  int threadsPerUnit;    ///< resident work-items of a multiprocessor
  int simdsPerUnit;      ///< SIMDs of a multiprocessor
  int wavesPerSimd;      ///< the most waves that a SIMD holds
  int registersPerLane;  ///< vector registers of a SIMD's lane, shared by its waves
  int registerGranule;   ///< a wave gets multiples of so many
  int clockKhz;          ///< peak engine clock
  int memoryClockKhz;    ///< peak memory clock
  int memoryBusBits;     ///< width of the memory bus
  int l2Bytes;           ///< L2 cache
  int l2BytesPerClock;   ///< of all channels of all L2 caches together

  std::string name() const { return machine->name(); } ///< "gfx942"
  int waveSize() const { return machine->processor->waveSize; }
  /// Of a workgroup, and of a multiprocessor as HIP reports it.
  int ldsBytes() const { return static_cast<int>(machine->processor->ldsBytes); }
  /// That the workgroups of a multiprocessor share. A work-group processor has twice what one of them
  /// may take ("LDS" in the ISA documents of RDNA3 and RDNA4; LLVM's getLocalMemorySize).
  int ldsOfUnit() const { return ldsBytes() * machine->processor->unitsOfMultiprocessor; }
  /// Accelerator dies (XCDs).
  int dies() const { return product->dies; }
  int maxBlockSize() const { return machine->processor->maxBlockSize; }
};

/// The figures of a processor's default product; null for one that the emulator does not declare.
const DeviceFigures *findDeviceFigures(std::string_view processor);
/// The figures of a product; its processor is one that the emulator declares.
const DeviceFigures &figuresOf(const flydsl::detail::ProductRow &product);
/// Those of all products, the default of each processor first among its own.
std::span<const DeviceFigures> allDeviceFigures();

} // namespace flyemu::hip
