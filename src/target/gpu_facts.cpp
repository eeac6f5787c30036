// What programs may ask about a target and its products beyond Target's own members.
#include "target/products.h"

#include <flydsl/error.h>
#include <flydsl/host/product.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN

static const detail::Processor &rowOf(const Target &target) {
  return *detail::findProcessor(target.name());
}

std::vector<Product> products(const Target &target) {
  std::vector<Product> all;
  for (const detail::ProductRow &row : detail::productsOf(target.name()))
    all.push_back({.name = std::string(row.name),
                   .compute_units = row.computeUnits,
                   .dies = row.dies,
                   .clock_mhz = row.clockMhz,
                   .memory_gigabytes_per_second = row.memoryGigabytes,
                   .l2_bytes = row.l2Bytes,
                   .last_level_bytes = row.lastLevelBytes});
  return all;
}

std::optional<Product> default_product(const Target &target) {
  const std::vector<Product> all = products(target);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

WaitLimits wait_limits(const Target &target) {
  const detail::WaitCounters &counters = rowOf(target).waitCounters;
  return {counters.loads, counters.stores, counters.lds, counters.scalar};
}

int lds_banks(const Target &target) { return rowOf(target).ldsBanks; }

int registers_of_lane(const Target &target, int waves) {
  const detail::VectorRegisters &registers = rowOf(target).registers;
  if (waves < 1)
    throw CompileError("registers of a block of " + std::to_string(waves) +
                       " waves; a block has at least one");
  const int wavesOfSimd = (waves + detail::kSimds - 1) / detail::kSimds;
  return std::min(registers.ofWave, registers.ofSimd / wavesOfSimd);
}

FLYDSL_NAMESPACE_END
