#include "emulator/hip/device/device_figures.h"

#include "target/isa_version.h"
#include "target/products.h"

#include <stdexcept>
#include <vector>

namespace flyemu::hip {

using flydsl::detail::ProductRow;

namespace {

DeviceFigures figures(const Machine &machine, const ProductRow &product) {
  const Processor &processor = *machine.processor;
  const unsigned version = flydsl::detail::isaVersion(processor.name);
  return {.machine = &machine,
          .product = &product,
          .major = static_cast<int>(version / 1000),
          .minor = static_cast<int>(version / 100 % 10),
          .computeUnits = product.computeUnits / processor.unitsOfMultiprocessor,
          .registersPerBlock = 65536,
          .threadsPerUnit = processor.wavesOfSimd * flydsl::detail::kSimds * processor.waveSize,
          .simdsPerUnit = flydsl::detail::kSimds,
          .wavesPerSimd = processor.wavesOfSimd,
          .registersPerLane = processor.registers.ofSimd,
          .registerGranule = processor.registers.granule,
          .clockKhz = product.clockMhz * 1000,
          .memoryClockKhz = product.memoryClockKhz,
          .memoryBusBits = product.memoryBusBits,
          .l2Bytes = static_cast<int>(product.l2Bytes),
          .l2BytesPerClock = product.l2BytesPerClock};
}

const std::vector<DeviceFigures> &table() {
  static const auto &all = *[] {
    auto *made = new std::vector<DeviceFigures>;
    for (const Machine &machine : machines())
      for (const ProductRow &product : flydsl::detail::productsOf(machine.processor->name))
        made->push_back(figures(machine, product));
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
