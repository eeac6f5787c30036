// Operands that a launch reads once, such as the weights of a product whose rows fit in one tile. Loads
// that keep no lines leave caches to others, and reach more of the bandwidth of CDNA's memory
// ("The estimate" in docs/emulator.md has the figures and their sources).
#pragma once

#include "blocks/facts/cache_line.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The highest tiles whose loops are made for both policies. Of higher ones reading weights is not all the work.
inline constexpr int kMostRowsOfOnce = 32;

/// Whether an operand is read once, which the kernel knows when it runs: a line that another block, or
/// another load of the block, reads too must be kept.
class ReadOnce {
public:
  /// Never: all loads are ordinary ones.
  ReadOnce() = default;
  /// Where `once` is true. What such loads gain was not measured on targets with waves of 32, where a last
  /// cache that holds a small model's weights would lose them: there all loads are ordinary ones.
  explicit ReadOnce(const Boolean &once) {
    if (target().wave_size() == 64)
      once_.emplace(once);
  }

  /// Calls `loop` with the policy of its loads, once for each that a call may have: a branch inside of a loop
  /// would hide from the compiler how many loads are under way, and it would wait for all.
  template <class Loop> void operator()(const Loop &loop) const {
    if (!once_)
      return loop(CachePolicy::cached);
    if_(
        *once_, [&] { loop(CachePolicy::non_temporal); }, [&] { loop(CachePolicy::cached); });
  }

private:
  std::optional<Boolean> once_;
};

/// A copy of bounded memory whose policy is that of the loop which is traced.
class CopyByPolicy {
public:
  CopyByPolicy(int bits, DType dtype)
      : cached_(make_copy_atom(BoundedCopy(bits), dtype)),
        once_(make_copy_atom(BoundedCopy(bits, CachePolicy::non_temporal), dtype)) {}
  void by(CachePolicy cache) { cache_ = cache; }
  const CopyAtom &atom() const { return cache_ == CachePolicy::cached ? cached_ : once_; }

private:
  CopyAtom cached_, once_;
  CachePolicy cache_ = CachePolicy::cached;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
