// Operations of a wave that are under way, in the order of their issue.
#pragma once

#include "emulator/observe/wait_rule.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flyemu {

/// Bytes [from, to) of LDS.
struct LdsBytes {
  uint32_t from, to;
};

/// An operation under way.
struct CountedOperation {
  const Inst *inst = nullptr;
  const WaitRule *rule = nullptr;
  uint64_t number = 0; ///< of the wave's operations, by issue
  uint8_t open = 0;    ///< WaitCounter
  bool writesLds = false;
  uint32_t load = 0;    ///< to LDS: its number
  uint32_t crossed = 0; ///< the number of its entry among those that crossed a barrier
  std::vector<LdsBytes> lds;
  // Of a load that lands late:
  uint64_t exec = 0;
  size_t valueCount = 0;
  std::vector<uint32_t> values; ///< its registers' or LDS's, a row after the other; may be longer

  /// Whether it ends in the order of issue among those of the counter.
  bool isOrdered(uint8_t counter) const { return rule->ordered & counter; }
};

/// A queue whose places keep their storage for the operations that come after.
class OperationQueue {
public:
  size_t size() const { return size_; }
  bool empty() const { return !size_; }
  CountedOperation &operator[](size_t i) { return places_[(first_ + i) & (places_.size() - 1)]; }
  const CountedOperation &operator[](size_t i) const {
    return places_[(first_ + i) & (places_.size() - 1)];
  }
  CountedOperation &front() { return (*this)[0]; }
  CountedOperation &back() { return (*this)[size_ - 1]; }
  /// Adds an operation, which is as new but for the storage of its vectors. References to others
  /// are no longer valid.
  CountedOperation &push() {
    if (size_ == places_.size())
      grow();
    CountedOperation &o = (*this)[size_++];
    o.writesLds = false;
    o.load = o.crossed = 0;
    o.lds.clear();
    o.valueCount = 0;
    return o;
  }
  void popFront() {
    first_ = (first_ + 1) & (places_.size() - 1);
    --size_;
  }
  void erase(size_t i) {
    for (; i; --i)
      std::swap((*this)[i], (*this)[i - 1]);
    popFront();
  }
  void clear() { size_ = 0; }

private:
  void grow() {
    std::vector<CountedOperation> more(places_.empty() ? 16 : 2 * places_.size());
    for (size_t i = 0; i < size_; ++i)
      more[i] = std::move((*this)[i]);
    places_ = std::move(more);
    first_ = 0;
  }

  std::vector<CountedOperation> places_; ///< as many as a power of two
  size_t first_ = 0, size_ = 0;
};

} // namespace flyemu
