#include "target/products.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <mutex>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

constexpr std::size_t kMib = std::size_t(1) << 20;

// What kernels reach. Memory, of the peak: what only reads and what reads and writes as much.
// - MI210: streams of RRZE's gpu-benches, 1.37 and 1.36 of 1.64 TB/s.
// - MI300X: the same, reads 4.20 of 5.3; BabelStream's copy 4.11 (Azure's results of ND MI300X v5).
// - MI325X: a product of one row reads 294 MB of weights in 60.0 us (aiter's tables). Less 2.1 us, the
//   estimate of the launch and the cold start, that is 5.07 of 6.0, and less a tenth, see below; FlyDSL's RMS
//   norms and softmax 4.1.
// - MI300A: BabelStream's copy, 3.83 of 5.3; no benchmark was found that reads faster than that.
// - MI308X: gcnasm's bandwidth_memread on 80 units, reads 4.33 of 5.3, less a tenth; copies 3.33.
// - MI350X, MI355X: reads 6.9 of 8 (rocprofiler-compute's HBM benchmark; bandwidth_memread, 6.45 to
//   7.0 beyond the last cache), less a tenth; FlyDSL's norms 5.7 to 5.8 (bandwidth_memread's copies
//   5.8 to 6.4, rocprofiler-compute's former copy 5.6).
// - RDNA: gfx1201 reads 612 of 640 GB/s (hipfire's sweep of sizes on an R9700), and 577 in a product
//   of few rows with its launch (aiter), taken as 93 %; FlyDSL's norms 508. RDNA3 is taken to do as well.
// The tenth: those benchmarks load without keeping lines (non-temporal), and the author of
// bandwidth_memread found ordinary loads of MI355X to be a tenth slower. Loads that keep no lines reach the
// benchmarks' figures: MI325X 5.07 of 6.0 TB/s, MI308X 4.33 of 5.3, MI350 6.9 of 8. What MI300X and MI300A gain by
// them was not found, and RDNA's reads are at 93 % with ordinary ones.
// Clocks: while hipBLASLt multiplies at its best, AMD measured 1,115, 1,207 and 1,230 MHz of 2,100 with f16, bf16 and
// fp8 on MI300X, and 1,354, 1,447 and 1,464 on MI325X, at 654, 708 and 1,273 and at 794, 843 and 1,519 TFLOPS
// (ROCm's "measuring max-achievable FLOPS, part 2"). These are of a pattern that switches few bits; of normally
// distributed data the same products of MI325X reach 787, 831 and 1,408 (ROCm's "completing the GPU performance
// picture"), by clocks that are as much lower, and those of MI300X are taken to fall alike. MI355X: the best products
// of others that are known, bf16 1,610, fp8 3,378 (HipKittens), fp4 5,806 TFLOPS (aiter), over the peak and over 0.92: hipBLASLt
// reaches 0.94 of what the units do at the clock in bf16, and 0.83 in fp8. Of instructions on 8 bits with half of that rate
// the clock is fitted to one product: FlyDSL's i8 by 64 x 256 on MI355X (bench/silicon). MI308X's peak clock is that of
// its measurements. Of MI200's and RDNA's clocks under load nothing is known here. Lines that the last
// cache gives again: AMD's roofline benchmark reads 6,423 GB/s of MI300X (ROCm/rocm-amdgpu-bench, issue 22),
// 6,466 of MI325X (rocprofiler-compute's documentation) and 4,937 of MI300A; RRZE, by all units of MI300X on
// one buffer, 8 TB/s of 40 MB to 5.3 of 270. MI308X has RRZE's least. Of MI350 no figure was found, and it is
// taken to do as well as MI325X. FlyDSL's softmax backward reaches 1.6 TB/s inside of gfx1201's cache
// (RDNA3 is taken to do as well).
constexpr Sustained kMi200{.readPercent = 84, .copyPercent = 83},
    kMi300x{.readPercent = 79,
            .copyPercent = 77,
            .clockPercent = {53, 57, 54, 54},
            .lastLevelGigabytes = 6423},
    kMi325x{.readPercent = 76,
            .copyPercent = 69,
            .clockPercent = {64, 68, 65, 65},
            .lastLevelGigabytes = 6466,
            .streamPercent = 84},
    kMi300a{.readPercent = 72,
            .copyPercent = 72,
            .clockPercent = kMi300x.clockPercent,
            .lastLevelGigabytes = 4937},
    kMi308x{.readPercent = 74, .copyPercent = 63, .lastLevelGigabytes = 5300, .streamPercent = 82},
    kMi350{.readPercent = 78,
           .copyPercent = 72,
           .clockPercent = {70, 70, 73, 63, 81},
           .lastLevelGigabytes = 6466,
           .streamPercent = 86},
    kRdna{.readPercent = 93, .copyPercent = 79, .lastLevelGigabytes = 1600};

