#include "target/products.h"

#include <algorithm>
#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

constexpr std::size_t kMib = std::size_t(1) << 20;

// The figures are those of AMD's data sheets and product pages; of caches, those of its white
// papers on CDNA2 to CDNA4 and of the ISA manuals of RDNA3 and RDNA4. They were written from memory
// and are still to be compared with these papers, row by row. AMD publishes no data sheet of
// MI308X: its compute units and clock are those of published measurements, and its dies and memory
// are the least sure.
constexpr std::array kProducts = {
    ProductRow{.name = "MI210",
               .processor = "gfx90a",
               .computeUnits = 104,
               .clockMhz = 1700,
               .memoryGigabytes = 1638,
               .l2Bytes = 8 * kMib},
    ProductRow{.name = "MI250X", // one of its two devices
               .processor = "gfx90a",
               .computeUnits = 110,
               .clockMhz = 1700,
               .memoryGigabytes = 1638,
               .l2Bytes = 8 * kMib},
    ProductRow{.name = "MI300X",
               .processor = "gfx942",
               .computeUnits = 304,
               .dies = 8,
               .clockMhz = 2100,
               .memoryGigabytes = 5300,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 256 * kMib},
    ProductRow{.name = "MI325X",
               .processor = "gfx942",
               .computeUnits = 304,
               .dies = 8,
               .clockMhz = 2100,
               .memoryGigabytes = 6000,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 256 * kMib},
    ProductRow{.name = "MI300A",
               .processor = "gfx942",
               .computeUnits = 228,
               .dies = 6,
               .clockMhz = 2100,
               .memoryGigabytes = 5300,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 256 * kMib},
    ProductRow{.name = "MI308X",
               .processor = "gfx942",
               .computeUnits = 80,
               .dies = 4,
               .clockMhz = 1420,
               .memoryGigabytes = 5300,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 256 * kMib},
    ProductRow{.name = "MI355X",
               .processor = "gfx950",
               .computeUnits = 256,
               .dies = 8,
               .clockMhz = 2400,
               .memoryGigabytes = 8000,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 256 * kMib},
    ProductRow{.name = "MI350X",
               .processor = "gfx950",
               .computeUnits = 256,
               .dies = 8,
               .clockMhz = 2200,
               .memoryGigabytes = 8000,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 256 * kMib},
    ProductRow{.name = "RX 7900 XTX",
               .processor = "gfx1100",
               .computeUnits = 96,
               .clockMhz = 2500,
               .memoryGigabytes = 960,
               .l2Bytes = 6 * kMib,
               .lastLevelBytes = 96 * kMib},
    ProductRow{.name = "Radeon PRO W7900",
               .processor = "gfx1100",
               .computeUnits = 96,
               .clockMhz = 2495,
               .memoryGigabytes = 864,
               .l2Bytes = 6 * kMib,
               .lastLevelBytes = 96 * kMib},
    ProductRow{.name = "RX 7900 XT",
               .processor = "gfx1100",
               .computeUnits = 84,
               .clockMhz = 2400,
               .memoryGigabytes = 800,
               .l2Bytes = 6 * kMib,
               .lastLevelBytes = 80 * kMib},
    ProductRow{.name = "RX 9060 XT",
               .processor = "gfx1200",
               .computeUnits = 32,
               .clockMhz = 3130,
               .memoryGigabytes = 322,
               .l2Bytes = 4 * kMib,
               .lastLevelBytes = 32 * kMib},
    ProductRow{.name = "RX 9070 XT",
               .processor = "gfx1201",
               .computeUnits = 64,
               .clockMhz = 2970,
               .memoryGigabytes = 644,
               .l2Bytes = 8 * kMib,
               .lastLevelBytes = 64 * kMib},
    ProductRow{.name = "Radeon AI PRO R9700",
               .processor = "gfx1201",
               .computeUnits = 64,
               .clockMhz = 2920,
               .memoryGigabytes = 640,
               .l2Bytes = 8 * kMib,
               .lastLevelBytes = 64 * kMib},
    ProductRow{.name = "RX 9070",
               .processor = "gfx1201",
               .computeUnits = 56,
               .clockMhz = 2520,
               .memoryGigabytes = 640,
               .l2Bytes = 8 * kMib,
               .lastLevelBytes = 64 * kMib},
};

} // namespace

std::span<const ProductRow> allProducts() { return kProducts; }

std::span<const ProductRow> productsOf(std::string_view processor) {
  const auto isOf = [&](const ProductRow &row) { return row.processor == processor; };
  const auto first = std::find_if(kProducts.begin(), kProducts.end(), isOf);
  return {first, std::find_if_not(first, kProducts.end(), isOf)};
}

std::optional<int> diesOf(const Processor &processor, int computeUnits) {
  const std::span<const ProductRow> products = productsOf(processor.name);
  if (std::all_of(products.begin(), products.end(),
                  [](const ProductRow &product) { return product.dies == 1; }))
    return 1;
  for (const ProductRow &product : products)
    if (const int units = product.computeUnits / product.dies;
        computeUnits > 0 && computeUnits % units == 0)
      return computeUnits / units;
  return std::nullopt;
}

} // namespace detail
FLYDSL_NAMESPACE_END
