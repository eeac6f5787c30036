// The table of products, GPUs as they are sold: one row a product. Processors, which say what code
// may do, are in processors.h.
#pragma once

#include "target/processors.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// What kernels reach of a product's peaks, as others measured it.
struct Sustained {
  /// Of the peak bandwidth: by kernels that only read, with ordinary loads, and by kernels that write
  /// as much as they read.
  int readPercent, copyPercent;
  /// Of the peak engine clock, what power leaves while matrix units multiply without a pause: operands of
  /// f16, of bf16 and wider types, of 8 bits, of fewer, and of 8 bits by instructions of half the rate.
  struct Clocks {
    int f16 = 100, bf16 = 100, of8 = 100, of4 = 100, half8 = 100;
  };
  Clocks clockPercent = {};
  /// In 10^9 bytes a second, what the cache in front of memory gives of lines that an L2 asks for
  /// again; 0: not known.
  int lastLevelGigabytes = 0;
  /// Of the peak bandwidth, by kernels that only read, with loads that keep no lines (nt); 0: not known.
  int streamPercent = 0;
};

/// A GPU as HIP shows one: of a product that is two devices, one of them.
struct ProductRow {
  std::string_view name;
  std::string_view processor;
  int computeUnits;    ///< not the pairs of them that drivers count on RDNA
  int dies = 1;        ///< accelerator dies (XCDs)
  int clockMhz;        ///< peak engine clock
  int memoryGigabytes; ///< peak bandwidth in 10^9 bytes a second
  int memoryClockKhz;  ///< peak
  int memoryBusBits;
  std::size_t l2Bytes;            ///< of a die
  int l2BytesPerClock;            ///< of all channels of all dies together
  std::size_t lastLevelBytes = 0; ///< the cache in front of memory (MALL, Infinity Cache)
  Sustained sustained;
};

/// All products of the library's own table; of each processor the default comes first.
std::span<const ProductRow> allProducts();

/// Adds the products of a processor that was added to the table of processors, the default first.
/// The rows live as long as the process. False if the processor has products, or if a row is of
/// another processor.
[[nodiscard]] bool addProducts(std::span<const ProductRow> rows);

/// The products of a processor, added ones too: rows that follow one another. None for a processor without any.
std::span<const ProductRow> productsOf(std::string_view processor);

/// The product of a name, in which capitals and spaces do not count; null if there is none.
const ProductRow *findProduct(std::string_view name);

/// The number of accelerator dies (XCDs) that together have as many compute units: some product of
/// the processor has dies of a size that divides it. 1 for a processor whose products are one die
/// each, or that has none; nothing if no size divides it.
std::optional<int> diesOf(const Processor &processor, int computeUnits);

} // namespace detail
FLYDSL_NAMESPACE_END