// The figures are those of AMD's data sheets and product pages; of caches, those of its white
// papers on CDNA2 to CDNA4 and of the ISA manuals of RDNA3 and RDNA4. They were written from memory
// and are still to be compared with these papers, row by row. AMD publishes no data sheet of
// MI308X: its compute units and clock are those of published measurements, and its dies and memory
// are the least sure. Clocks of memory are those of AMD's product pages for the default product, and
// follow for the others from bandwidth and bus. An L2 moves 128 bytes a clock for each channel of
// CDNA, 64 for RDNA's.
constexpr std::array kProducts = {
    ProductRow{.name = "MI210",
               .processor = "gfx90a",
               .computeUnits = 104,
               .clockMhz = 1700,
               .memoryGigabytes = 1638,
               .memoryClockKhz = 1'600'000,
               .memoryBusBits = 4096,
               .l2Bytes = 8 * kMib,
               .l2BytesPerClock = 4096,
               .sustained = kMi200},
    ProductRow{.name = "MI250X", // one of its two devices
               .processor = "gfx90a",
               .computeUnits = 110,
               .clockMhz = 1700,
               .memoryGigabytes = 1638,
               .memoryClockKhz = 1'600'000,
               .memoryBusBits = 4096,
               .l2Bytes = 8 * kMib,
               .l2BytesPerClock = 4096,
               .sustained = kMi200},
    ProductRow{.name = "MI300X",
               .processor = "gfx942",
               .computeUnits = 304,
               .dies = 8,
               .clockMhz = 2100,
               .memoryGigabytes = 5300,
               .memoryClockKhz = 1'300'000,
               .memoryBusBits = 8192,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 16384,
               .lastLevelBytes = 256 * kMib,
               .sustained = kMi300x},
    ProductRow{.name = "MI325X",
               .processor = "gfx942",
               .computeUnits = 304,
               .dies = 8,
               .clockMhz = 2100,
               .memoryGigabytes = 6000,
               .memoryClockKhz = 1'471'698,
               .memoryBusBits = 8192,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 16384,
               .lastLevelBytes = 256 * kMib,
               .sustained = kMi325x},
    ProductRow{.name = "MI300A",
               .processor = "gfx942",
               .computeUnits = 228,
               .dies = 6,
               .clockMhz = 2100,
               .memoryGigabytes = 5300,
               .memoryClockKhz = 1'300'000,
               .memoryBusBits = 8192,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 12288,
               .lastLevelBytes = 256 * kMib,
               .sustained = kMi300a},
    ProductRow{.name = "MI308X",
               .processor = "gfx942",
               .computeUnits = 80,
               .dies = 4,
               .clockMhz = 1420,
               .memoryGigabytes = 5300,
               .memoryClockKhz = 1'300'000,
               .memoryBusBits = 8192,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 8192,
               .lastLevelBytes = 256 * kMib,
               .sustained = kMi308x},
    ProductRow{.name = "MI355X",
               .processor = "gfx950",
               .computeUnits = 256,
               .dies = 8,
               .clockMhz = 2400,
               .memoryGigabytes = 8000,
               .memoryClockKhz = 2'000'000,
               .memoryBusBits = 8192,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 16384,
               .lastLevelBytes = 256 * kMib,
               .sustained = kMi350},
    ProductRow{.name = "MI350X",
               .processor = "gfx950",
               .computeUnits = 256,
               .dies = 8,
               .clockMhz = 2200,
               .memoryGigabytes = 8000,
               .memoryClockKhz = 2'000'000,
               .memoryBusBits = 8192,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 16384,
               .lastLevelBytes = 256 * kMib,
               .sustained = kMi350},
    ProductRow{.name = "RX 7900 XTX",
               .processor = "gfx1100",
               .computeUnits = 96,
               .clockMhz = 2500,
               .memoryGigabytes = 960,
               .memoryClockKhz = 1'250'000,
               .memoryBusBits = 384,
               .l2Bytes = 6 * kMib,
               .l2BytesPerClock = 3072,
               .lastLevelBytes = 96 * kMib,
               .sustained = kRdna},
    ProductRow{.name = "Radeon PRO W7900",
               .processor = "gfx1100",
               .computeUnits = 96,
               .clockMhz = 2495,
               .memoryGigabytes = 864,
               .memoryClockKhz = 1'125'000,
               .memoryBusBits = 384,
               .l2Bytes = 6 * kMib,
               .l2BytesPerClock = 3072,
               .lastLevelBytes = 96 * kMib,
               .sustained = kRdna},
    ProductRow{.name = "RX 7900 XT",
               .processor = "gfx1100",
               .computeUnits = 84,
               .clockMhz = 2400,
               .memoryGigabytes = 800,
               .memoryClockKhz = 1'250'000,
               .memoryBusBits = 320,
               .l2Bytes = 6 * kMib,
               .l2BytesPerClock = 2560,
               .lastLevelBytes = 80 * kMib,
               .sustained = kRdna},
    ProductRow{.name = "RX 9060 XT",
               .processor = "gfx1200",
               .computeUnits = 32,
               .clockMhz = 3130,
               .memoryGigabytes = 322,
               .memoryClockKhz = 1'258'000,
               .memoryBusBits = 128,
               .l2Bytes = 4 * kMib,
               .l2BytesPerClock = 1024,
               .lastLevelBytes = 32 * kMib,
               .sustained = kRdna},
    ProductRow{.name = "RX 9070 XT",
               .processor = "gfx1201",
               .computeUnits = 64,
               .clockMhz = 2970,
               .memoryGigabytes = 644,
               .memoryClockKhz = 1'258'000,
               .memoryBusBits = 256,
               .l2Bytes = 8 * kMib,
               .l2BytesPerClock = 2048,
               .lastLevelBytes = 64 * kMib,
               .sustained = kRdna},
    ProductRow{.name = "Radeon AI PRO R9700",
               .processor = "gfx1201",
               .computeUnits = 64,
               .clockMhz = 2920,
               .memoryGigabytes = 640,
               .memoryClockKhz = 1'250'186,
               .memoryBusBits = 256,
               .l2Bytes = 8 * kMib,
               .l2BytesPerClock = 2048,
               .lastLevelBytes = 64 * kMib,
               .sustained = kRdna},
    ProductRow{.name = "RX 9070",
               .processor = "gfx1201",
               .computeUnits = 56,
               .clockMhz = 2520,
               .memoryGigabytes = 640,
               .memoryClockKhz = 1'250'186,
               .memoryBusBits = 256,
               .l2Bytes = 8 * kMib,
               .l2BytesPerClock = 2048,
               .lastLevelBytes = 64 * kMib,
               .sustained = kRdna},
    // AMD's announcement gives memory and its bandwidth. Units, dies, clocks, bus and the sum of the
    // L2 caches are those of AMD's emulator rocjitsu alone (configs/gfx1250_mi455x.json). What an L2
    // moves in a clock and what is sustained are MI355X's, for want of any source.
    ProductRow{.name = "MI455X",
               .processor = "gfx1250",
               .computeUnits = 256,
               .dies = 8,
               .clockMhz = 2700,
               .memoryGigabytes = 19600,
               .memoryClockKhz = 1'600'000,
               .memoryBusBits = 24576,
               .l2Bytes = 24 * kMib,
               .l2BytesPerClock = 16384,
               .sustained = kMi350},
};

} // namespace

