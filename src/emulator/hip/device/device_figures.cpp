#include "emulator/hip/device/device_figures.h"

#include <array>
#include <stdexcept>

namespace flyemu::hip {
namespace {

const Machine *machine(std::string_view name) {
  const Machine *found = findMachine(name);
  if (!found)
    throw std::logic_error("the emulator declares a part with '" + std::string(name) +
                           "', which it does not run");
  return found;
}

/// What HIP reports of a product beyond its row in target/products.h.
struct Reported {
  const char *processor;
  int major, minor;
  int memoryClockKhz;
  int memoryBusBits;
  int l2BytesPerClock; ///< 128 bytes for each channel of CDNA, 64 for RDNA's
};

DeviceFigures figures(const Reported &reported) {
  const Machine *machine = hip::machine(reported.processor);
  const Processor &processor = *machine->processor;
  const flydsl::detail::ProductRow &product = machine->product();
  const int wavesOfSimd = processor.waveSize == 64 ? 8 : 16;
  return {.machine = machine,
          .part = product.name.data(),
          .major = reported.major,
          .minor = reported.minor,
          .computeUnits = product.computeUnits / processor.unitsOfMultiprocessor,
          .dieCount = product.dies,
          .registersPerBlock = 65536,
          .threadsPerUnit = wavesOfSimd * flydsl::detail::kSimds * processor.waveSize,
          .simdsPerUnit = flydsl::detail::kSimds,
          .wavesPerSimd = wavesOfSimd,
          .registersPerLane = processor.registers.ofSimd,
          .registerGranule = processor.registers.granule,
          .clockKhz = product.clockMhz * 1000,
          .memoryClockKhz = reported.memoryClockKhz,
          .memoryBusBits = reported.memoryBusBits,
          .l2Bytes = static_cast<int>(product.l2Bytes),
          .memoryGigabytes = product.memoryGigabytes,
          .l2BytesPerClock = reported.l2BytesPerClock};
}

// Clocks and buses of memory: AMD's product pages. The waves that a SIMD holds: LLVM's GCNSubtarget.
const auto &table() {
  static const std::array kFigures = {
      figures({.processor = "gfx90a",
               .major = 9,
               .minor = 0,
               .memoryClockKhz = 1'600'000,
               .memoryBusBits = 4096,
               .l2BytesPerClock = 4096}),
      figures({.processor = "gfx942",
               .major = 9,
               .minor = 4,
               .memoryClockKhz = 1'300'000,
               .memoryBusBits = 8192,
               .l2BytesPerClock = 16384}),
      figures({.processor = "gfx950",
               .major = 9,
               .minor = 5,
               .memoryClockKhz = 2'000'000,
               .memoryBusBits = 8192,
               .l2BytesPerClock = 16384}),
      figures({.processor = "gfx1100",
               .major = 11,
               .minor = 0,
               .memoryClockKhz = 1'250'000,
               .memoryBusBits = 384,
               .l2BytesPerClock = 3072}),
      figures({.processor = "gfx1200",
               .major = 12,
               .minor = 0,
               .memoryClockKhz = 1'258'000,
               .memoryBusBits = 128,
               .l2BytesPerClock = 1024}),
      figures({.processor = "gfx1201",
               .major = 12,
               .minor = 0,
               .memoryClockKhz = 1'258'000,
               .memoryBusBits = 256,
               .l2BytesPerClock = 2048}),
  };
  return kFigures;
}

} // namespace

const DeviceFigures *findDeviceFigures(std::string_view processor) {
  for (const DeviceFigures &figures : table())
    if (figures.machine->processor->name == processor)
      return &figures;
  return nullptr;
}

std::span<const DeviceFigures> allDeviceFigures() { return table(); }

} // namespace flyemu::hip
