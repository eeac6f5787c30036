#include "builder/trace/shared_bytes.h"

#include "support/red_zones.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/OptimizedStructLayout.h"

#include <algorithm>

namespace flydsl::builder {

std::size_t SharedBytes::addStatic(std::int64_t bytes, std::int64_t alignment, Loc loc) {
  static_ = (static_ + alignment - 1) / alignment * alignment + bytes;
  uses_.push_back({static_cast<std::uint64_t>(bytes), loc});
  alignments_.push_back(alignment);
  expectRoom(loc);
  return uses_.size() - 1;
}

void SharedBytes::growStatic(std::size_t entry, std::int64_t bytes, std::int64_t alignment,
                             Loc loc) {
  alignments_[entry] = std::max(alignments_[entry], alignment);
  if (const auto more = bytes - static_cast<std::int64_t>(uses_[entry].bytes); more > 0) {
    static_ += more;
    uses_[entry].bytes = static_cast<std::uint64_t>(bytes);
  }
  expectRoom(loc);
}

void SharedBytes::reachDynamic(std::int64_t end, Loc loc) {
  if (end <= dynamic_)
    return;
  dynamic_ = end;
  expectRoom(loc);
}

/// LLVM's AMDGPU backend (AMDGPULowerModuleLDSPass.cpp) makes one struct of them, in the order that
/// its performOptimizedStructLayout chooses, after it aligned each for accesses as wide as itself,
/// up to 16 bytes.
std::uint64_t SharedBytes::placedBytes(std::uint64_t zone) const {
  std::int64_t largest = 1;
  for (const std::int64_t alignment : alignments_)
    largest = std::max(largest, alignment);
  const std::uint64_t grain = support::redZoneGrain(static_cast<std::uint64_t>(largest));
  llvm::SmallVector<llvm::OptimizedStructLayoutField, 8> fields;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const std::uint64_t asked = uses_[i].bytes,
                        bytes = asked ? support::withRedZone(asked, zone, grain) : 0;
    const std::uint64_t wide = bytes > 8 ? 16 : bytes > 4 ? 8 : bytes > 2 ? 4 : bytes > 1 ? 2 : 1;
    if (bytes)
      fields.emplace_back(&uses_[i], bytes,
                          llvm::Align(std::max(wide, static_cast<std::uint64_t>(alignments_[i]))));
  }
  return fields.empty() ? 0 : llvm::performOptimizedStructLayout(fields).first;
}

std::size_t SharedBytes::arrays() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(uses_, [](const support::SharedUse &use) { return use.bytes > 0; }));
}

std::uint64_t SharedBytes::redZone() const {
  if (!kernel_.target || arrays() < 2 || dynamic_ || kernel_.recordsEvents)
    return 0;
  for (const std::uint64_t zone : support::kRedZones)
    if (placedBytes(zone) <= kernel_.target->lds_bytes())
      return zone;
  return 0;
}

void SharedBytes::expectRoom(Loc loc) const {
  if (!kernel_.target)
    return;
  const std::uint64_t limit = kernel_.target->lds_bytes(),
                      dynamic = static_cast<std::uint64_t>(dynamic_);
  std::uint64_t asked = 0;
  for (const support::SharedUse &use : uses_)
    asked += use.bytes;
  const std::uint64_t placed = placedBytes(), total = placed + dynamic;
  if (total <= limit)
    return;
  std::string text = support::overSharedLimit(support::byLine(uses_), total, limit);
  if (placed > asked)
    text +=
        ", and " + std::to_string(placed - asked) + " bytes of gaps that their alignment leaves";
  if (dynamic)
    text += (uses_.empty() ? ": " : ", and ") + std::to_string(dynamic) +
            " bytes of dynamic shared memory";
  throw TraceError(text + "; SharedAllocator::overlay gives the same bytes to what is not needed "
                          "at the same time",
                   loc);
}

} // namespace flydsl::builder