std::span<const ProductRow> allProducts() { return kProducts; }

/// Added products, the newest first. Readers take no lock.
namespace {
struct Added {
  std::span<const ProductRow> rows;
  const Added *older;
};
std::atomic<const Added *> newest{nullptr};
} // namespace

std::span<const ProductRow> productsOf(std::string_view processor) {
  const auto isOf = [&](const ProductRow &row) { return row.processor == processor; };
  const auto first = std::find_if(kProducts.begin(), kProducts.end(), isOf);
  if (first != kProducts.end())
    return {first, std::find_if_not(first, kProducts.end(), isOf)};
  for (const Added *added = newest.load(std::memory_order_acquire); added; added = added->older)
    if (isOf(added->rows.front()))
      return added->rows;
  return {};
}

bool addProducts(std::span<const ProductRow> rows) {
  static std::mutex adding;
  std::lock_guard lock(adding);
  if (rows.empty() || !productsOf(rows.front().processor).empty())
    return false;
  for (const ProductRow &row : rows)
    if (row.processor != rows.front().processor)
      return false;
  newest.store(new Added{rows, newest.load(std::memory_order_relaxed)}, std::memory_order_release);
  return true;
}

const ProductRow *findProduct(std::string_view name) {
  const auto plain = [](std::string_view text) {
    std::string result;
    for (const char c : text)
      if (c != ' ')
        result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
  };
  const std::string wanted = plain(name);
  const auto find = [&](std::span<const ProductRow> rows) -> const ProductRow * {
    for (const ProductRow &row : rows)
      if (plain(row.name) == wanted)
        return &row;
    return nullptr;
  };
  const ProductRow *found = find(kProducts);
  for (const Added *added = newest.load(std::memory_order_acquire); added && !found;
       added = added->older)
    found = find(added->rows);
  return found;
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
