#include "emulator/hip/device/device_figures.h"

#include "target/products.h"

#include <array>
#include <stdexcept>
#include <vector>

namespace flyemu::hip {

using flydsl::detail::ProductRow;

namespace {

const Machine *machine(std::string_view name) {
  const Machine *found = findMachine(name);
  if (!found)
    throw std::logic_error("the emulator declares a part with '" + std::string(name) +
                           "', which it does not run");
  return found;
}

/// What HIP reports of a processor's default product beyond the tables in src/target.
struct Reported {
  const char *processor;
  int major, minor;
  int memoryClockKhz;
  int l2BytesPerClock; ///< 128 bytes for each channel of CDNA, 64 for RDNA's
};

// Clocks of memory: AMD's product pages.
constexpr std::array kReported = {
    Reported{.processor = "gfx90a",
             .major = 9,
             .minor = 0,
             .memoryClockKhz = 1'600'000,
             .l2BytesPerClock = 4096},
    Reported{.processor = "gfx942",
             .major = 9,
             .minor = 4,
             .memoryClockKhz = 1'300'000,
             .l2BytesPerClock = 16384},
    Reported{.processor = "gfx950",
             .major = 9,
             .minor = 5,
             .memoryClockKhz = 2'000'000,
             .l2BytesPerClock = 16384},
    Reported{.processor = "gfx1100",
             .major = 11,
             .minor = 0,
             .memoryClockKhz = 1'250'000,
             .l2BytesPerClock = 3072},
    Reported{.processor = "gfx1200",
             .major = 12,
             .minor = 0,
             .memoryClockKhz = 1'258'000,
             .l2BytesPerClock = 1024},
    Reported{.processor = "gfx1201",
             .major = 12,
             .minor = 0,
             .memoryClockKhz = 1'258'000,
             .l2BytesPerClock = 2048},
};

/// Memory of another product of the processor has a clock as its bandwidth and its bus say; channels
/// of the L2 belong to dies and to the bus.
DeviceFigures figures(const Reported &reported, const ProductRow &product) {
  const Machine *machine = hip::machine(reported.processor);
  const Processor &processor = *machine->processor;
  const ProductRow &first = machine->product();
  const int wavesOfSimd = processor.waveSize == 64 ? 8 : 16; // LLVM's GCNSubtarget
  const auto scaled = [](int value, std::int64_t by, std::int64_t of) {
    return static_cast<int>(value * by / of);
  };
  return {.machine = machine,
          .product = &product,
          .major = reported.major,
          .minor = reported.minor,
          .computeUnits = product.computeUnits / processor.unitsOfMultiprocessor,
          .registersPerBlock = 65536,
          .threadsPerUnit = wavesOfSimd * flydsl::detail::kSimds * processor.waveSize,
          .simdsPerUnit = flydsl::detail::kSimds,
          .wavesPerSimd = wavesOfSimd,
          .registersPerLane = processor.registers.ofSimd,
          .registerGranule = processor.registers.granule,
          .clockKhz = product.clockMhz * 1000,
          .memoryClockKhz = scaled(reported.memoryClockKhz,
                                   std::int64_t(product.memoryGigabytes) * first.memoryBusBits,
                                   std::int64_t(first.memoryGigabytes) * product.memoryBusBits),
          .memoryBusBits = product.memoryBusBits,
          .l2Bytes = static_cast<int>(product.l2Bytes),
          .l2BytesPerClock =
              scaled(reported.l2BytesPerClock, std::int64_t(product.dies) * product.memoryBusBits,
                     std::int64_t(first.dies) * first.memoryBusBits)};
}

const std::vector<DeviceFigures> &table() {
  static const auto &all = *[] {
    auto *made = new std::vector<DeviceFigures>;
    for (const Reported &reported : kReported)
      for (const ProductRow &product : flydsl::detail::productsOf(reported.processor))
        made->push_back(figures(reported, product));
    return made;
  }();
  return all;
}

} // namespace

const DeviceFigures *findDeviceFigures(std::string_view processor) {
  for (const DeviceFigures &figures : table())
    if (figures.machine->processor->name == processor)
      return &figures;
  return nullptr;
}

const DeviceFigures &figuresOf(const ProductRow &product) {
  for (const DeviceFigures &figures : table())
    if (figures.product == &product)
      return figures;
  throw std::logic_error("the emulator does not declare " + std::string(product.name));
}

std::span<const DeviceFigures> allDeviceFigures() { return table(); }

} // namespace flyemu::hip
