// How much shared memory (LDS) the kernel uses.
#pragma once

#include "builder/trace/kernel_facts.h"

#include "support/shared_use.h"

namespace flydsl::builder {

class SharedBytes {
public:
  explicit SharedBytes(const KernelFacts &kernel) : kernel_(kernel) {}

  /// Bytes of a static allocation, behind those before it. Throws TraceError if the target is known
  /// and has less than all allocations together.
  /// Returns the allocation's entry.
  std::size_t addStatic(std::int64_t bytes, std::int64_t alignment, Loc loc);
  /// The same for an allocation whose entry has fewer bytes, or a smaller alignment, so far. The
  /// others come before it.
  void growStatic(std::size_t entry, std::int64_t bytes, std::int64_t alignment, Loc loc);
  /// The launch's dynamic shared memory reaches at least to `end`. Throws TraceError as above.
  void reachDynamic(std::int64_t end, Loc loc);

  /// Bytes of a red zone after each static allocation (support/red_zones.h), the largest for which
  /// the target has room. 0 if it has none, or if nothing is to be told apart: there are fewer than two
  /// allocations, the target is not known, or a zone would move what the launch sizes (dynamic shared
  /// memory) or the timeline's counts.
  std::uint64_t redZone() const;
  /// The number of static allocations of at least a byte.
  std::size_t arrays() const;

  std::size_t staticBytes() const { return static_cast<std::size_t>(static_); }
  std::size_t dynamicBytes() const { return static_cast<std::size_t>(dynamic_); }

private:
  void expectRoom(Loc loc) const;
  /// The bytes of all static allocations as the compiler places them, with a red zone of at least
  /// `zone` bytes after each.
  std::uint64_t placedBytes(std::uint64_t zone = 0) const;

  const KernelFacts &kernel_;
  std::int64_t static_ = 0, dynamic_ = 0;
  // Of static allocations, in their order.
  std::vector<support::SharedUse> uses_;
  std::vector<std::int64_t> alignments_;
};

} // namespace flydsl::builder
