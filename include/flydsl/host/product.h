// Products: GPUs as they are sold. Those of one processor run the same code and differ in compute
// units, clocks and memory, by which a program chooses how to share its work.
#pragma once

#include <flydsl/host/device.h>
#include <flydsl/target.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// What a GPU has, as HIP shows one: of MI250X, which is two devices, one half.
struct Product {
  std::string name; ///< "MI300X"
  /// Compute units, also on RDNA, where a driver counts pairs of them (Device::compute_units).
  int compute_units = 0;
  /// Accelerator dies (XCDs) to which blocks are dealt in turn, each with an L2 cache of its own.
  int dies = 1;
  int clock_mhz = 0;                   ///< the peak engine clock
  int memory_gigabytes_per_second = 0; ///< the peak bandwidth, in 10^9 bytes
  std::size_t l2_bytes = 0;            ///< of each die
  std::size_t last_level_bytes = 0;    ///< of the cache in front of memory (MALL); 0: there is none
};

/// The products of a target that are known, the default first; none of a processor that no product
/// of the table has. Sources: AMD's data sheets.
FLYDSL_API std::vector<Product> products(const Target &target);
/// The product that code for a target is made for if nothing else is known: the first one.
FLYDSL_API std::optional<Product> default_product(const Target &target);
/// What a device is, with the number of compute units and dies that its driver tells. If these are
/// none of the known products', such as those of a part of a GPU, the rest is the default product's.
/// Nothing if the processor has no known products.
FLYDSL_API std::optional<Product> product(const Device &device);
/// The current device's product if it has the target's processor, and otherwise the target's default:
/// what the kernel library chooses configurations for.
FLYDSL_API std::optional<Product> product_in_hand(const Target &target);

/// The most operations that an instruction can let be under way where it waits.
struct WaitLimits {
  int loads;  ///< vector memory: vmcnt, loadcnt
  int stores; ///< vector memory: vscnt, storecnt; up to gfx9 they count as loads
  int lds;    ///< lgkmcnt, dscnt
  int scalar; ///< lgkmcnt, kmcnt
};
/// Those of a target. Source: LLVM's AMDGPUBaseInfo, the widths of the instructions' fields.
FLYDSL_API WaitLimits wait_limits(const Target &target);
/// The banks of 4 bytes of a target's LDS for reads. docs/emulator.md says which lanes are served
/// together.
FLYDSL_API int lds_banks(const Target &target);
/// The vector registers of a lane that code may use in a block of so many waves which is alone on
/// its compute unit: a SIMD's waves share its registers, accumulation registers included. It is at
/// most what an instruction can name.
FLYDSL_API int registers_of_lane(const Target &target, int waves);

FLYDSL_NAMESPACE_END
