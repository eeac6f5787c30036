// What the emulated parts look like from outside: the figures that HIP's device properties report.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace flyemu::hip {

struct TargetInfo {
  const char *processor; ///< "gfx942"
  const char *part;      ///< the product whose figures these are
  int major, minor;      ///< HIP's compute capability
  int computeUnits;      ///< multiprocessors as HIP counts them (work-group processors on RDNA)
  int waveSize;          ///< work-items of a wave
  int ldsBytes;          ///< of a workgroup and of a multiprocessor
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
  int memoryGigabytes;   ///< peak memory bandwidth in 10^9 bytes a second
  int l2BytesPerClock;   ///< of all channels of all L2 caches together
};

/// The figures of a processor; null for one that the emulator does not declare.
const TargetInfo *findTargetInfo(std::string_view processor);

/// All processors that can be declared.
std::vector<const char *> declaredProcessors();

} // namespace flyemu::hip
