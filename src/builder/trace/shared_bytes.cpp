#include "builder/trace/shared_bytes.h"

#include <algorithm>

namespace flydsl::builder {

std::size_t SharedBytes::addStatic(std::int64_t bytes, std::int64_t alignment, Loc loc) {
  static_ = (static_ + alignment - 1) / alignment * alignment + bytes;
  uses_.push_back({static_cast<std::uint64_t>(bytes), loc});
  expectRoom(loc);
  return uses_.size() - 1;
}

void SharedBytes::growStatic(std::size_t entry, std::int64_t bytes, Loc loc) {
  const auto more = bytes - static_cast<std::int64_t>(uses_[entry].bytes);
  if (more <= 0)
    return;
  static_ += more;
  uses_[entry].bytes = static_cast<std::uint64_t>(bytes);
  expectRoom(loc);
}

void SharedBytes::reachDynamic(std::int64_t end, Loc loc) {
  if (end <= dynamic_)
    return;
  dynamic_ = end;
  expectRoom(loc);
}

/// The compiler places static allocations in an order of its own, so that gaps for alignment do not
/// count here; it refuses what does not fit because of them.
void SharedBytes::expectRoom(Loc loc) const {
  if (!kernel_.target)
    return;
  const std::uint64_t limit = kernel_.target->lds_bytes(),
                      dynamic = static_cast<std::uint64_t>(dynamic_);
  std::uint64_t total = dynamic;
  for (const support::SharedUse &use : uses_)
    total += use.bytes;
  if (total <= limit)
    return;
  std::string text = support::overSharedLimit(support::byLine(uses_), total, limit);
  if (dynamic)
    text += (uses_.empty() ? ": " : ", and ") + std::to_string(dynamic) +
            " bytes of dynamic shared memory";
  throw TraceError(text + "; SharedAllocator::overlay gives the same bytes to what is not needed "
                          "at the same time",
                   loc);
}

} // namespace flydsl::builder
