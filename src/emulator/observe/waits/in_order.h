// What a counter counts of operations that end in the order of their issue.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace flyemu {

/// Operations under way that end in the order of issue, the oldest first.
///
/// A wait until at most `left` operations are under way tells which have ended: those after which
/// at least `left` others have been issued. If one of them were still under way, so would be all
/// that were issued after it, which with it are more than `left`. The invariant: what is in here is
/// the youngest part of what was issued, without a gap, and after a wait for `left` no more than
/// that.
template <class Operation> class InOrder {
public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The operation that was issued as number `i` of those under way; 0 is the oldest.
  const Operation &operator[](std::size_t i) const { return ring_[(first_ + i) & mask()]; }
  const Operation &oldest() const { return (*this)[0]; }

  void issue(Operation operation) {
    if (size_ == ring_.size())
      grow();
    ring_[(first_ + size_++) & mask()] = std::move(operation);
  }

  /// A wait until at most `left` are under way: calls `ended(operation)` for each that has ended,
  /// the oldest first. It may not issue.
  template <class Ended> void completeDownTo(std::size_t left, Ended ended) {
    while (size_ > left)
      ended(takeOldest());
  }

  /// Takes the oldest out, which has ended. There is one.
  Operation takeOldest() {
    Operation operation = std::move(ring_[first_]);
    first_ = (first_ + 1) & mask();
    --size_;
    return operation;
  }

  void clear() { size_ = 0; }

private:
  std::size_t mask() const { return ring_.size() - 1; }
  void grow() {
    std::vector<Operation> more(ring_.empty() ? 16 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i)
      more[i] = std::move(ring_[(first_ + i) & mask()]);
    ring_ = std::move(more);
    first_ = 0;
  }

  std::vector<Operation> ring_; ///< its size is 0 or a power of two
  std::size_t first_ = 0, size_ = 0;
};

} // namespace flyemu
