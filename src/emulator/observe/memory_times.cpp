#include "emulator/observe/memory_times.h"

#include "target/processors.h"

namespace flyemu {

namespace {
// Latencies: RRZE's pointer chases on MI210 (588 cycles at 1,700 MHz) and MI300X (880 and 456 at 2,092). Of MI350
// none was found: memory's is fitted to FlyDSL's products on MI355X (docs/emulator.md), and the last cache's is
// taken to be as much longer than on MI300X. RDNA3's 150 ns are its last cache's (Chips and Cheese), and no other figure was found.
//
// L2: RRZE's gpu-cache reads 27.5 TB/s on MI300X (its kin and MI350 are taken to do as well) and 5.13 on
// MI210, of the 34.4 and 7.0 that their channels move; on an RX 6900 XT 5.05 of 5.2.
constexpr MemoryTimes kCdna2{346, 0, 74}, kCdna3{420, 218, 80}, kCdna4{525, 272, 80},
    kRdna{150, 150, 97};
} // namespace

const MemoryTimes &memoryTimes(const flydsl::detail::ProductRow &product) {
  switch (flydsl::detail::findProcessor(product.processor)->family) {
  case flydsl::Family::cdna2:
    return kCdna2;
  case flydsl::Family::cdna4:
    return kCdna4;
  case flydsl::Family::cdna3:
  case flydsl::Family::gfx1250: // for want of any source
    return kCdna3;
  default:
    return kRdna;
  }
}

int streamPercent(const flydsl::detail::ProductRow &product) {
  const auto &sustained = product.sustained;
  return sustained.streamPercent ? sustained.streamPercent : sustained.readPercent;
}

unsigned memoryLatency(const flydsl::detail::ProductRow &product, bool warm) {
  const MemoryTimes &times = memoryTimes(product);
  const int nanoseconds =
      warm && times.lastLevelNanoseconds ? times.lastLevelNanoseconds : times.memoryNanoseconds;
  return static_cast<unsigned>(nanoseconds * product.clockMhz / 1000);
}

void setMemory(Options &options, const flydsl::detail::ProductRow &product, bool warm) {
  options.memoryLatency = memoryLatency(product, warm);
  options.lastLevelLatency = memoryLatency(product, true);
  options.lastLevelBytes = product.lastLevelBytes;
}

} // namespace flyemu
