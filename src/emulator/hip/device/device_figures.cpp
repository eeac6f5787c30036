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

// Figures from AMD's product pages and ISA manuals; register granules from LLVM's GCNSubtarget
// features. L2 bandwidth: 128 bytes a clock for each channel of CDNA, 64 for RDNA's.
const auto &table() {
  static const std::array kFigures = {
      DeviceFigures{
          .machine = machine("gfx90a"),
          .part = "MI250X",
          .major = 9,
          .minor = 0,
          .computeUnits = 110,
          .registersPerBlock = 65536,
          .threadsPerUnit = 2048,
          .simdsPerUnit = 4,
          .wavesPerSimd = 8,
          .registersPerLane = 512,
          .registerGranule = 8,
          .clockKhz = 1'700'000,
          .memoryClockKhz = 1'600'000,
          .memoryBusBits = 4096,
          .l2Bytes = 8 << 20,
          .memoryGigabytes = 1638,
          .l2BytesPerClock = 4096,
      },
      DeviceFigures{
          .machine = machine("gfx942"),
          .part = "MI300X",
          .major = 9,
          .minor = 4,
          .computeUnits = 304,
          .registersPerBlock = 65536,
          .threadsPerUnit = 2048,
          .simdsPerUnit = 4,
          .wavesPerSimd = 8,
          .registersPerLane = 512,
          .registerGranule = 8,
          .clockKhz = 2'100'000,
          .memoryClockKhz = 1'300'000,
          .memoryBusBits = 8192,
          .l2Bytes = 4 << 20,
          .memoryGigabytes = 5300,
          .l2BytesPerClock = 16384,
      },
      DeviceFigures{
          .machine = machine("gfx950"),
          .part = "MI355X",
          .major = 9,
          .minor = 5,
          .computeUnits = 256,
          .registersPerBlock = 65536,
          .threadsPerUnit = 2048,
          .simdsPerUnit = 4,
          .wavesPerSimd = 8,
          .registersPerLane = 512,
          .registerGranule = 8,
          .clockKhz = 2'400'000,
          .memoryClockKhz = 2'000'000,
          .memoryBusBits = 8192,
          .l2Bytes = 4 << 20,
          .memoryGigabytes = 8000,
          .l2BytesPerClock = 16384,
      },
      DeviceFigures{
          .machine = machine("gfx1100"),
          .part = "RX 7900 XTX",
          .major = 11,
          .minor = 0,
          .computeUnits = 48,
          .registersPerBlock = 65536,
          .threadsPerUnit = 2048,
          .simdsPerUnit = 4,
          .wavesPerSimd = 16,
          .registersPerLane = 1536,
          .registerGranule = 24,
          .clockKhz = 2'500'000,
          .memoryClockKhz = 1'250'000,
          .memoryBusBits = 384,
          .l2Bytes = 6 << 20,
          .memoryGigabytes = 960,
          .l2BytesPerClock = 3072,
      },
      DeviceFigures{
          .machine = machine("gfx1200"),
          .part = "RX 9060 XT",
          .major = 12,
          .minor = 0,
          .computeUnits = 16,
          .registersPerBlock = 65536,
          .threadsPerUnit = 2048,
          .simdsPerUnit = 4,
          .wavesPerSimd = 16,
          .registersPerLane = 1536,
          .registerGranule = 24,
          .clockKhz = 3'130'000,
          .memoryClockKhz = 1'258'000,
          .memoryBusBits = 128,
          .l2Bytes = 4 << 20,
          .memoryGigabytes = 322,
          .l2BytesPerClock = 1024,
      },
      DeviceFigures{
          .machine = machine("gfx1201"),
          .part = "RX 9070 XT",
          .major = 12,
          .minor = 0,
          .computeUnits = 32,
          .registersPerBlock = 65536,
          .threadsPerUnit = 2048,
          .simdsPerUnit = 4,
          .wavesPerSimd = 16,
          .registersPerLane = 1536,
          .registerGranule = 24,
          .clockKhz = 2'970'000,
          .memoryClockKhz = 1'258'000,
          .memoryBusBits = 256,
          .l2Bytes = 8 << 20,
          .memoryGigabytes = 644,
          .l2BytesPerClock = 2048,
      },
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
